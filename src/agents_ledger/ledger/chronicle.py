"""The chronicle of a thread: every turn on the way to one, with all that was said, in bounded memory."""

from collections.abc import Iterator

from agents_ledger.ledger import sessions, threads
from agents_ledger.ledger.records import complete_all, read_turn
from agents_ledger.ledger.story import Teller, details_of, home_of
from agents_ledger.model.chronicle import Chapter, Chronicle
from agents_ledger.model.rows import Record, TurnRow
from agents_ledger.model.story import Reveal
from agents_ledger.store import Tx

_BATCH = 20  # turns in memory


def chronicle(tx: Tx, turn_id: str, reveal: Reveal | None = None, session: str | None = None) -> Chronicle:
    """The thread of a turn, in the name of a session (its own home, if none is given)."""
    turn = read_turn(tx, turn_id)
    home = home_of(tx, turn) if session is None else sessions.require(tx, session)
    first = turn if turn.id == turn.root_id else read_turn(tx, turn.root_id)
    details = {} if home is None else details_of(tx, home.label)
    return Chronicle(
        turn_id=turn.id,
        root_id=turn.root_id,
        depth=turn.depth,
        started_at=first.started_at,
        ended_at=turn.completed_at or turn.started_at,
        chapters=_chapters(tx, turn, Teller(tx, reveal, is_whole=True)),
        label=None if home is None else home.label,
        origin=None if home is None else home.origin,
        origin_session_id=None if home is None else home.origin_session_id,
        title=details.get("title"),
        project=turn.workspace_path or details.get("project"),
        git_branch=details.get("git_branch"),
        model=turn.model,
        tokens=turn.thread_tokens,
    )


def _chapters(tx: Tx, turn: TurnRow, teller: Teller) -> Iterator[Chapter]:
    for start in range(1, turn.depth + 1, _BATCH):
        turns = list(threads.path(tx, turn.id, start, min(start + _BATCH - 1, turn.depth)))
        for record in complete_all(tx, turns):
            yield _chapter(record, teller)


def _chapter(record: Record, teller: Teller) -> Chapter:
    return Chapter(record.turn, tuple(teller.of_record(record)), record.compaction)
