"""Turns that grow message by message and call by call, written by whoever comes: nobody holds a lease.

Such a turn is open, as one that was read from a source which may go on. It is sealed when another one follows, or when
its writer says that it is over; but not before its calls have ended. Every step is durable and found by search at once.
"""

import msgspec

from agents_ledger.errors import NotFound, TurnIsSealed
from agents_ledger.ledger import moves, notes, sessions
from agents_ledger.ledger.append import insert_parts, place_under
from agents_ledger.ledger.build import Builder, close, settle
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.records import read_turn
from agents_ledger.ledger.sealing import OPEN, seal_ended
from agents_ledger.model import ids, rules
from agents_ledger.model.entries import OPEN_CALLS, Call, Message, Settings, Usage
from agents_ledger.model.rows import CallRow, MessageRow, SessionRow, TurnRow
from agents_ledger.store import Tx

LARGEST_TURN = 1_000  # messages: what one that never ends is cut into


def add_message(tx: Tx, env: Env, session: SessionRow, message: Message) -> MessageRow:
    """Adds a message to a session's last turn, or begins another: with what the user says after an answer."""
    at = env.now() if message.created_at is None else message.created_at
    turn = _growing(tx, session.thread_id)
    sequence = 0 if turn is None else int(tx.value("next_message", turn_id=turn.id))
    is_next = turn is not None and message.role == "user" and turn.response_message_id is not None
    if turn is None or is_next or sequence >= LARGEST_TURN:
        return _begin(tx, env, session, at, message).messages[0]
    builder = Builder(turn.id, turn.root_id, env)
    row = builder.message(message, sequence, at)
    insert_parts(tx, builder)
    _index(tx, builder)
    if row.role == "user":  # before any answer: after one it would have begun another turn
        asked = msgspec.json.decode(turn.query_message_ids or "[]", type=list[str])
        turn.query_message_ids = _json([*asked, row.id])
    if row.role == "assistant":
        turn.response_message_id = row.id
    if rules.has_system_prompt([row]) and row.sequence == 0:
        turn.system_depth = turn.depth
    _extend(tx, turn, at)
    return row


def add_call(tx: Tx, env: Env, session: SessionRow, call: Call, message_id: str | None) -> CallRow:
    """Adds a tool call to the turn of its message, if that is still open; else to the session's last, or a new one."""
    at = env.now() if call.started_at is None else call.started_at
    turn, caller = _turn_of(tx, session, message_id), message_id
    if turn is None:
        turn, caller = _growing(tx, session.thread_id), None
    if turn is None:
        builder = _begin(tx, env, session, at, None)
        turn = read_turn(tx, builder.turn_id)
    builder = Builder(turn.id, turn.root_id, env)
    row = builder.call(call, tx.value("next_call", turn_id=turn.id), caller, at)
    insert_parts(tx, builder)
    _index(tx, builder)
    turn.tool_call_count += 1
    _extend(tx, turn, at if row.completed_at is None else row.completed_at)
    return row


def change_call(tx: Tx, env: Env, kept: CallRow, call: Call) -> CallRow:
    """What a tool call of a growing turn has become; turns that waited for its end are sealed."""
    turn = read_turn(tx, kept.turn_id)
    if turn.seal_seq != OPEN:
        raise TurnIsSealed(f"call {kept.id!r} is part of a finished turn: make another call instead")
    builder = Builder(turn.id, turn.root_id, env)
    row = builder.call(call, kept.sequence, kept.message_id, kept.started_at)
    row.spawned_session_label = kept.spawned_session_label
    tx.run("unindex_parts", messages="[]", calls=_json([row.id]))
    notes.forget_call(tx, row.id)
    tx.run("drop_originals_of", row_id=row.id)
    tx.run_all("replace_call", [row])
    tx.run_all("insert_original", builder.originals)
    _index(tx, builder)
    _extend(tx, turn, turn.started_at if row.completed_at is None else row.completed_at)
    if turn.has_children and row.status not in OPEN_CALLS:
        _seal_before_head(tx, env, turn.session_label)
    return row


def end(tx: Tx, env: Env, session: SessionRow, error: str | None) -> None:
    """Closes a session's last turn, if it still grows: as failed with a reason, or well. Open calls keep it open."""
    turn = _growing(tx, session.thread_id)
    if turn is None or tx.value("has_open_calls", turn_id=turn.id):
        return
    if turn.parent_turn_id is not None:
        seal_ended(tx, env, turn.parent_turn_id)
        if read_turn(tx, turn.parent_turn_id).seal_seq == OPEN:
            return
    if error is not None:
        tx.run("fail_open_turn", id=turn.id, error=error)
    seal_ended(tx, env, turn.id)


def _growing(tx: Tx, turn_id: str | None) -> TurnRow | None:
    """A turn that takes more: open, the last one, and not read from a source."""
    turn = None if turn_id is None else read_turn(tx, turn_id)
    is_last = turn is not None and turn.seal_seq == OPEN and turn.evidence is None and not turn.has_children
    return turn if is_last else None


def _turn_of(tx: Tx, session: SessionRow, message_id: str | None) -> TurnRow | None:
    """The turn of a message, if that is still open and the session's own."""
    if message_id is None:
        return None
    message = tx.first("message_by_id", id=message_id)
    if message is None:
        raise NotFound(f"no message {message_id!r}: save the message before the call that it announces")
    turn = read_turn(tx, message[1])
    is_ours = turn.seal_seq == OPEN and turn.evidence is None and turn.session_label == session.label
    return turn if is_ours else None


def _begin(tx: Tx, env: Env, session: SessionRow, at: int, message: Message | None) -> Builder:
    """Another turn under the session's head, which moves to it."""
    named = env.new_id(None) if message is None or message.id is None else message.id
    turn_id, parent_id = ids.derived(at, session.label, named), session.thread_id
    place = place_under(tx, env, parent_id, turn_id, is_open=True)
    builder = Builder(turn_id, place.root_id, env)
    turn = builder.turn(Settings(persona_id=_persona(session)), "normal", at, None)
    turn.session_label = session.label
    if message is not None:
        builder.message(message, 0, at)
    record = builder.record(turn)
    close(record, "completed", None, Usage(), at)
    settle(record, place)
    turn.turn_hash, turn.seal_salt, turn.seal_seq = b"", b"", OPEN
    tx.run_all("insert_turn", [turn])
    insert_parts(tx, builder)
    if message is not None:
        _index(tx, builder)
    moves.move(tx, session.label, parent_id, turn_id, "advance", env.now())
    if parent_id is not None and not _is_stuck(tx, parent_id):
        seal_ended(tx, env, parent_id)
    return builder


def _persona(session: SessionRow) -> str | None:
    return None if session.persona_id == sessions.DEFAULT_PERSONA else session.persona_id


def _is_stuck(tx: Tx, turn_id: str) -> bool:
    """Whether a turn waits for an open call of an earlier one: when that ends, all are sealed that can be."""
    state = tx.first("turn_state", id=turn_id)
    above = None if state is None or state[1] is None else tx.first("turn_state", id=state[1])
    return above is not None and above[0] == OPEN and above[4] is None


def _seal_before_head(tx: Tx, env: Env, label: str | None) -> None:
    """Seals what waited for a call that has ended: up to the turn before the session's last."""
    session = tx.first("session_by_label", label=label)
    head = None if session is None else tx.first("turn_state", id=session[1])
    if head is not None and head[1] is not None:
        seal_ended(tx, env, head[1])


def _extend(tx: Tx, turn: TurnRow, at: int) -> None:
    tx.run(
        "extend_turn",
        id=turn.id,
        completed_at=max(at, turn.completed_at or at),
        query_message_ids=turn.query_message_ids,
        response_message_id=turn.response_message_id,
        tool_call_count=turn.tool_call_count,
        system_depth=turn.system_depth,
    )


def _index(tx: Tx, builder: Builder) -> None:
    """Lets a search find what was just written: its words, and what is noted beside them."""
    said, done = [row.id for row in builder.messages], [row.id for row in builder.calls]
    tx.run("index_parts", messages=_json(said), calls=_json(done))
    notes.put(tx, notes.notes_of_parts(builder.messages, builder.calls, builder.files))


def _json(names: list[str]) -> str:
    return msgspec.json.encode(names).decode()
