"""Turns, sessions and facts that were read from sources. They go in by the same way as all others."""

from collections import deque

import msgspec
from msgspec import Struct

from agents_ledger.errors import LedgerError
from agents_ledger.ledger import compact, log, moves, notes, sessions, threads, usage
from agents_ledger.ledger.append import insert_attachments, insert_parts, insert_sealed, place_of, place_under
from agents_ledger.ledger.build import Place, Prepared, settle
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.evidence import places
from agents_ledger.ledger.records import content_digest, read_record, read_turn
from agents_ledger.ledger.sealing import OPEN, seal, seal_open
from agents_ledger.model.captures import Capture
from agents_ledger.model.rows import CallRow, CompactionRow, MessageRow, Record, SessionRow, TurnRow
from agents_ledger.model.rules import RETRACTED, SUPERSEDED
from agents_ledger.model.texts import storable
from agents_ledger.store import Tx

_SMALL_PARTS = ("files", "lints", "codeblocks", "originals", "usages", "compaction")


class StepRow(Struct, frozen=True):
    """A row of `steps`: where a step of a source is in the record."""

    step_key: int
    turn_id: str
    position: int


def put(tx: Tx, env: Env, given: Prepared, parent_id: str | None, *, is_final: bool) -> bool:
    """Puts a turn in, or brings one up to date that is not sealed yet; False if it was there as it is.

    A turn that is not final stays open: its source may go on. What is sealed is never touched.
    """
    turn = given.record.turn
    state = tx.first("turn_state", id=turn.id)
    if state is None:
        if given.record.compaction is not None:
            fit_compaction(tx, parent_id, given.record.compaction)
        if is_final:
            insert_sealed(tx, env, given, parent_id)
        else:
            _insert_open(tx, env, given, parent_id)
        return True
    if state[0] != OPEN:
        return False
    return _replace(tx, env, given, parent_id, is_final=is_final)


def fit_compaction(tx: Tx, parent_id: str | None, row: CompactionRow) -> None:
    """Lets a compaction name only what is in its thread: a source may claim anything."""
    try:
        compact.summarized(tx, parent_id, row)
    except LedgerError:
        row.summarized_through_turn_id = parent_id
        row.first_kept_turn_id = row.first_kept_message_id = None


def _insert_open(tx: Tx, env: Env, given: Prepared, parent_id: str | None) -> None:
    record = given.record
    place = place_under(tx, env, parent_id, record.turn.id, is_open=True)
    _settle(tx, given, place, parent_id)
    insert_parts(tx, record)
    notes.note(tx, record)
    tx.run_all("insert_turn", [record.turn])
    _index(tx, "index_parts", record.messages, record.calls)


def _settle(tx: Tx, given: Prepared, place: Place, parent_id: str | None) -> None:
    record = given.record
    settle(record, place)
    turn = record.turn
    turn.turn_hash, turn.seal_salt, turn.seal_seq = b"", b"", OPEN
    if record.compaction is not None:
        record.compaction.turns_summarized = compact.summarized(tx, parent_id, record.compaction)
        tx.run_all("insert_compaction", [record.compaction])


def _replace(tx: Tx, env: Env, given: Prepared, parent_id: str | None, *, is_final: bool) -> bool:
    record = given.record
    kept = read_record(tx, record.turn.id)
    old = kept.turn
    if parent_id is not None and parent_id != old.parent_turn_id and threads.is_ancestor(tx, old.id, parent_id):
        parent_id = old.parent_turn_id  # a source that goes in circles
    moved = old.parent_turn_id != parent_id
    is_as_long = old.completed_at == record.turn.completed_at
    if not is_final and not moved and is_as_long and content_digest(kept) == content_digest(record):
        return False
    below = _children(tx, old)
    _drop_small_parts(tx, old.id)
    if record.compaction is not None:
        fit_compaction(tx, parent_id, record.compaction)
    place = _new_place(tx, env, given, parent_id, is_final=is_final) if moved else _same_place(tx, env, kept, is_final)
    salt = record.turn.seal_salt
    _settle(tx, given, place, parent_id)
    record.turn.has_children = old.has_children
    _renew_parts(tx, kept, record)
    if is_final:
        record.turn.seal_salt = salt
        seal(tx, given, place.parent_hash, env.now(), was_open=True)
    tx.run_all("replace_turn", [record.turn])
    left = _carry(tx, env, below) if _inherited(record) != _inherited(kept) else []
    for segment in (*reversed(left), old.segment_id) if moved else reversed(left):
        tx.run("drop_empty_segment", id=segment)
    if moved and old.parent_turn_id is not None:
        tx.run("unmark_parent", id=old.parent_turn_id)
    return True


def _drop_small_parts(tx: Tx, turn_id: str) -> None:
    for part in _SMALL_PARTS:
        tx.run(f"drop_{part}", turn_id=turn_id)


def _renew_parts(tx: Tx, kept: Record, record: Record) -> None:
    """Messages and calls of an open turn: those that changed are changed, new ones come in, the others stay."""
    messages, calls = {row.id: row for row in kept.messages}, {row.id: row for row in kept.calls}
    other_messages = [row for row in record.messages if messages.get(row.id) != row]
    other_calls = [row for row in record.calls if calls.get(row.id) != row]
    gone_messages = [messages[key] for key in messages.keys() - {row.id for row in record.messages}]
    lost = {row.id for row in gone_messages}
    gone_calls = [row for row in kept.calls if row.id not in {call.id for call in record.calls}]
    for call in [row for row in other_calls if (known := calls.get(row.id)) and known.message_id in lost]:
        gone_calls.append(calls.pop(call.id))  # it points at a message that goes: put in anew
    _index(tx, "unindex_parts", [*other_messages, *gone_messages], [*other_calls, *gone_calls])
    notes.forget(tx, kept)
    changed = [known for row in other_calls if (known := calls.get(row.id)) and known.native_id != row.native_id]
    _unlink(tx, [*gone_calls, *changed])
    for call in gone_calls:
        tx.run("drop_call", id=call.id)
    if gone_messages:
        _let_go(tx, lost)
    for message in gone_messages:
        tx.run("drop_message", id=message.id)
    tx.run_all("replace_message", [row for row in other_messages if row.id in messages])
    tx.run_all("insert_message", [row for row in other_messages if row.id not in messages])
    tx.run_all("replace_call", [row for row in other_calls if row.id in calls])
    tx.run_all("insert_call", [row for row in other_calls if row.id not in calls])
    insert_attachments(tx, record)
    notes.note(tx, record)
    _index(tx, "index_parts", other_messages, other_calls)


def _unlink(tx: Tx, rows: list[CallRow]) -> None:
    """Lets subagents go whose calls are about to: they are linked again with what stands then."""
    for call in rows:
        for (label,) in tx.rows("spawned_by", id=call.id):
            tx.run("unlink_session", label=label)
            row = SessionRow(*(tx.first("session_by_label", label=label) or ()))
            log.record(tx, "session", label, row.updated_at, body=sessions.fixed_facts(row))


def _let_go(tx: Tx, message_ids: set[str]) -> None:
    """Lets no compaction name messages that are about to go (it is open, as all that follows an open turn)."""
    for found in tx.rows("compactions_keeping", messages=msgspec.json.encode(sorted(message_ids)).decode()):
        row = CompactionRow(*found)
        tx.run("drop_compaction", turn_id=row.turn_id)
        row.first_kept_turn_id = row.first_kept_message_id = None
        tx.run_all("insert_compaction", [row])


def _index(tx: Tx, name: str, messages: list[MessageRow], calls: list[CallRow]) -> None:
    if messages or calls:
        said = msgspec.json.encode([row.id for row in messages]).decode()
        done = msgspec.json.encode([row.id for row in calls]).decode()
        tx.run(name, messages=said, calls=done)


def _children(tx: Tx, turn: TurnRow) -> list[str]:
    """The turns that follow an open one: they are open, too."""
    return [row[0] for row in tx.rows("children", id=turn.id)] if turn.has_children else []


def _inherited(record: Record) -> tuple[object, ...]:
    """What the place of a turn's children follows from."""
    turn = record.turn
    return (
        turn.root_id, turn.segment_id, turn.depth, turn.thread_tokens, turn.system_depth, turn.compaction_depth,
        turn.messages_before + len(record.messages),
    )  # fmt: skip


def _carry(tx: Tx, env: Env, turn_ids: list[str]) -> list[int]:
    """Lets everything below a turn follow it to its new place; gives the segments that were left."""
    left: list[int] = []
    queue = deque(turn_ids)
    while queue:
        turn_id = queue.popleft()
        kept, record = read_record(tx, turn_id), read_record(tx, turn_id)
        turn = record.turn
        before, below, parent_id = _inherited(kept), _children(tx, turn), turn.parent_turn_id
        left.append(turn.segment_id)
        _drop_small_parts(tx, turn.id)
        if record.compaction is not None:
            fit_compaction(tx, parent_id, record.compaction)
        _settle(tx, Prepared(record, [], []), place_under(tx, env, parent_id, turn.id, is_open=True), parent_id)
        _renew_parts(tx, kept, record)
        tx.run_all("replace_turn", [turn])
        if _inherited(record) != before:
            queue += below
    return left


def _same_place(tx: Tx, env: Env, kept: Record, is_final: bool) -> Place:
    place = place_of(tx, kept.turn)
    if is_final and place.parent_turn_id is not None and not place.parent_hash:
        return msgspec.structs.replace(place, parent_hash=seal_open(tx, env, place.parent_turn_id))
    return place


def _new_place(tx: Tx, env: Env, given: Prepared, parent_id: str | None, *, is_final: bool) -> Place:
    return place_under(tx, env, parent_id, given.record.turn.id, is_open=not is_final)


def ensure_session(tx: Tx, env: Env, label: str, origin: str, native: str, at: int) -> SessionRow:
    """The session of an agent's own id, made when it is met first."""
    row = tx.first("session_by_label", label=label)
    if row is not None:
        return SessionRow(*row)
    alias = tx.first("alias_by_name", alias=label)
    if alias is not None:
        found = tx.first("session_by_label", label=alias[1])
        assert found is not None, "a foreign key keeps it"  # noqa: S101
        return SessionRow(*found)
    made = Env(now=lambda: at, new_id=env.new_id, salt=env.salt)
    return sessions.create(tx, made, label, sessions.Origin(origin=origin, origin_session_id=storable(native)))


def move_to(tx: Tx, label: str, turn_id: str, at: int, reason: str) -> bool:
    """Lets a session point at a turn that was read from its source; False if it does so already."""
    row = tx.first("session_by_label", label=label)
    assert row is not None, "it was just made"  # noqa: S101
    head = row[1]
    if head == turn_id:
        return False
    if reason == "advance":
        state = tx.first("turn_state", id=turn_id)
        if state is None or state[1] != head:
            reason = "import"
    moves.move(tx, label, head, turn_id, reason, at)
    return True


def is_behind_head(tx: Tx, label: str, turn_id: str, capture_id: int) -> bool:
    """Whether a session has gone on from a turn by another source than this one (an archive tells the beginning)."""
    row = tx.first("session_by_label", label=label)
    head = None if row is None else row[1]
    if head is None or head == turn_id or not threads.is_ancestor(tx, turn_id, head):
        return False
    state = tx.first("turn_state", id=head)
    return state is not None and capture_id not in {place[0] for place in places(state[4])}


def is_later_elsewhere(tx: Tx, other_id: str, turn_id: str, capture_ids: frozenset[int]) -> bool:
    """Whether a turn of another source that is still there is on another branch than this one, and newer."""
    other = read_turn(tx, other_id)
    told_by = {place[0] for place in places(other.evidence)}
    if not told_by or told_by & capture_ids or not any(_is_current(tx, each) for each in told_by):
        return False
    turn = read_turn(tx, turn_id)
    if (_ended(other), other.id) < (_ended(turn), turn.id):
        return False
    return not threads.is_ancestor(tx, other_id, turn_id)


def _is_current(tx: Tx, capture_id: int) -> bool:
    row = tx.first("capture_by_id", id=capture_id)
    return row is not None and Capture(*row).state == "current"


def _ended(turn: TurnRow) -> int:
    return turn.started_at if turn.completed_at is None else turn.completed_at


def retract(tx: Tx, env: Env, turn_id: str) -> None:
    """Empty an open turn that its source no longer contains, unless a turn that it does contain follows it.

    The row stays, because session pointers may have been there.
    """
    record = read_record(tx, turn_id)
    below = _children(tx, record.turn)
    if record.turn.error == RETRACTED or any(read_turn(tx, child).error != RETRACTED for child in below):
        return
    _drop_small_parts(tx, turn_id)
    _renew_parts(tx, record, Record(record.turn, [], [], None, [], [], [], []))
    turn = record.turn
    turn.status, turn.error, turn.turn_type, turn.evidence = "failed", RETRACTED, "normal", None
    turn.query_message_ids, turn.response_message_id, turn.tool_call_count = "[]", None, 0
    turn.input_tokens = turn.output_tokens = turn.cached_input_tokens = turn.cache_write_tokens = None
    turn.reasoning_tokens = turn.total_tokens = None
    above = None if turn.parent_turn_id is None else tx.first("parent_facts", id=turn.parent_turn_id)
    turn.thread_tokens, turn.system_depth, turn.compaction_depth = (None, 0, 0) if above is None else above[3:6]
    tx.run_all("replace_turn", [turn])
    for segment in reversed(_carry(tx, env, below)):
        tx.run("drop_empty_segment", id=segment)


def supersede(tx: Tx, turn_id: str, by: str | None, at: int) -> None:
    """Marks a turn that its sources tell otherwise by now. It stays as it is, and whoever points at it stays there."""
    record = read_record(tx, turn_id)
    usage.recount(tx, turn_id, record.turn.seal_seq or OPEN, -1)
    tx.run("put_superseded", turn_id=turn_id, by_turn_id=by, at=at)
    log.record(tx, "status", turn_id, at, body={"status": SUPERSEDED, "by": by})
    _unlink(tx, record.calls)


def reinstate(tx: Tx, turn_id: str, at: int) -> None:
    """Takes the mark off a turn: its sources tell it again."""
    tx.run("drop_superseded", turn_id=turn_id)
    usage.recount(tx, turn_id, read_turn(tx, turn_id).seal_seq or OPEN, 1)
    log.record(tx, "status", turn_id, at, body={"status": "told", "by": None})


def set_routing_key(tx: Tx, label: str, key: str) -> None:
    """The key by which a session is addressed, once it is known."""
    before = SessionRow(*(tx.first("session_by_label", label=label) or ()))
    if before.routing_key is None:
        tx.run("set_routing_key", label=label, routing_key=key)
        row = msgspec.structs.replace(before, routing_key=key)
        log.record(tx, "session", label, row.updated_at, body=sessions.fixed_facts(row))
