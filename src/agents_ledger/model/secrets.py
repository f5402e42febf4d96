"""Secrets in texts: keys and tokens whose form says what they are. Words alone ("password") are never enough."""

import re
from collections.abc import Iterator

from msgspec import Struct

_SHOWN = 6
_FEWEST_KINDS = 8  # different characters
_PLACEHOLDER = re.compile(r"example|placeholder|your[-_]|dummy|xxxx|\.\.\.|0000000|1234567", re.IGNORECASE)


class Secret(Struct, frozen=True):
    """A secret that was seen: what it is, and so much of it that its owner knows it again."""

    kind: str
    masked: str


class _Pattern(Struct, frozen=True):
    """How a kind of secret looks: one of some words must be there before anything is searched."""

    kind: str
    words: tuple[str, ...]
    form: re.Pattern[str]  # its last group, or all of it, is the secret


def _pattern(kind: str, words: str, form: str) -> _Pattern:
    return _Pattern(kind, tuple(words.split()), re.compile(form))


# Before a token must not stand what could be the rest of a longer word.
_PATTERNS = (
    _pattern("AWS access key", "AKIA ASIA", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _pattern(
        "AWS secret key",
        "aws_secret_access_key AWS_SECRET_ACCESS_KEY",
        r"(?i:aws_secret_access_key)[\"'\\]*\s*[=:]\s*[\"'\\]*([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    _pattern("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{36,251}"),
    _pattern("GitHub token", "github_pat_", r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _pattern("GitLab token", "glpat-", r"(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20,64}"),
    _pattern("Slack token", "xox", r"(?<![A-Za-z0-9])xox[abeprs]-[0-9]{6,}-[0-9A-Za-z-]{10,200}"),
    _pattern(
        "Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}"
    ),
    _pattern("Anthropic key", "sk-ant-", r"(?<![A-Za-z0-9])sk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{40,200}"),
    _pattern("OpenAI key", "T3BlbkFJ", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,180}T3BlbkFJ[A-Za-z0-9_-]{16,180}"),
    _pattern("Google API key", "AIza", r"(?<![A-Za-z0-9])AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    _pattern("Google client secret", "GOCSPX-", r"(?<![A-Za-z0-9])GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])"),
    _pattern("Stripe key", "_live_", r"(?<![A-Za-z0-9])[sr]k_live_[0-9A-Za-z]{24,200}"),
    _pattern("SendGrid key", "SG.", r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _pattern("npm token", "npm_", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _pattern("PyPI token", "pypi-AgE", r"(?<![A-Za-z0-9])pypi-AgE[A-Za-z0-9_-]{50,500}"),
    _pattern("Hugging Face token", "hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z]{34}(?![A-Za-z0-9])"),
    _pattern("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"(?<![A-Za-z0-9])do[opr]_v1_[a-f0-9]{64}"),
    _pattern("Telegram bot token", ":AA", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _pattern("Azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    _pattern(
        "private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\\[rn]|\s)+((?:[A-Za-z0-9+/=]|\\[rn]|\s){64})",
    ),
    _pattern(
        "JSON web token",
        "eyJ",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{20,2000}",
    ),
    _pattern(
        "database password",
        "postgres:// postgresql:// postgresql+ mysql:// mysql+ mariadb:// mariadb+ mongodb:// mongodb+srv:// redis:// "
        "rediss:// amqp:// amqps://",
        r"(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|redis|rediss|amqps?)(?:\+\w+)?://[^\s/:@\"'<>$]{0,64}:"
        r"([^\s/:@\"'<>${}*]{8,128})@[\w.-]+",
    ),
)

_WORDS = tuple(dict.fromkeys(word for pattern in _PATTERNS for word in pattern.words))


def may_have_secrets(text: str) -> bool:
    """Whether any of the words is there without which there is no secret: what is said of many texts at once."""
    return any(word in text for word in _WORDS)


def secrets_in(text: str) -> Iterator[Secret]:
    """The secrets of a text, each kind and value once."""
    for kind, value in dict.fromkeys(_found(text)):
        yield Secret(kind, masked(value))


def redacted(text: str) -> str:
    """A text with its secrets masked."""
    for _, value in sorted(set(_found(text)), key=lambda pair: -len(pair[1])):
        text = text.replace(value, masked(value))
    return text


def _found(text: str) -> Iterator[tuple[str, str]]:
    for pattern in _PATTERNS:
        if any(word in text for word in pattern.words):
            values = (found[found.re.groups] for found in pattern.form.finditer(text))
            yield from ((pattern.kind, value) for value in values if _is_real(value))


def masked(value: str) -> str:
    """The beginning of a secret, and how long it is."""
    shown = value[: min(_SHOWN, len(value) // 4)]
    return f"{shown}… ({len(value)} characters)"


def _is_real(value: str) -> bool:
    """Whether it may be more than a stand-in for documents and tests."""
    return len(set(value)) >= _FEWEST_KINDS and not _PLACEHOLDER.search(value)
