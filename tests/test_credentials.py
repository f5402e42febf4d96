"""The closed list of credentials: which names and contents of unknown files are never kept."""

import pytest

from agents_ledger.model.credentials import credential_in, is_credential_name
from agents_ledger.model.other_agents import likely_agent

NAMES = [
    "auth.json",
    ".auth.json",
    "auth-profiles.json",
    "credentials",
    "credentials.json",
    ".credentials.json",
    "application_default_credentials.json",
    "Credentials.DB",
    "oauth_creds.json",
    "my-oauth-token.json",
    "mcp-oauth-tokens.json",
    "token.json",
    "tokens.db",
    "access_tokens.json.zst",
    "secrets.json",
    "client_secret.json",
    "api-keys.json",
    "service account.json",
    ".env",
    ".env.local",
    "prod.env",
    ".env.json",
    "id_rsa",
    "id_ed25519.md",
    "server.pem",
    "server.key.json",
    "google_accounts.json",
    "cookies.db",
    "settings.json",
    "settings.local.json",
    "mcp.json",
    "openclaw.json",
    "credentials/telegram-pairing.json",
    ".ssh/notes.md",
]
TRANSCRIPTS = [
    ".aider.chat.history.md",
    "api_conversation_history.json",
    "ui_messages.json",
    "events.jsonl",
    "auth-refactor.md",
    "fix-the-token-parser.jsonl",
    "token-count.jsonl",
    "conversations.json",
    "session-7.json",
    "authors.json",
    "crush.db",
    "T-0a1b.json",
    "keyboard.json",
    "README.md",
]
_RANDOM = b"Zk3vQ9xT7pLw2RbN8sHd5YcM1aGf6JuE4oKi0WqX"
CONTENTS = {
    "private key": b"notes\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n",
    "private key in JSON": b'{"k": "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADAN\\n"}',
    "access token": b'{"user": "me", "access_token": "opaque-%b"}' % _RANDOM,
    "refresh token": b'{"refreshToken" : "opaque-%b"}' % _RANDOM,
    "API key": b'{"apiKey": "opaque-%b"}' % _RANDOM,
    "client secret": b"{'client_secret': 'opaque-%b'}" % _RANDOM,
    "password": b'{"password": "correct-horse-battery"}',
    "variables": b"# mine\nOPENAI_API_KEY=opaque-%b\n" % _RANDOM,
    "exported variables": b"export PATH=/bin\nexport GITHUB_TOKEN='opaque-%b'\n" % _RANDOM,
    "Anthropic key": b"I use sk-ant-api03-%b-%b here" % (_RANDOM, _RANDOM),
    "GitHub token": b"ghp_%b" % _RANDOM[:36],
    "AWS key": b"AKIAQZ5T7WXPL3RM2KVB",
}
HARMLESS = {
    "a stand-in": b'{"api_key": "your-api-key-here", "token": "<token>"}',
    "a masked one": b'{"access_token": "********************"}',
    "numbers of tokens": b'{"input_tokens": 1234567, "token_count": 99, "id_token": ""}',
    "words": b"The password must be changed, the private key is in the vault.",
    "a variable in a conversation": b"# aider chat started at 2026-01-01\n\nOPENAI_API_KEY=$KEY\n",
    "a pattern": b'grep -r "BEGIN PRIVATE KEY" .',
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_credentials_are_known(name: str) -> None:
    assert is_credential_name(f"/home/me/.agent/{name}")


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_names_of_transcripts_are_not(name: str) -> None:
    assert not is_credential_name(f"/home/me/.agent/{name}")


@pytest.mark.parametrize("name", CONTENTS)
def test_contents_of_credentials_are_known(name: str) -> None:
    assert credential_in(CONTENTS[name]) is not None


@pytest.mark.parametrize("name", HARMLESS)
def test_what_only_speaks_of_credentials_is_none(name: str) -> None:
    assert credential_in(HARMLESS[name]) is None


@pytest.mark.parametrize(
    ("path", "head", "agent"),
    [
        ("/r/.aider.chat.history.md", b"", "aider"),
        ("/r/history.md", b"\n# aider chat started at 2026-01-01 10:00:00\n", "aider"),
        ("/h/.copilot/session-state/x/events.jsonl", b"", "Copilot CLI"),
        ("/x/full.jsonl", b'{"type":"session.start","data":{"producer":"copilot-agent"}}', "Copilot CLI"),
        ("/h/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json", b"[]", "Cline"),
        ("/h/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1/ui_messages.json", b"[]", "Roo Code"),
        ("/h/.factory/sessions/x/1.jsonl", b"", "Factory Droid"),
        ("/h/.kiro/sessions/cli/1.jsonl", b"", "Kiro"),
        ("/x/1.traj", b"{}", "SWE-agent"),
        ("/x/run.json", b'{"environment": "main", "trajectory": [\n  {\n "action": "ls"', "SWE-agent"),
        ("C:\\Users\\me\\.copilot\\session-state\\x\\events.jsonl", b"", "Copilot CLI"),
        ("/x/notes.md", b"# Notes", None),
    ],
)
def test_the_likely_agent_is_known_by_place_or_content(path: str, head: bytes, agent: str | None) -> None:
    assert likely_agent(path, head) == agent
