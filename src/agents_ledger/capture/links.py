"""Subagents: sessions that another one's tool call started, linked as soon as both are here."""

from agents_ledger.capture.draft import label_for
from agents_ledger.ledger import sessions
from agents_ledger.store import Tx


def link_children(tx: Tx) -> None:
    """Links every session that names its parent with it, and with the call that started it."""
    for label, origin, parent, call, task, key, known_parent, known_call in tx.rows("unlinked_children"):
        target = _parent(tx, origin or "", parent)
        if target is None or target == label:
            continue
        names = [label] if key is None else [label, label_for(origin or "", key)]
        found = [] if known_call is not None else _calls(tx, names, target, call)
        if known_parent is not None and not found:
            continue
        sessions.link(
            tx,
            label,
            {
                "parent_session_label": target,
                "parent_turn_id": found[0][1] if found else None,
                "spawn_tool_call_id": found[0][0] if found else None,
                "task_description": task,
            },
        )


def _parent(tx: Tx, origin: str, name: str) -> str | None:
    """The session that another one names as its parent: by its id, or by its session key."""
    label = label_for(origin, name)
    if tx.first("session_by_label", label=label) is not None:
        return label
    alias = tx.first("alias_by_name", alias=name)
    return None if alias is None else str(alias[1])


def _calls(tx: Tx, names: list[str], parent: str, native_id: str | None) -> list[tuple[str, str]]:
    """The call that started a session: by its own id, or because it names the session, also by its session key."""
    rows = [] if native_id is None else tx.rows("calls_by_native", native_id=native_id, parent=parent)
    for name in names:
        rows = rows or tx.rows("calls_by_spawned", label=name)
    return [(row[0], row[1]) for row in rows]
