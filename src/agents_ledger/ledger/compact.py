"""Compaction as a turn: what may be summarised, and what is kept."""

from agents_ledger.errors import BadInput, NotAllowed, TurnIsLive
from agents_ledger.ledger import threads
from agents_ledger.ledger.records import read_turn
from agents_ledger.model.rows import CompactionRow
from agents_ledger.model.texts import read_json
from agents_ledger.store import Tx


def summarized(tx: Tx, head: str | None, row: CompactionRow) -> int | None:
    """The number of turns that a captured compaction summarises; None where these are in no source."""
    if head is not None:
        return check(tx, head, row)
    if row.summarized_through_turn_id is not None or row.first_kept_turn_id is not None or row.kept_json is not None:
        raise BadInput("a compaction at the beginning of a history can't name turns before it")
    return None


def summarized_depth(tx: Tx, row: CompactionRow | None) -> int:
    """The depth of the last turn that a compaction summarised; 0 without one, or where that turn is in no source."""
    if row is None or row.summarized_through_turn_id is None:
        return 0
    return read_turn(tx, row.summarized_through_turn_id).depth


def check(tx: Tx, head: str | None, row: CompactionRow) -> int:
    """Refuses a compaction that does not fit its thread; gives how many turns it summarises."""
    last, first = row.summarized_through_turn_id, row.first_kept_turn_id
    if head is None or last is None:
        raise NotAllowed("there are no turns yet: nothing to compact")
    through = _on_path(tx, head, last, "summarised through")
    if first is not None and _on_path(tx, head, first, "first kept") < through + (row.first_kept_message_id is None):
        raise BadInput(f"the first kept turn {first} must come after {last}")
    for kept in kept_ids(row) or ():
        _on_path(tx, head, kept, "kept")
    if row.first_kept_message_id is not None:
        _check_message(tx, row.first_kept_message_id, first)
    done = summarized_depth(tx, newest(tx, head))
    if through < done:
        raise BadInput(f"turn {last} was summarised before: go on from a later one")
    return through - done


def refuse_live(tx: Tx, label: str, head: str | None) -> None:
    """A turn that is being written ends where it began: a compaction in between would leave it on a branch."""
    live = tx.first("live_after", label=label, head=head)
    if live is not None:
        raise TurnIsLive(f"turn {live[0]} of session {label!r} is being written: compact when it has ended")


def newest(tx: Tx, turn_id: str) -> CompactionRow | None:
    """The newest compaction on a turn's path (itself included)."""
    depth = read_turn(tx, turn_id).compaction_depth
    if not depth:
        return None
    at = threads.ancestor_at(tx, turn_id, depth)
    row = tx.first("compaction_of", turn_id=at)
    assert row is not None, "every compaction turn has its row"  # noqa: S101
    return CompactionRow(*row)


def kept_ids(row: CompactionRow) -> list[str] | None:
    """The kept turns that were picked one by one, if they were."""
    return None if row.kept_json is None else list(read_json(row.kept_json))


def _on_path(tx: Tx, head: str, turn_id: str, what: str) -> int:
    turn = read_turn(tx, turn_id)
    if not threads.is_ancestor(tx, turn_id, head):
        raise BadInput(f"the turn {turn_id} ({what}) is not in the thread of {head}")
    return turn.depth


def _check_message(tx: Tx, message_id: str, first_kept: str | None) -> None:
    row = tx.first("message_by_id", id=message_id)
    if row is None or row[1] != first_kept:
        raise BadInput(f"the first kept message {message_id} must belong to the first kept turn {first_kept}")
