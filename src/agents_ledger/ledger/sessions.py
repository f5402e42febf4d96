"""Sessions: stable labels, their other names, their subagents."""

from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.errors import AliasCycle, BadInput, LabelTaken, NotFound, SessionArchived, TurnIsSealed
from agents_ledger.ledger import log
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.records import read_turn
from agents_ledger.model.entries import Spawn
from agents_ledger.model.rows import AliasRow, SessionRow
from agents_ledger.model.texts import key
from agents_ledger.model.texts import label as checked
from agents_ledger.store import Row, Tx

DEFAULT_PERSONA = "default"
_COLUMNS = len(SessionRow.__struct_fields__)


class Origin(Struct, frozen=True):
    """Where a session comes from, and how it is addressed."""

    persona_id: str | None = None
    routing_key: str | None = None
    origin: str | None = None
    origin_session_id: str | None = None
    spawn: Spawn | None = None


def resolve(tx: Tx, label: str) -> SessionRow | None:
    """The session of a label: a live session of that name, else by alias, else one that is put away."""
    own = tx.first("session_by_label", label=label)
    if own is not None and own[-1] == "active":
        return SessionRow(*own)
    alias = tx.first("alias_by_name", alias=label)
    if alias is not None:
        return SessionRow(*_row(tx, alias[1]))
    return None if own is None else SessionRow(*own)


def former(tx: Tx, label: str) -> SessionRow | None:
    """The session that a label meant before it led to another one."""
    found = resolve(tx, label)
    own = None if found is None or found.label == label else tx.first("session_by_label", label=label)
    return None if own is None else SessionRow(*own)


def own(tx: Tx, label: str) -> SessionRow:
    """The session whose past a label has: its own, also where it leads to another one by now."""
    return former(tx, checked(label, "session label")) or require(tx, label)


def require(tx: Tx, label: str) -> SessionRow:
    """The session of a label, else of an agent's own id; an error that helps if there is none."""
    found = resolve(tx, checked(label, "session label")) or by_native(tx, label)
    if found is None:
        near = [row[0] for row in tx.rows("newest_labels", limit=5)]
        hint = f"there are {', '.join(near)}" if near else "there are none yet"
        raise NotFound(f"no session {label!r}: {hint} (`ldg sessions` lists them)")
    return found


def by_native(tx: Tx, native_id: str) -> SessionRow | None:
    """The session that its agent knows by an id; those of several agents are to be told apart by their labels."""
    found = [SessionRow(*row) for row in tx.rows("sessions_by_native", native_id=native_id)]
    if len(found) > 1:
        raise BadInput(f"{native_id!r} is the id of several sessions: {', '.join(row.label for row in found)}")
    return found[0] if found else None


def require_active(tx: Tx, label: str) -> SessionRow:
    """A session that takes new turns."""
    return _active(require(tx, label))


def _active(session: SessionRow) -> SessionRow:
    if session.status != "active":
        raise SessionArchived(
            f"session {session.label!r} is {session.status}: unarchive it first, or fork its head into a new one"
        )
    return session


def ensure(tx: Tx, env: Env, label: str, origin: Origin) -> SessionRow:
    """The lookup order of the seed: session, alias, create."""
    found = resolve(tx, checked(label, "session label"))
    return create(tx, env, label, origin) if found is None else _active(found)


def ensure_with_head(tx: Tx, env: Env, label: str, origin: Origin) -> tuple[SessionRow, Row | None]:
    """The same, with the facts of its head (as `parent_facts` gives them), if they were read at the same time."""
    row = tx.first("session_with_head", label=checked(label, "session label"))
    if row is not None:
        session = SessionRow(*row[:_COLUMNS])
        if session.status == "active":
            return session, row[_COLUMNS:]
    return ensure(tx, env, label, origin), None  # by another name, or a new one, or one that is put away


def create(tx: Tx, env: Env, label: str, origin: Origin) -> SessionRow:
    """A new session without a head."""
    refuse_taken(tx, checked(label, "session label"))
    spawn = origin.spawn
    if spawn is not None and spawn.parent_turn_id is not None:
        read_turn(tx, spawn.parent_turn_id)
    if spawn is not None and spawn.spawn_tool_call_id is not None:
        _name(tx, label, spawn)
    return _insert(tx, env, label, origin)


def adopt(tx: Tx, env: Env, label: str, spawn: Spawn) -> None:
    """Links a session with the finished call that names it as its subagent; makes it, if there is none."""
    known = tx.first("session_by_label", label=label)
    if known is None:
        refuse_taken(tx, label)
        _insert(tx, env, label, Origin(spawn=spawn))
        return
    if SessionRow(*known).is_subagent or _is_above(tx, label, spawn.parent_session_label):
        raise BadInput(
            f"session {label!r} can't be a subagent of {spawn.parent_session_label!r}: it is somebody's already, or "
            "started that session itself. Name another session, or leave out `spawned`"
        )
    facts = msgspec.structs.asdict(spawn)
    task_status = facts.pop("task_status")
    link(tx, label, facts)
    set_task_status(tx, env, label, task_status)


def link(tx: Tx, label: str, facts: dict[str, Any]) -> None:
    """Links a subagent's session with what started it."""
    before = SessionRow(*_row(tx, label))
    tx.run("link_session", label=label, **facts)
    row = SessionRow(*_row(tx, label))
    if row != before:
        log.record(tx, "session", label, row.updated_at, body=fixed_facts(row))


def _is_above(tx: Tx, label: str, of: str) -> bool:
    """Whether a session is another one, or started it, directly or not."""
    seen: set[str | None] = {None}
    at: str | None = of
    while at not in seen and at != label:
        seen.add(at)
        row = tx.first("session_by_label", label=at)
        at = None if row is None else SessionRow(*row).parent_session_label
    return at == label


def _insert(tx: Tx, env: Env, label: str, origin: Origin) -> SessionRow:
    now, spawn = env.now(), origin.spawn
    row = SessionRow(
        label=label,
        thread_id=None,
        persona_id=checked(origin.persona_id or DEFAULT_PERSONA, "persona"),
        is_subagent=int(spawn is not None),
        parent_session_label=spawn.parent_session_label if spawn else None,
        parent_turn_id=spawn.parent_turn_id if spawn else None,
        spawn_tool_call_id=spawn.spawn_tool_call_id if spawn else None,
        task_description=key(spawn.task_description or None, "task") if spawn else None,
        task_status=spawn.task_status if spawn else None,
        routing_key=key(origin.routing_key, "routing_key"),
        origin=key(origin.origin, "origin"),
        origin_session_id=key(origin.origin_session_id, "origin_session_id"),
        created_at=now,
        updated_at=now,
        status="active",
    )
    tx.run_all("insert_session", [row])
    log.record(tx, "session", label, now, body=fixed_facts(row))
    if spawn is not None:
        log.record(tx, "task", label, now, body={"task_status": spawn.task_status})
    return row


def _name(tx: Tx, label: str, spawn: Spawn) -> None:
    """The spawning call names its subagent, before the subagent names the call."""
    named = tx.value("link_spawned", id=spawn.spawn_tool_call_id, turn_id=spawn.parent_turn_id, label=label)
    if named is None:
        raise TurnIsSealed(
            f"tool call {spawn.spawn_tool_call_id} has ended, has a subagent already, or is not of turn "
            f"{spawn.parent_turn_id}: start a subagent from an open call"
        )


def refuse_taken(tx: Tx, label: str) -> None:
    """A new label must be free among sessions and aliases."""
    if tx.first("session_by_label", label=label) is not None:
        raise LabelTaken(f"a session {label!r} exists: choose another label")
    if tx.first("alias_by_name", alias=label) is not None:
        raise LabelTaken(f"{label!r} is an alias of a session: choose another label")


def fixed_facts(row: SessionRow) -> dict[str, Any]:
    """What a session's first log entry says about it, and what never changes."""
    facts = msgspec.structs.asdict(row)
    for changing in ("label", "thread_id", "updated_at", "status", "task_status"):
        del facts[changing]
    return facts


def set_status(tx: Tx, env: Env, label: str, status: str) -> SessionRow:
    """Archives, deletes (hides) or unarchives a session; its turns stay."""
    session = tx.first("session_by_label", label=checked(label, "session label"))
    if session is None:
        session = _row(tx, require(tx, label).label)
    now, name = env.now(), session[0]
    if status == "active" and tx.first("alias_by_name", alias=name) is not None:
        own = "it has no turns of its own" if session[1] is None else f"`ldg fork {session[1]}` continues its own turns"
        raise LabelTaken(f"{name!r} leads to another session now: {own}")
    if session[-1] != status:
        tx.run("set_status", label=name, status=status, at=now)
        log.record(tx, "status", name, now, body={"status": status})
    return SessionRow(*_row(tx, name))


def set_task_status(tx: Tx, env: Env, label: str, task_status: str) -> None:
    """How far a subagent's task is."""
    now = env.now()
    tx.run("set_task_status", label=label, task_status=task_status, at=now)
    log.record(tx, "task", label, now, body={"task_status": task_status})


def add_alias(tx: Tx, env: Env, alias: str, label: str, reason: str) -> AliasRow:
    """Another key for a session. It never hides a live session and never leads to another alias."""
    checked(alias, "alias")
    checked(reason, "reason")
    session = require(tx, label)
    if alias in (label, session.label):
        raise AliasCycle(f"{alias!r} would be an alias of itself: name another session")
    own = tx.first("session_by_label", label=alias)
    if own is not None and own[-1] == "active":
        raise LabelTaken(f"{alias!r} is a live session: archive or merge it first, an alias would hide it")
    known = tx.first("alias_by_name", alias=alias)
    if known is not None and known[1] != session.label:
        raise LabelTaken(f"{alias!r} is an alias of {known[1]!r} already: merge that session instead")
    _follow(tx, env, alias, session.label, reason)
    return _put_alias(tx, env, alias, session.label, reason)


def lead(tx: Tx, env: Env, key: str, label: str) -> None:
    """Lets a routing key lead to the session that has it now; where it led before is in the log."""
    session = require(tx, label)
    known = tx.first("alias_by_name", alias=key)
    if key != session.label and tx.first("session_by_label", label=key) is None and (known or ["", ""])[1] != label:
        _put_alias(tx, env, key, session.label, "routing_key")


def merge(tx: Tx, env: Env, label: str, into: str) -> SessionRow:
    """One identity out of two: `label` and all its aliases lead to `into` from now on; its turns stay."""
    source, target = require_active(tx, label), require_active(tx, into)
    if source.label == target.label:
        raise AliasCycle(f"{label!r} and {into!r} are the same session already")
    set_status(tx, env, source.label, "archived")
    _follow(tx, env, source.label, target.label, "identity_merge")
    _put_alias(tx, env, source.label, target.label, "identity_merge")
    return target


def _follow(tx: Tx, env: Env, left: str, target: str, reason: str) -> None:
    """The aliases of a session that is put away go where its own label goes: no alias leads to another."""
    for row in tx.rows("aliases_of", label=left):
        _put_alias(tx, env, row[0], target, reason)


def _put_alias(tx: Tx, env: Env, alias: str, target: str, reason: str) -> AliasRow:
    now = env.now()
    tx.run("put_alias", alias=alias, session_label=target, created_at=now, reason=reason)
    log.record(tx, "alias", alias, now, body={"session_label": target, "reason": reason})
    row = tx.first("alias_by_name", alias=alias)
    assert row is not None, "it was just written"  # noqa: S101
    return AliasRow(*row)


def _row(tx: Tx, label: str) -> tuple[Any, ...]:
    row = tx.first("session_by_label", label=label)
    assert row is not None, "a foreign key keeps it"  # noqa: S101
    return row
