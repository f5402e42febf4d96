"""The timeline: everything that happened, turn by turn; newest first, or as it comes in."""

from collections.abc import Iterator
from threading import Event

import msgspec
from msgspec import Struct

from agents_ledger.model.filters import EVERYTHING, Filters
from agents_ledger.model.later import later
from agents_ledger.model.rules import RETRACTED
from agents_ledger.store import Database, Tx

_require_cursor = later("agents_ledger.ledger.records", "require_cursor")  # the first page needs nothing of it
_NEWEST = 50  # turns that may change while somebody looks: live ones, and those whose source goes on
_COMMITS = 500  # log entries that are looked at together
_REMEMBERED = 5000


class Moment(Struct, frozen=True):
    """A turn as it stands in the timeline, once, however many sessions share it."""

    id: str
    session_label: str | None  # its home; null for a branch that no session has written
    started_at: int
    completed_at: int | None
    status: str
    turn_type: str
    model: str | None
    total_tokens: int | None
    tool_call_count: int
    error: str | None
    origin: str | None
    is_subagent: int
    project: str | None
    title: str | None
    opening: str | None  # its first words

    @property
    def state(self) -> tuple[object, ...]:
        """What changes while a turn goes on."""
        return self.status, self.completed_at, self.tool_call_count, self.total_tokens


def page(
    database: Database, filters: Filters = EVERYTHING, *, before: str | None = None, limit: int = 50
) -> list[Moment]:
    """Turns, newest first; `before` is the id of the last one seen."""
    with database.read() as tx:
        if before is not None:
            _require_cursor(tx, before)
        return _page(tx, filters, before, limit)


def follow(
    database: Database, filters: Filters = EVERYTHING, *, until: Event | None = None, pause_s: float = 0.5
) -> Iterator[Moment]:
    """Turns as they are committed from now on, and again when they have changed; ends with an event.

    It sleeps between looks, and looks only if somebody has committed. What is taken from an old source comes as well:
    in the order of commits, not of time.
    """
    pulse = database.pulse()
    known: dict[str, tuple[object, ...]] = {}
    with database.read() as tx:
        seq = int(tx.value("last_seq"))
        _news(_page(tx, filters, None, _NEWEST), known)

    def news() -> Iterator[Moment]:
        nonlocal pulse, seq
        while not (until or Event()).wait(pause_s):
            if (beat := database.pulse()) == pulse:
                continue
            pulse, is_more = beat, True
            while is_more:
                with database.read() as tx:
                    seq, ids, is_more = _committed(tx, seq)
                    found = [
                        Moment(*row) for row in tx.rows("moments", ids=ids, retracted=RETRACTED, **filters.bound())
                    ]
                    found += [] if is_more else reversed(_page(tx, filters, None, _NEWEST))
                yield from _news(found, known)

    return news()


def _page(tx: Tx, filters: Filters, before: str | None, limit: int) -> list[Moment]:
    bound = filters.bound()
    first = min(before or bound["f_until_id"], bound["f_until_id"])  # one bound: it is where the index is entered
    return [Moment(*row) for row in tx.rows("timeline_page", before=first, limit=limit, retracted=RETRACTED, **bound)]


def _committed(tx: Tx, seq: int) -> tuple[int, str, bool]:
    """The next log entries: the last number, the turns that they are about, whether there are more."""
    rows = tx.rows("log_page", after=seq, limit=_COMMITS)
    live = [row[0] for row in tx.rows("all_leases")]  # they change without an entry
    ids = dict.fromkeys([row[1] for row in rows if row[1] is not None] + live)
    return (rows[-1][0] if rows else seq), msgspec.json.encode(list(ids)).decode(), len(rows) == _COMMITS


def _news(found: list[Moment], known: dict[str, tuple[object, ...]]) -> list[Moment]:
    """Those that were not known in this state; they are from now on."""
    news = [moment for moment in found if known.get(moment.id) != moment.state]
    fresh = list({moment.id: moment for moment in news}.values())
    for moment in fresh:
        known.pop(moment.id, None)
        known[moment.id] = moment.state
    for forgotten in list(known)[:-_REMEMBERED]:
        del known[forgotten]
    return fresh
