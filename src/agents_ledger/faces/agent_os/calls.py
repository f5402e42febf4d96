"""Calls are tool calls. Their states are saves; the newest one is the tool call's outcome, too."""

from typing import Any

import msgspec

from agents_ledger.errors import BadInput, NotAllowed, NotFound
from agents_ledger.faces.agent_os import tasks
from agents_ledger.faces.agent_os.fields import held, merged, merged_states, refuse_other
from agents_ledger.faces.agent_os.messages import PAGE
from agents_ledger.faces.agent_os.schemas import whole
from agents_ledger.ledger import growing, saves, sessions
from agents_ledger.ledger.env import Env
from agents_ledger.model.entries import Call
from agents_ledger.model.rows import CallRow, SaveRow
from agents_ledger.model.texts import json_text, label, read_json, storable
from agents_ledger.store import Tx

FIELDS = (
    "id", "taskId", "abilityName", "parameters", "status", "details", "createdAt", "updatedAt", "startMessageId",
    "endMessageId",
)  # fmt: skip
_FIXED = ("taskId", "abilityName", "parameters", "createdAt", "startMessageId")
_OURS = {"pending": "pending", "in_progress": "running", "completed": "completed", "failed": "failed"}
_THEIRS = {ours: theirs for theirs, ours in _OURS.items()}  # all other outcomes are failures
_OPEN = ("pending", "in_progress")


def save(tx: Tx, env: Env, given: dict[str, Any]) -> None:
    """Makes a call, or keeps another state of it."""
    call: dict[str, Any] = {name: given.get(name) for name in FIELDS}
    call |= {name: int(given[name]) for name in ("createdAt", "updatedAt")}
    session = tasks.require(tx, call["taskId"])
    call["taskId"] = session.label
    _require_message(tx, call["endMessageId"])
    row = tx.first("call_by_id", id=label(call["id"], "call id"))
    if row is None:
        kept = growing.add_call(tx, env, session, _tool_call(call), label(call["startMessageId"], "message id"))
        saves.put(tx, env, _state(call, kept, given), None)
        return
    kept, before = CallRow(*row), saves.newest(tx, "call", call["id"])
    if before is None:
        raise NotAllowed(f"call {kept.id!r} is another agent's, and was not saved here: make one under a new id")
    refuse_other("call", kept.id, _FIXED, call, _kept(kept, before))
    if saves.put(tx, env, _state(call, kept, given), before) and _is_other(call, before):
        growing.change_call(tx, env, kept, _tool_call(call))
        if call["status"] not in _OPEN:
            tasks.end_if_over(tx, env, session.label)


def page(tx: Tx, given: dict[str, Any]) -> dict[str, Any]:
    """The calls of a task's thread, in the order in which they were made."""
    session = sessions.resolve(tx, storable(given["taskId"]))
    if session is None or session.thread_id is None:
        return {"calls": []}
    limit, offset = whole(given.get("limit", PAGE + 1), "limit"), whole(given.get("offset", 0), "offset")
    found = tx.rows("thread_calls", head=session.thread_id, limit=limit, offset=offset)
    if "limit" not in given and len(found) > PAGE:
        raise BadInput(f"task {session.label!r} has more than {PAGE:,} calls: list them by limit and offset")
    return {"calls": [_call(row) for row in found]}


def unfinished(tx: Tx, limit: int, offset: int) -> list[dict[str, Any]]:
    """The calls that were saved and have not ended, the oldest first."""
    return [_call(row) for row in tx.rows("open_calls", limit=limit, offset=offset)]


def history(tx: Tx, given: dict[str, Any]) -> dict[str, Any]:
    """Every state of a call that was saved, oldest first."""
    call_id = storable(given["callId"])
    row, state = tx.first("call_by_id", id=call_id), saves.newest(tx, "call", call_id)
    if row is None or state is None:
        return {"states": []}
    kept = _kept(CallRow(*row), state)
    fixed = {"id": state.ref} | {name: kept[name] for name in _FIXED}
    return merged_states(tx, "call", state.ref, fixed, given, "status")


def _tool_call(call: dict[str, Any]) -> Call:
    has_ended = call["status"] not in _OPEN
    return Call(
        call["abilityName"],
        _raw(call["parameters"]),
        result=_raw(call["details"]),
        error=_reason(call["details"]) if call["status"] == "failed" else None,
        status=_OURS[call["status"]],  # type: ignore[arg-type]
        started_at=call["createdAt"],
        completed_at=call["updatedAt"] if has_ended else None,
        id=call["id"],
    )


def _state(call: dict[str, Any], kept: CallRow, given: dict[str, Any]) -> SaveRow:
    extra = {name: value for name, value in given.items() if name not in FIELDS}
    extra |= held(details=call["details"], abilityName=call["abilityName"])
    if kept.params_json != call["parameters"]:
        extra["parameters"] = call["parameters"]
    return SaveRow(
        id=0,
        entity="call",
        ref=call["id"],
        session_label=call["taskId"],
        status=call["status"],
        is_open=int(call["status"] in _OPEN),
        details=storable(call["details"]),
        start_message_id=call["startMessageId"],
        end_message_id=call["endMessageId"],
        updated_at=call["updatedAt"],
        extra=json_text(extra, "call")[0] if extra else None,
        salt=b"",
    )


def _kept(row: CallRow, state: SaveRow) -> dict[str, Any]:
    """What was saved of a call and never changes."""
    columns = {
        "taskId": state.session_label,
        "abilityName": row.tool_name,
        "parameters": row.params_json,
        "createdAt": row.started_at,
        "startMessageId": state.start_message_id,
    }
    return merged(columns.items(), state.extra)


def _is_other(call: dict[str, Any], before: SaveRow) -> bool:
    """Whether the tool call itself changes, and not only what was said about its end."""
    return (call["status"], storable(call["details"])) != (before.status, before.details)


def _require_message(tx: Tx, message_id: str | None) -> None:
    if message_id is not None and tx.first("message_by_id", id=label(message_id, "message id")) is None:
        raise NotFound(f"no message {message_id!r}: save the message before a call that names it")


def _call(row: tuple[Any, ...]) -> dict[str, Any]:
    entity = merged(zip(FIELDS, row, strict=False), row[-1])
    entity["status"] = _THEIRS.get(entity["status"], "failed")
    return entity


def _raw(text: str) -> msgspec.Raw | None:
    """JSON that is encoded already; nothing is no value."""
    return msgspec.Raw(text.encode("utf-8", "surrogatepass")) if text else None


def _reason(details: str) -> str | None:
    """Why a call failed, where its details say so in a word."""
    try:
        value = read_json(details)
    except ValueError:
        return details or None
    if isinstance(value, dict):
        value = value.get("error", value.get("message"))
    return value if isinstance(value, str) and value else None
