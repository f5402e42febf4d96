"""Secrets for tests: of the right form, put together here so that no scanner takes this file for a leak."""

_MIXED = "a8Kd93LmQ0xZt7Yb2Vn5Rc1Wp6Hs4Jf"
_LONG = _MIXED + "T9uGe3Xo"
_BODY = (_LONG * 4)[:96]

KEY = "sk-ant-" + "api03-" + _BODY
SECRETS = {
    "AWS access key": "AKIA" + "Q5ZTRW7KXMN2YBPL",
    "AWS secret key": "aws_secret_access_key = " + (_LONG + _MIXED)[:40],
    "GitHub token": "ghp_" + (_MIXED + _LONG)[:36],
    "GitLab token": "glpat-" + _MIXED[:20],
    "Slack token": "xoxb-" + "482917365012-" + _MIXED[:24],
    "Slack webhook": "https://hooks.slack.com/services/" + "T04ABCD12/B05EFGH34/" + _MIXED[:24],
    "Anthropic key": KEY,
    "OpenAI key": "sk-proj-" + _MIXED + "T3Blbk" + "FJ" + _MIXED,
    "Google API key": "AIza" + (_LONG + _MIXED)[:35],
    "Google client secret": "GOCSPX-" + _MIXED[:28],
    "Stripe key": "sk_" + "live_" + _MIXED[:24],
    "SendGrid key": "SG." + _MIXED[:22] + "." + (_LONG + _MIXED)[:43],
    "npm token": "npm_" + (_LONG + _MIXED)[:36],
    "PyPI token": "pypi-AgE" + _BODY,
    "Hugging Face token": "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNmqWeRtYuI",
    "DigitalOcean token": "dop_v1_" + "9f8e7d6c5b4a3021" * 4,
    "Telegram bot token": "482917365:AA" + (_LONG)[:33],
    "Azure storage key": "AccountKey=" + (_BODY)[:86] + "==",
    "private key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + _BODY + "\n",
    "JSON web token": "eyJ" + _MIXED + ".eyJ" + _LONG + "." + _LONG,
    "database password": "postgresql://ada:" + _MIXED[:16] + "@db.example.org/x",
}
