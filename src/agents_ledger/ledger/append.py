"""The seed's "on every new turn", as parts of one transaction."""

from collections.abc import Callable

from agents_ledger.errors import BadInput, ContentDiffers, HeadMoved, NotFound, TurnIsLive
from agents_ledger.ledger import compact, moves, notes, sessions, threads
from agents_ledger.ledger.build import Builder, Place, Prepared, committed, settle
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.head import HEAD, Head
from agents_ledger.ledger.records import content_digest, read_record
from agents_ledger.ledger.sealing import seal, seal_open
from agents_ledger.model.entries import Spawn
from agents_ledger.model.rows import CallRow, Record, TurnRow
from agents_ledger.model.texts import turn_name
from agents_ledger.store import Row, Tx


def append(
    tx: Tx, env: Env, label: str, given: Prepared, origin: sessions.Origin, expect: str | Head | None = HEAD
) -> str:
    """Appends a finished turn to a session: all of it or nothing. Gives the turn's id."""
    turn_id = given.record.turn.id
    if is_known(tx, given):
        _require_in_session(tx, label, turn_id)
        return turn_id
    session, head = sessions.ensure_with_head(tx, env, label, origin)
    if not isinstance(expect, Head) and session.thread_id != expect:
        raise HeadMoved(session.label, expect, session.thread_id, None)
    given.record.turn.session_label = session.label
    seq = insert_sealed(tx, env, given, session.thread_id, head)
    moves.move(tx, session.label, session.thread_id, turn_id, "advance", env.now(), seq + 1)
    for call in _spawning(given):
        task_status = "completed" if call.status == "completed" else "failed"
        spawn = Spawn(session.label, turn_id, call.id, task_status=task_status)
        sessions.adopt(tx, env, call.spawned_session_label or "", spawn)
    return turn_id


def branch(tx: Tx, env: Env, parent_id: str | None, given: Prepared) -> str:
    """Adds a finished turn to the tree without moving any session."""
    if parent_id is not None:
        turn_name(parent_id)
    if not is_known(tx, given, parent_id):
        if named := _spawning(given):
            raise BadInput(
                f"a branch is in no session, so {named[0].spawned_session_label!r} can't be its subagent: append the "
                "turn to a session, or leave out `spawned`"
            )
        insert_sealed(tx, env, given, parent_id)
    return given.record.turn.id


def _spawning(given: Prepared) -> list[CallRow]:
    """The calls that name a subagent; those of a source are linked when both sides are here."""
    return [call for call in given.record.calls if call.spawned_session_label is not None and call.evidence is None]


def is_known(tx: Tx, given: Prepared, parent_id: str | Head | None = HEAD) -> bool:
    """Whether this very turn is there already; the same id with other content is a conflict."""
    turn_id = given.record.turn.id
    if given.is_new or tx.first("turn_by_id", id=turn_id) is None:
        return False
    kept = read_record(tx, turn_id)
    moved = not isinstance(parent_id, Head) and kept.turn.parent_turn_id != parent_id
    if moved or content_digest(kept) != content_digest(given.record):
        raise ContentDiffers(f"turn {turn_id} is in the ledger with other content: give the new one another id")
    return True


def _require_in_session(tx: Tx, label: str, turn_id: str) -> None:
    session = sessions.resolve(tx, label)
    if session is None or session.label not in threads.including(tx, turn_id):
        raise ContentDiffers(
            f"turn {turn_id} is in the ledger, but not in session {label!r}: fork it there, or give it another id"
        )


def place_under(
    tx: Tx,
    env: Env,
    parent_id: str | None,
    turn_id: str,
    parent: Row | None = None,
    *,
    is_open: bool = False,
    mark: Callable[[str], None] | None = None,
) -> Place:
    """The place of a new turn: next in its parent's segment, or first in a new one.

    A parent that is not sealed yet is sealed now, unless the new turn is not to be sealed either. `parent` are its
    facts, if they were just read; `mark` is told that it has a child, if that is to be written later.
    """
    if parent_id is None:
        segment = tx.value("new_segment", root_id=turn_id, parent_segment_id=None, fork_depth=0)
        return Place(None, turn_id, segment, 1)
    if parent is None:
        parent = tx.first("parent_facts", id=parent_id)
    if parent is None:
        raise NotFound(f"no turn {parent_id!r}: `ldg tree` shows the turns that there are")
    root, segment, depth, tokens, system_depth, compaction_depth, parent_hash, has_children, is_inner, before = parent
    if parent_hash is None:
        raise TurnIsLive(f"turn {parent_id} is still being written: wait until it is finished")
    if not parent_hash and not is_open:
        parent_hash = seal_open(tx, env, parent_id)
    if is_inner:
        segment = tx.value("new_segment", root_id=root, parent_segment_id=segment, fork_depth=depth)
    if not has_children and mark is not None:
        mark(parent_id)
    elif not has_children:
        tx.run("mark_parent", id=parent_id)
    return Place(parent_id, root, segment, depth + 1, parent_hash, tokens, system_depth, compaction_depth, before)


def place_of(tx: Tx, turn: TurnRow) -> Place:
    """The place that a turn has, with what it inherits from its parent as that is now."""
    if turn.parent_turn_id is None:
        return Place(None, turn.root_id, turn.segment_id, turn.depth)
    parent = tx.first("parent_facts", id=turn.parent_turn_id)
    assert parent is not None, "a foreign key keeps it"  # noqa: S101
    _, _, _, tokens, system_depth, compaction_depth, parent_hash, _, _, before = parent
    where = turn.parent_turn_id, turn.root_id, turn.segment_id, turn.depth
    return Place(*where, parent_hash, tokens, system_depth, compaction_depth, before)


def insert_parts(tx: Tx, record: Record | Builder) -> None:
    """Everything that hangs on a turn, a batch for each table."""
    for name, rows in (("insert_message", record.messages), ("insert_call", record.calls)):
        if rows:
            tx.run_all(name, rows)
    insert_attachments(tx, record)


def insert_attachments(tx: Tx, record: Record | Builder) -> None:
    """What hangs on messages and on the turn itself."""
    for name, rows in (
        ("insert_file", record.files),
        ("insert_lint", record.lints),
        ("insert_codeblock", record.codeblocks),
        ("insert_original", record.originals),
        ("insert_usage", record.usages),
    ):
        if rows:
            tx.run_all(name, rows)


def seal_live(tx: Tx, env: Env, record: Record, parent_hash: bytes | None) -> int:
    """Closes a live turn for good. Gives the number of the log entry."""
    seq = seal(tx, committed(record, env), parent_hash, env.now())
    tx.run_all("seal_turn", [record.turn])
    return seq


def insert_sealed(tx: Tx, env: Env, given: Prepared, parent_id: str | None, parent: Row | None = None) -> int:
    """A whole turn: its parts, then the turn itself, sealed. Gives the number of the log entry."""
    record, now = given.record, env.now()
    summarized = None if record.compaction is None else compact.check(tx, parent_id, record.compaction)
    place = place_under(tx, env, parent_id, record.turn.id, parent)
    settle(record, place)
    if record.compaction is not None:
        record.compaction.turns_summarized = summarized
        tx.run_all("insert_compaction", [record.compaction])
    insert_parts(tx, record)
    notes.note(tx, record)
    seq = seal(tx, given, place.parent_hash, now)
    tx.run_all("insert_turn", [record.turn])
    return seq
