"""The extended fields of Nexus, on messages and on sessions, as the seed lists them."""

from collections.abc import Iterator
from typing import Any, get_args

from agents_ledger.formats.pi.fields import moment, number, present, word
from agents_ledger.formats.pi.lines import Entry
from agents_ledger.model.entries import CallStatus, File, Usage
from agents_ledger.model.steps import Asked

_STATUSES: tuple[str, ...] = get_args(CallStatus)
_LINKS = ("parentSessionId", "parentMessageId", "toolCallId", "forkedFromSessionId", "taskDescription")
_PATHS = ("path", "filePath", "relativePath", "relativeWorkspacePath", "file", "uri")


def is_header(header: dict[str, Any]) -> bool:
    """Whether only Nexus writes such a header: others' versions are numbers, and they link no subagents there."""
    return isinstance(header.get("version"), str) or any(name in header for name in _LINKS)


def is_extended(entry: Entry) -> bool:
    """Whether an entry has a field that only Nexus writes."""
    return any(
        value is not None
        for value in (
            entry.checkpoint_id,
            entry.is_agentic,
            entry.is_plan_execution,
            entry.token_count,
            entry.active_rules,
            entry.tool_calls,
        )
    )


def remarks(entry: Entry) -> dict[str, Any]:
    """What it says about a message besides its text."""
    return (
        present(
            checkpointId=entry.checkpoint_id,
            isAgentic=entry.is_agentic,
            isPlanExecution=entry.is_plan_execution,
            activeRules=entry.active_rules,
        )
        or {}
    )


def files_of(entry: Entry) -> tuple[File, ...]:
    """The files that were selected for a message."""
    context = entry.context
    chosen = context.get("fileSelections") if isinstance(context, dict) else None
    return tuple(_files(chosen)) if isinstance(chosen, list) else ()


def _files(chosen: list[Any]) -> Iterator[File]:
    for item in chosen:
        if isinstance(item, dict):
            path = next((path for key in _PATHS if (path := word(item.get(key)))), None)
            begin = number(item.get("startLine", item.get("lineStart")))
            end = number(item.get("endLine", item.get("lineEnd")))
        else:
            path, begin, end = word(item), None, None
        if path:
            yield File(path, "attached", begin, end)


def tokens(entry: Entry) -> Usage | None:
    """The tokens of a message (0 and 0 is what is written where they were not counted)."""
    count = entry.token_count
    if not isinstance(count, dict):
        return None
    usage = Usage(input=number(count.get("inputTokens")), output=number(count.get("outputTokens")))
    return usage if usage.input or usage.output else None


def calls_of(entry: Entry, known: tuple[Asked, ...]) -> tuple[Asked, ...]:
    """The calls of `toolCalls`, and those of the content that are not among them."""
    listed = entry.tool_calls
    if not isinstance(listed, list):
        return known
    calls = [_call(item) for item in listed if isinstance(item, dict)]
    ids = {call.native_id for call in calls if call.native_id is not None}
    return (*(call for call in known if call.native_id not in ids), *calls)


def _call(item: dict[str, Any]) -> Asked:
    status, result = item.get("status"), item.get("result")
    if not isinstance(status, str) or status not in _STATUSES:
        status = "pending" if result is None else "completed"
    return Asked(
        tool=word(item.get("name")) or "unknown",
        native_id=word(item.get("id")),
        params=item.get("params"),
        result=result,
        error=word(item.get("error")),
        status=status,  # type: ignore[arg-type]
        spawned=word(item.get("childSessionId")),
    )


def session_fields(entry: dict[str, Any]) -> dict[str, Any]:
    """What a header or an entry of the index says about subagents, forks and places, as fields of `Facts`."""
    found: dict[str, Any] = {
        "parent_session": word(entry.get("parentSessionId")),
        "parent_call": word(entry.get("toolCallId")),
        "task": word(entry.get("taskDescription")),
        "task_status": word(entry.get("taskStatus")),
        "forked_from": word(entry.get("forkedFromSessionId")),
        "project": word(entry.get("project")) or word(entry.get("cwd")),
        "created_at": moment(entry.get("sessionStartedAt")) or moment(entry.get("timestamp")),
        "updated_at": moment(entry.get("updatedAt")),
    }
    return {key: value for key, value in found.items() if value is not None}
