"""Tasks are sessions. Their states are saves; their system prompt opens their first turn."""

import math
from typing import Any

from agents_ledger.errors import BadInput, NotFound
from agents_ledger.faces.agent_os.fields import held, merged, merged_states, refuse_other
from agents_ledger.faces.agent_os.schemas import whole
from agents_ledger.ledger import growing, saves, sessions
from agents_ledger.ledger.env import Env
from agents_ledger.model.entries import Message, Spawn
from agents_ledger.model.rows import SaveRow, SessionRow
from agents_ledger.model.texts import json_text, label, storable
from agents_ledger.store import Tx

ORIGIN = "agent-os"
PROMPT = "task"  # the source of the message that a task's system prompt is
FIELDS = ("id", "parentTaskId", "completionStatus", "systemPrompt", "createdAt", "updatedAt")
_FIXED = ("parentTaskId", "systemPrompt", "createdAt")
_FAILED = ("failed", "error", "cancelled")
_EVER = (-(1 << 63), (1 << 63) - 1)


def save(tx: Tx, env: Env, given: dict[str, Any]) -> None:
    """Makes a task, or keeps another state of it."""
    task: dict[str, Any] = {name: given.get(name) for name in FIELDS}
    task |= {name: int(given[name]) for name in ("createdAt", "updatedAt")}
    session = sessions.resolve(tx, label(task["id"], "task id"))
    if session is None:
        session = _create(tx, env, task)
    else:
        refuse_other("task", session.label, _FIXED, task, find(tx, session.label) or {})
    state = _state(task, session.label, {name: value for name, value in given.items() if name not in FIELDS})
    if saves.put(tx, env, state, saves.newest(tx, "task", session.label)):
        _follow(tx, env, session, state.status)


def find(tx: Tx, task_id: str) -> dict[str, Any] | None:
    """One task, by the label or an alias of its session."""
    session = sessions.resolve(tx, storable(task_id))
    row = None if session is None else tx.first("task_by_id", id=session.label)
    return None if row is None else _task(row)


def query(tx: Tx, given: dict[str, Any]) -> dict[str, Any]:
    """A page of tasks and how many there are, the newest first."""
    filters = {
        "status": storable(given["completionStatus"]) if "completionStatus" in given else None,
        "from_time": _time(math.ceil, given.get("fromTime", _EVER[0])),
        "to_time": _time(math.floor, given.get("toTime", _EVER[1])),
    }
    kind = "task"
    if "parentTaskId" in given:
        kind, filters["parent"] = "subtask", storable(given["parentTaskId"])
    page = {"limit": whole(given["limit"], "limit"), "offset": whole(given["offset"], "offset")}
    found = [row[0] for row in tx.rows(f"{kind}_ids", **filters, **page)]
    total = int(tx.value(f"{kind}_count", **filters))
    return {"tasks": by_ids(tx, found), "total": total}


def by_ids(tx: Tx, task_ids: list[str]) -> list[dict[str, Any]]:
    """Tasks in the order of their ids."""
    found = {row[0]: _task(row) for row in tx.rows("tasks_by_ids", ids=json_text(task_ids, "ids")[0])}
    return [found[task_id] for task_id in task_ids]


def history(tx: Tx, given: dict[str, Any]) -> dict[str, Any]:
    """Every state of a task that was saved, oldest first."""
    now = find(tx, given["taskId"])
    if now is None:
        return {"states": []}
    fixed = {name: now[name] for name in ("id", *_FIXED) if name in now}
    return merged_states(tx, "task", now["id"], fixed, given, "completionStatus")


def require(tx: Tx, task_id: str) -> SessionRow:
    """The session of a task that takes messages and calls."""
    if sessions.resolve(tx, label(task_id, "task id")) is None:
        raise NotFound(f"no task {task_id!r}: save the task (ldg:task:save) before what belongs to it")
    return sessions.require_active(tx, task_id)


def end_if_over(tx: Tx, env: Env, session_label: str) -> None:
    """Closes the last turn of a task that has ended; asked when its last open call ends after it."""
    state = saves.newest(tx, "task", session_label)
    if state is not None and state.status is not None:
        growing.end(tx, env, sessions.require(tx, session_label), _reason(state.status))


def _create(tx: Tx, env: Env, task: dict[str, Any]) -> SessionRow:
    made = Env(now=lambda: task["createdAt"], new_id=env.new_id, salt=env.salt)
    origin = sessions.Origin(origin=ORIGIN, origin_session_id=task["id"], spawn=_spawn(tx, task))
    session = sessions.create(tx, made, task["id"], origin)
    if task["systemPrompt"]:
        prompt = Message("system", task["systemPrompt"], source=PROMPT, created_at=task["createdAt"])
        growing.add_message(tx, env, session, prompt)
    return sessions.require(tx, session.label)


def _spawn(tx: Tx, task: dict[str, Any]) -> Spawn | None:
    """The parent of a task; it must be there."""
    parent_id = task["parentTaskId"]
    if parent_id is None:
        return None
    if parent_id == task["id"]:
        raise BadInput(f"task {parent_id!r} can't be its own parent")
    parent = sessions.resolve(tx, label(parent_id, "task id"))
    if parent is None:
        raise NotFound(f"no task {parent_id!r}: save the parent task before its subtasks")
    if parent.label != parent_id:
        raise BadInput(f"{parent_id!r} is another name of {parent.label!r}: name that as the parent")
    return Spawn(parent.label, parent.thread_id)


def _state(task: dict[str, Any], session_label: str, extra: dict[str, Any]) -> SaveRow:
    status = _status(task["completionStatus"])
    extra |= held(systemPrompt=task["systemPrompt"])
    return SaveRow(
        id=0,
        entity="task",
        ref=session_label,
        session_label=session_label,
        status=status,
        is_open=int(status is None),
        details=None,
        start_message_id=None,
        end_message_id=None,
        updated_at=task["updatedAt"],
        extra=json_text(extra, "task")[0] if extra else None,
        salt=b"",
    )


def _follow(tx: Tx, env: Env, session: SessionRow, status: str | None) -> None:
    """Lets the session follow the task: its last turn ends with it, a subagent says how far it is."""
    if session.is_subagent:
        outcome = "running" if status is None else "failed" if status in _FAILED else "completed"
        if outcome != session.task_status:
            sessions.set_task_status(tx, env, session.label, outcome)
    if status is not None:
        growing.end(tx, env, session, _reason(status))


def _reason(status: str) -> str | None:
    return f"the task ended: {status}" if status in _FAILED else None


def _status(given: str | None) -> str | None:
    if given == "null":
        raise BadInput('completionStatus "null" would mean a task at work: leave it out, or send null')
    return None if given is None else label(given, "completionStatus")


def _task(row: tuple[Any, ...]) -> dict[str, Any]:
    return merged(zip(FIELDS, row, strict=False), row[-1])


def _time(rounded: Any, given: float) -> int:
    return int(min(max(rounded(given), _EVER[0]), _EVER[1]))
