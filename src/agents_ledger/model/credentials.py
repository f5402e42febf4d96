"""Files that hold credentials, by a closed list of names and of contents: they are never kept as evidence.

The list is for files that no format recognises. What a recognised conversation says is kept as it is, because it is the
record; an unknown file that looks like a key ring is not one.
"""

import re

# Compared with the name without its dots in front and its endings, in lower case, with "-" for "_" and spaces.
_NAMES = frozenset(
    """
    auth auths auth-profiles oauth oauth2 oauth-creds oauth-token oauth-tokens oauth-credentials
    credential credentials creds git-credentials application-default-credentials service-account aws-credentials
    token tokens access-token access-tokens refresh-token session-token mcp-oauth-tokens mcp-tokens
    secret secrets client-secret client-secrets password passwords passwd logins
    api-key api-keys apikey apikeys key keys private-key private-keys keyring keychain keystore
    id-rsa id-dsa id-ecdsa id-ed25519 env env-local env-production netrc npmrc pypirc pgpass htpasswd
    cookie cookies google-accounts device-auth identity
    """.split()  # noqa: SIM905 - a list to be read
)
# Settings in which agents keep the keys of models and of MCP servers.
_SETTINGS = frozenset(
    """
    settings settings-local config configuration openclaw clawdbot moltbot mcp mcp-config mcp-settings claude
    claude-desktop-config cline-mcp-settings opencode storage models
    """.split()  # noqa: SIM905 - a list to be read
)
_LAST_WORDS = frozenset(
    {"auth", "credentials", "creds", "token", "tokens", "secret", "secrets", "password", "passwords"}
)
_FOLDERS = frozenset(
    {"credentials", "secrets", ".ssh", ".gnupg", ".aws", ".azure", "gcloud", "keyrings", ".password-store"}
)
_ENDINGS = frozenset({"env", "pem", "key", "p12", "pfx", "jks", "keystore", "kdbx", "crt", "cer", "ppk"})
_PARTED = re.compile(r"[-_ .]+")

_PRIVATE_KEY = re.compile(rb"(?:^|\\n|[\"'\s])-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_FIELD = re.compile(
    rb"[\"'](?:(?:access|refresh|id|auth|session|bearer|bot|api|oauth)[-_]?token|(?:api|access|private|secret|signing)[-_]?key"
    rb"|secret_access_key|client[-_]?secret|password|passphrase)[\"']\s{0,8}:\s{0,8}[\"']([^\s\"'\\]{8,8192})[\"']",
    re.IGNORECASE,
)
_FIELD_HINTS = (b"oken", b"OKEN", b"ey", b"EY", b"ecret", b"ECRET", b"ass")
_VARIABLE = re.compile(rb"(?:export )?[A-Za-z_]\w{0,80}=")  # what a file of variables begins with
_SECRET_VARIABLE = re.compile(rb"(?:TOKEN|SECRET|PASSWORD|KEY)=[\"']?([^\s\"'$<{]{8,500})")
_BEGINNING = 64 * 1024
_STAND_IN = re.compile(
    rb"example|placeholder|redacted|your|dummy|xxxx|\*\*\*|\.\.\.|<|\$\{|process\.env", re.IGNORECASE
)
_FEWEST = 4  # different characters


def is_credential_name(path: str) -> bool:
    """Whether a file's name, or a folder that it lies in, says that it holds credentials or settings with keys."""
    *folders, name = path.replace("\\", "/").lower().split("/")
    if not _FOLDERS.isdisjoint(folders):
        return True
    stem, *endings = name.lstrip(".").split(".")
    if not _ENDINGS.isdisjoint(endings):
        return True
    words = [word for word in _PARTED.split(stem) if word]
    plain = "-".join(words)
    is_document = bool(endings) and endings[-1] in ("json", "db", "zst")
    return (
        plain in _NAMES
        or (plain in _SETTINGS and is_document)
        or (is_document and bool(words) and words[-1] in _LAST_WORDS)
    )


def credential_in(data: bytes) -> str | None:
    """What credential a file's content shows; None if there is none."""
    if b"PRIVATE KEY" in data and _PRIVATE_KEY.search(data):
        return "private key"
    if any(hint in data for hint in _FIELD_HINTS) and any(_is_real(found[1]) for found in _FIELD.finditer(data)):
        return "field with a key or token"
    if _has_variables(data) and any(_is_real(found[1]) for found in _SECRET_VARIABLE.finditer(data)):
        return "variable with a key or token"
    from agents_ledger.model.secrets import secrets_in  # noqa: PLC0415 - names are asked for far more often

    return next((secret.kind for secret in secrets_in(data.decode("latin-1"))), None)


def _has_variables(data: bytes) -> bool:
    """Whether a file is a list of variables, as a shell or a `.env` has it."""
    lines = (line.strip() for line in data[:_BEGINNING].splitlines())
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return _VARIABLE.match(first) is not None


def _is_real(value: bytes) -> bool:
    return len(set(value)) >= _FEWEST and not _STAND_IN.search(value)
