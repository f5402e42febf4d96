"""Which rows of Cursor's databases belong together, and which are never read."""

import re
from collections.abc import Iterator

import msgspec

from agents_ledger.formats.cursor import wire
from agents_ledger.formats.cursor.loose import is_secret
from agents_ledger.formats.cursor.secrets import blanked, blanked_hex
from agents_ledger.model.formats import Tables

ITEMS, KEYS, HEADS, BLOBS, META = "ItemTable", "cursorDiskKV", "composerHeaders", "blobs", "meta"
COMPOSER, BUBBLE, CHECKPOINT, REQUEST = "composerData", "bubbleId", "checkpointId", "messageRequestContext"
BLOB = "agentKv:blob:"
STATE, BUBBLE_STATE = "agentKv:checkpoint:", "agentKv:bubbleCheckpoint:"
_CONTENT = "composer.content."
# <kind>:<composer>:<id>. The composer of a subagent is `task-<tool call id>`, which may hold a line end and colons;
# the last part never does.
_OWNED = (BUBBLE, CHECKPOINT, REQUEST, "codeBlockDiff", "codeBlockPartialInlineDiffFates")
_INDEX = frozenset({
    "composer.composerHeaders",
    "composer.composerData",
    "workbench.panel.aichat.view.aichat.chatdata",
    "glass.localAgentProjects.v1",
    "glass.localAgentProjectMembership.v1",
})  # fmt: skip
_PROMPTS = frozenset({"aiService.prompts", "aiService.generations"})
_MENTIONED = re.compile(rb"(?:composer\.content\.|agentKv:blob:)[0-9a-f]{64}")
_HASH = re.compile(rb"\s*([0-9a-f]{64})\s*")


class _Stated(msgspec.Struct):
    conversationState: str | None = None  # noqa: N815 - Cursor's own name


_stated = msgspec.json.Decoder(_Stated)


def group(table: str, key: str) -> str | None:
    """The session that a row belongs to; None for everything that is not conversation: settings, accounts, secrets."""
    if table == KEYS:
        return _keyed(key)
    if table == HEADS:
        return key or None
    if table == ITEMS:
        return "index" if key in _INDEX or _is_panel(key) else "prompts" if key in _PROMPTS else None
    if table in (BLOBS, META):
        return "all"
    return None


def name_of(kind: str, composer: str, last: str | None = None) -> str:
    """The name under which a reader was given a composer's row."""
    return f"{KEYS}\n{kind}:{composer}" if last is None else f"{KEYS}\n{kind}:{composer}:{last}"


def composer_of(key: str) -> tuple[str, str]:
    """Composer and last part of a key like `bubbleId:<composer>:<id>`."""
    composer, _, last = key.partition(":")[2].rpartition(":")
    return composer, last


def refers(table: str, key: str, value: bytes) -> Iterator[tuple[str, str]]:
    """The rows without an owner that a row names: model messages (by hash) and snapshots of files."""
    if table != KEYS:
        return
    named = b"composer.content." in value or b"agentKv:blob:" in value
    seen = {found[0].decode() for found in _MENTIONED.finditer(value)} if named else set()
    if key.startswith((STATE, BUBBLE_STATE)) and (pointer := _HASH.fullmatch(value)):
        seen.add(BLOB + pointer[1].decode())
    elif key.startswith((COMPOSER, BUBBLE)) and b'"conversationState"' in value:
        seen.update(BLOB + name for name in wire.references(_state(value)))
    elif key.startswith((BLOB, STATE, BUBBLE_STATE)) and value[:1] != b"{":
        seen.update(BLOB + name for name in wire.references(value))
    yield from ((KEYS, name) for name in sorted(seen) if name != key)


def clean(table: str, key: str, value: bytes) -> bytes:
    """A row's value without the keys and tokens that Cursor keeps in it; what was said or read is never touched."""
    if table == META:
        return blanked_hex(value)
    if table == BLOBS or key.startswith((BLOB, STATE, BUBBLE_STATE, _CONTENT, "ofsContent:")):
        return value
    return blanked(value)


def _keyed(key: str) -> str | None:
    kind, _, rest = key.partition(":")
    if kind == COMPOSER:
        return rest or None
    if kind in _OWNED:
        return composer_of(key)[0] or None
    if kind == "agentKv":
        return _agent(key)
    if kind == "ofsContent":  # the original of a file that was edited: `ofsContent:<composer>:file:///…`
        composer, _, path = rest.partition(":file:")
        return None if is_secret(path) or ".env" in path else composer or None
    return "" if key.startswith(_CONTENT) else None


def _agent(key: str) -> str | None:
    if key.startswith(BLOB):
        return ""
    if key.startswith(STATE):
        return key.removeprefix(STATE) or None
    if key.startswith(BUBBLE_STATE):
        return key.removeprefix(BUBBLE_STATE).rpartition(":")[0] or None
    return None


def _is_panel(key: str) -> bool:
    return key.startswith("workbench.panel.") and (
        key.endswith(".chatdata") or key.startswith("workbench.panel.composerChatViewPane")
    )


def _state(value: bytes) -> bytes:
    try:
        return wire.state(_stated.decode(value).conversationState)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return b""


TABLES = Tables(
    columns={
        ITEMS: ("key", "value"),
        KEYS: ("key", "value"),
        HEADS: ("composerId", "value"),
        BLOBS: ("id", "data"),
        META: ("key", "value"),
    },
    group=group,
    refers=refers,
    clean=clean,
)


def tables() -> Tables:
    """All of this."""
    return TABLES
