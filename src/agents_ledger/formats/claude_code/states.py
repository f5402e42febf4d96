"""State lines: they have no place in the chain; the last one of each type counts."""

from typing import Any

import msgspec

from agents_ledger.model.steps import AFTER_LAST, Compacted, Event, Facts, Moved
from agents_ledger.model.texts import storable
from agents_ledger.model.times import from_iso

# Known, and nothing about the conversation: telemetry, file backups, the program's own bookkeeping.
SILENT = frozenset(
    {
        "api-request",
        "api-request-blob",
        "atis-latch",
        "attribution-snapshot",
        "content-replacement",
        "cost-state",
        "file-history-delta",
        "file-history-snapshot",
        "frame-link",
        "isolation-latch",
        "marble-origami-commit",
        "marble-origami-reset",
        "marble-origami-snapshot",
        "queue-operation",
        "result",
        "speculation-accept",
        "started",
        "tools-used",
    }
)
_LIMIT_BYTES = 4096
# type → the fields that are kept, by their own names
_EXTRA = {
    "agent-color": ("agentColor",),
    "agent-name": ("agentName",),
    "agent-setting": ("agentSetting",),
    "bridge-session": ("bridgeSessionId",),
    "fork-context-ref": ("parentSessionId", "parentLastUuid"),
    "mode": ("mode",),
    "tag": ("tag",),
    "worktree-state": ("worktreeSession",),
}
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}
STATES = frozenset({*_EXTRA, *TITLES, "pr-link", "relocated", "last-prompt", "summary", "permission-mode"})
OTHERS = frozenset({"api-request-shape", "session", "compaction"})


def word(line: dict[str, Any], name: str) -> str | None:
    """A text of a state line."""
    value = line.get(name)
    return storable(value) if isinstance(value, str) else None


def small(value: Any) -> Any:
    """A value as it can be kept in facts and in a reader's state: JSON of a few KB at the most, else None."""
    try:
        data = msgspec.json.encode(storable(value) if isinstance(value, str) else value)
    except (UnicodeEncodeError, OverflowError, RecursionError, TypeError):
        return None
    return msgspec.json.decode(data) if len(data) <= _LIMIT_BYTES else None


def told(kind: str, line: dict[str, Any], session: str) -> Event | None:
    """What a state line says about its session; None for nothing."""
    if kind in _EXTRA:
        extra = {name: value for name in _EXTRA[kind] if (value := small(line.get(name))) is not None}
        return Facts(session=session, extra=extra) if extra else None
    if kind == "pr-link":
        url = word(line, "prUrl")
        return Facts(session=session, extra={f"pull request {url}": small(line.get("prNumber"))}) if url else None
    if kind == "relocated":
        return Facts(session=session, project=word(line, "relocatedCwd"))
    if kind == "last-prompt" and (line.get("rewound") is True or line.get("explicit") is True):
        return Moved(session=session, to=word(line, "leafUuid"), at=from_iso(line.get("timestamp")))
    return None


def tool_names(line: dict[str, Any]) -> list[str] | None:
    """The tools that a request offered (`api-request-shape` of 2.1.3xx)."""
    shape = line.get("shape")
    tools = shape.get("tools") if isinstance(shape, dict) else None
    if not isinstance(tools, list):
        return None
    return [name for tool in tools if isinstance(tool, dict) and (name := word(tool, "name"))]


def header(line: dict[str, Any], session: str) -> Facts:
    """The first line of a session in Nexus's description of it (its later lines are like Claude Code's)."""
    return Facts(
        session=session,
        created_at=from_iso(line.get("timestamp")),
        project=word(line, "cwd"),
        agent_version=word(line, "version"),
        parent_session=word(line, "parentSessionId"),
        parent_call=word(line, "toolCallId"),
    )


def compacted(line: dict[str, Any], session: str) -> Compacted:
    """A compaction in the same description."""
    before = line.get("tokensBefore")
    return Compacted(
        session=session,
        native_id=word(line, "uuid"),
        parent=word(line, "parentUuid") or AFTER_LAST,
        at=from_iso(line.get("timestamp")),
        summary=line["summary"] if isinstance(line.get("summary"), str) else "",
        first_kept=word(line, "firstKeptEntryId"),
        tokens_before=before if type(before) is int and 0 <= before < 1 << 63 else None,
    )
