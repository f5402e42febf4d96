"""Pointer movements: the only thing about a conversation that ever changes, and each has its history."""

from msgspec.structs import replace

from agents_ledger.errors import BadInput, HeadMoved, LedgerError, NotAllowed, TurnIsLive
from agents_ledger.ledger import log, sealing, sessions, threads
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.head import Head
from agents_ledger.ledger.records import read_turn
from agents_ledger.model.hashes import move_facts
from agents_ledger.model.rows import MoveRow, SessionRow
from agents_ledger.model.texts import integer
from agents_ledger.store import Tx


def advance(tx: Tx, label: str, expected: str | None, to: str, reason: str, at: int, seq: int) -> int | None:
    """Moves a session from where it is expected to be; None, and nothing changed, if it is elsewhere or put away."""
    row = tx.first("session_by_label", label=label)
    if row is None or row[1] != expected or row[-1] != "active":
        return None
    return move(tx, label, expected, to, reason, at, seq)


def move(tx: Tx, label: str, expected: str | None, to: str, reason: str, at: int, seq: int | None = None) -> int:
    """Moves a session whose head was read in this transaction; gives the number of the log entry."""
    draft = MoveRow(0, label, to, at, expected, reason)
    number = log.record(tx, "move", label, at, seq=seq, facts=move_facts(draft))
    tx.run_all("insert_move", [MoveRow(number, label, to, at, expected, reason)])
    moved = tx.value("point_session", label=label, thread_id=to, expected=expected, at=at)
    assert moved == label, "the head was just read in this transaction"  # noqa: S101
    return number


def fork(tx: Tx, env: Env, turn_id: str, label: str | None, origin: sessions.Origin | None = None) -> SessionRow:
    """A second pointer at a turn: a new session, the original untouched, whatever the depth."""
    turn = read_turn(tx, turn_id)
    if turn.seal_seq is None:
        raise TurnIsLive(f"turn {turn_id} is still being written: wait until it is finished, or fork its parent")
    if turn.seal_seq == sealing.OPEN:
        sealing.seal_open(tx, env, turn_id)  # what was forked never changes, whatever its source says later
    name = f"fork-{env.new_id(None)[-10:].lower()}" if label is None else label
    sessions.create(tx, env, name, replace(origin or sessions.Origin(), persona_id=turn.persona_id))
    move(tx, name, None, turn_id, "fork", env.now())
    return sessions.require(tx, name)


def rewind(tx: Tx, env: Env, label: str, turn_id: str | None, turns: int | None, expect: str | Head | None) -> MoveRow:
    """Moves a session back: to one of its head's ancestors, or by a number of turns."""
    if turn_id is not None and turns is not None:
        raise BadInput("rewind goes to a turn or back by a number of turns: name one of them")
    session = sessions.require_active(tx, label)
    head = session.thread_id
    if not isinstance(expect, Head) and expect != head:
        raise HeadMoved(session.label, expect, head, None)
    if head is None:
        raise NotAllowed(f"session {session.label!r} has no turns yet: there is nothing to rewind")
    target = _back(tx, session.label, head, turns) if turn_id is None else turn_id
    if target == head:
        raise BadInput(f"turn {target} is the head already: name an earlier turn")
    if not threads.is_ancestor(tx, read_turn(tx, target).id, head):
        if read_turn(tx, target).seal_seq is None:
            raise TurnIsLive(f"turn {target} is still being written: name an earlier turn than the head {head}")
        raise BadInput(
            f"turn {target} is not an ancestor of {session.label!r}'s head: rewind goes back only; "
            f"use `ldg fork {target}` to continue there"
        )
    return _moved(tx, env, session.label, head, target, "rewind")


def forward(tx: Tx, env: Env, label: str, turn_id: str | None) -> MoveRow:
    """Moves a session forward again: to a turn it had before, by default the one it left last."""
    session = sessions.require_active(tx, label)
    head = session.thread_id
    left = None if head is None else tx.value("left_last", id=head, label=session.label)
    if head is None or left is None:
        raise _nothing_ahead(tx, session.label, head, turn_id)
    target = str(left) if turn_id is None else turn_id
    if target == head or not threads.is_ancestor(tx, head, target):
        raise BadInput(f"turn {target} does not lie ahead of the head {head}: `ldg forward` goes nowhere else")
    if session.label not in threads.including(tx, target):
        raise BadInput(f"turn {target} was never in session {session.label!r}: see `ldg history`")
    return _moved(tx, env, session.label, head, target, "replay")


def _moved(tx: Tx, env: Env, label: str, head: str, target: str, reason: str) -> MoveRow:
    at = env.now()
    return MoveRow(move(tx, label, head, target, reason, at), label, target, at, head, reason)


def _nothing_ahead(tx: Tx, label: str, head: str | None, turn_id: str | None) -> LedgerError:
    """Why a session can't go forward: it never went back, or it went on another way since."""
    rewound = None if head is None else tx.value("rewound_from", label=label)
    if head is None or rewound is None:
        return NotAllowed(f"session {label!r} was not rewound: there is nothing ahead of it")
    old = turn_id or str(rewound)
    if threads.is_ancestor(tx, old, head):
        return NotAllowed(f"session {label!r} has nothing ahead of it: turn {old} is in its thread")
    if label not in threads.including(tx, old):
        return BadInput(f"turn {old} was never in session {label!r}: see `ldg history`")
    return NotAllowed(
        f"session {label!r} went on another way since it was rewound: `ldg fork {old}` continues the old one"
    )


def _back(tx: Tx, label: str, head: str, turns: int | None) -> str:
    depth, back = read_turn(tx, head).depth, 1 if turns is None else integer(turns, "turns") or 0
    if depth == 1:
        raise BadInput(f"session {label!r} is at its first turn: there is nothing before it to go back to")
    if not 1 <= back < depth:
        raise BadInput(f"session {label!r} has {depth} turns: it can go back by 1 to {depth - 1}, not {back}")
    found = threads.ancestor_at(tx, head, depth - back)
    assert found is not None, "every depth up to the head's has a turn"  # noqa: S101
    return found
