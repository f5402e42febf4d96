"""Tool calls: Cursor keeps call, result and outcome together, in the bubble of the call."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Raw

from agents_ledger.formats.cursor.loose import as_json, file_path, mapping, moment, objects, small, text, texts, whole
from agents_ledger.formats.cursor.prompts import Outcome
from agents_ledger.model.entries import CallStatus, File
from agents_ledger.model.steps import Asked, Facts

TASK_NUMBER = 48
_TASKS = ("task", "task_v2", "Task")
_STATUS: Mapping[str, CallStatus] = {
    "completed": "completed",
    "success": "completed",
    "error": "failed",
    "failed": "failed",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "rejected": "rejected",
}
_READS = ("read_file", "read_file_v2", "Read")
_WRITES = ("edit_file", "edit_file_v2", "search_replace", "write", "write_file", "delete_file", "apply_patch", "Write")
_PATHS = ("relativeWorkspacePath", "targetFile", "target_file", "path", "file_path", "effectiveUri")
_ERRORS = ("modelVisibleErrorMessage", "clientVisibleErrorMessage", "message", "error")
_FACTS = ("name", "tool", "toolIndex", "modelCallId", "status", "userDecision", "additionalData")


def tools(bubble: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of a bubble: one object, or (old versions) a list."""
    data = bubble.get("toolFormerData")
    found = [mapping(data)] if isinstance(data, dict | str) else list(objects(data))
    return [tool for tool in found if any(tool.get(key) for key in ("name", "tool", "toolCallId"))]


def asked(tool: Mapping[str, Any], header: Mapping[str, Any], outcome: Outcome | None, *, running: bool) -> Asked:
    """A call with its result: in full where the model's own messages have it."""
    status = _status(tool, running=running)
    if outcome is not None and (outcome.status == "rejected" or status == "abandoned"):
        status = outcome.status
    result = as_json(tool.get("result")) if tool.get("result") not in (None, "") else None
    return Asked(
        tool=tool_name(tool),
        native_id=text(tool.get("toolCallId")),
        params=params(tool),
        number=whole(tool.get("tool")),
        result=result if outcome is None else outcome.result,
        error=_error(tool) or (outcome.error if outcome is not None else None),
        status=status,
        started_at=moment(header.get("startedAtMs")),
        completed_at=moment(header.get("completedAtMs")),
        spawned=spawned(tool),
    )


def tool_name(tool: Mapping[str, Any]) -> str:
    """The tool's name, or its number where only that is known."""
    return text(tool.get("name")) or f"tool_{whole(tool.get('tool')) or 0}"


def params(tool: Mapping[str, Any]) -> Any:
    """The parameters as the model wrote them (`rawArgs`); else as Cursor understood them (`params`)."""
    written = as_json(tool.get("rawArgs")) if tool.get("rawArgs") else None
    understood = as_json(tool.get("params")) if tool.get("params") else None
    if isinstance(written, Raw | dict | list) or understood is None:
        return written
    return understood


def spawned(tool: Mapping[str, Any]) -> str | None:
    """The session of the subagent that a call started: a composer of its own, before 2026-02 `task-<call id>`."""
    if child := text(mapping(tool.get("additionalData")).get("subagentComposerId")):
        return child
    call = text(tool.get("toolCallId"))
    is_task = tool.get("name") in _TASKS or tool.get("tool") == TASK_NUMBER
    return f"task-{call}" if is_task and call else None


def children(session: str, tool: Mapping[str, Any], status: CallStatus) -> Iterator[Facts]:
    """What a call says about the subagents that it started, also those that were started over."""
    call, child, more = text(tool.get("toolCallId")), spawned(tool), mapping(tool.get("additionalData"))
    given = mapping(tool.get("rawArgs")) or mapping(tool.get("params"))
    task = text(given.get("description")) or text(given.get("prompt"))
    said = {"taskStatus": text(more.get("status")), "terminationReason": text(more.get("terminationReason"))}
    reason = {key: value for key, value in said.items() if value is not None}
    if child is not None:
        yield Facts(
            session=child, parent_session=session, parent_call=call, task=task, task_status=status, extra=reason or None
        )
    for old in texts(more.get("supersededSubagentComposerIds")):
        yield Facts(session=old, parent_session=session, parent_call=call, task=task, extra={"superseded": True})


def facts(tool: Mapping[str, Any], outcome: Outcome | None) -> Any:
    """What a row of a call has no column for."""
    kept = {key: small(tool.get(key)) for key in _FACTS}
    more = mapping(tool.get("additionalData"))
    if "composerData" in more:  # a subagent's whole conversation: it has its own session
        kept["additionalData"] = small({key: item for key, item in more.items() if key != "composerData"})
    if tool.get("rawArgs") and tool.get("params") and tool["rawArgs"] != tool["params"]:
        other = "params" if isinstance(as_json(tool["rawArgs"]), Raw | dict | list) else "rawArgs"
        kept[other] = small(mapping(tool[other]) or tool[other])
    if outcome is not None and tool.get("result"):
        kept["result"] = small(mapping(tool["result"]) or tool["result"])
    return {key: value for key, value in kept.items() if value is not None}


def files(tool: Mapping[str, Any]) -> Iterator[File]:
    """The file that a call read or wrote."""
    name = tool_name(tool)
    if name not in _READS and name not in _WRITES:
        return
    given = {**mapping(tool.get("rawArgs")), **mapping(tool.get("params"))}
    for key in _PATHS:
        if path := file_path(given.get(key)):
            yield File(path, "read" if name in _READS else "written")
            return


def _status(tool: Mapping[str, Any], *, running: bool) -> CallStatus:
    result = mapping(tool.get("result"))
    if tool.get("userDecision") == "rejected" or result.get("rejected") is True:
        return "rejected"
    status = tool.get("status")
    if isinstance(status, str) and status in _STATUS:
        return _STATUS[status]
    if status is None and tool.get("result"):
        return "completed"
    return "running" if running else "abandoned"  # 'loading' in a chat that nobody is generating any more


def _error(tool: Mapping[str, Any]) -> str | None:
    error = tool.get("error")
    known = mapping(error)
    return next((found for key in _ERRORS if (found := text(known.get(key)))), None) or text(error)
