"""The timeline: everything that happened, turn by turn; newest first, or as it comes in."""

from collections import Counter
from collections.abc import Iterator
from threading import Event

import msgspec
from msgspec import Struct

from agents_ledger.model.filters import EVERYTHING, Filters
from agents_ledger.model.ids import LAST
from agents_ledger.model.later import later
from agents_ledger.model.rules import RETRACTED
from agents_ledger.store import Database, Tx

_require_cursor = later("agents_ledger.ledger.records", "require_cursor")  # the first page needs nothing of it
_NEWEST = 50  # turns that may change while somebody looks: live ones, and those whose source goes on
_STAMP = 10  # characters of an id that are its time
_TIED = 1_000  # turns of one millisecond that are sorted for a page
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
    database: Database,
    filters: Filters = EVERYTHING,
    *,
    last: int = 0,
    until: Event | None = None,
    pause_s: float = 0.5,
) -> Iterator[Moment]:
    """The last turns, then those that are committed from now on, and again when they have changed; ends with an event.

    The last ones are of the moment from which on it follows: nothing can happen in between. It sleeps between looks,
    and looks only if somebody has committed. What is taken from an old source comes as well: in the order of commits,
    not of time.
    """
    pulse = database.pulse()
    known: dict[str, tuple[object, ...]] = {}
    with database.read() as tx:
        seq = int(tx.value("last_seq"))
        begun = _page(tx, filters, None, max(last, _NEWEST))[::-1]
    _news(begun, known)

    def news() -> Iterator[Moment]:
        nonlocal pulse, seq
        yield from begun[max(0, len(begun) - last) :]
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
    """Turns before one. Those of one millisecond have ids in any order: there, a turn comes before its parent."""
    found: list[Moment] = []
    if before is not None and _is_tied(tx, moment := _moment_of(before)):
        found, before = _tied(tx, filters, moment, behind=before), moment
    wanted = max(0, limit - len(found))
    older = _older(tx, filters, before, wanted)
    last = _moment_of(older[-1].id) if older and len(older) == wanted else ""  # more of it may follow
    whole = [each for each in older if _moment_of(each.id) != last]
    rest = _tied(tx, filters, last) if _is_tied(tx, last) else older[len(whole) :]
    return [*found, *_children_first(tx, whole), *rest][:limit]


def _older(tx: Tx, filters: Filters, before: str | None, limit: int) -> list[Moment]:
    """Turns by their ids alone."""
    bound = filters.bound()
    first = min(before or bound["f_until_id"], bound["f_until_id"])  # one bound: it is where the index is entered
    return [Moment(*row) for row in tx.rows("timeline_page", before=first, limit=limit, retracted=RETRACTED, **bound)]


def _moment_of(turn_id: str) -> str:
    """How the ids of all turns of the same millisecond begin; an id of another kind may stand alone."""
    first = turn_id[:_STAMP]
    return first if len(first) == _STAMP and turn_id < first + LAST else turn_id


def _is_tied(tx: Tx, moment: str) -> bool:
    """Whether several turns are of a moment; not if they are so many that each page would have to sort them all."""
    if len(moment) != _STAMP:
        return False
    return 1 < int(tx.value("tied_count", first=moment, last=moment + LAST, most=_TIED + 1)) <= _TIED


def _tied(tx: Tx, filters: Filters, moment: str, *, behind: str = "") -> list[Moment]:
    """The turns of a moment, children first; those behind one of them, or all."""
    given = {"first": moment, "last": moment + LAST, "behind": behind, "retracted": RETRACTED}
    return [Moment(*row) for row in tx.rows("tied_turns", **given, **filters.bound())]


def _children_first(tx: Tx, found: list[Moment]) -> list[Moment]:
    """The same turns; where some have the same time, those that are deeper in the tree first."""
    times = Counter(_moment_of(each.id) for each in found)
    tied = {time for time, count in times.items() if count > 1 and _is_tied(tx, time)}
    if not tied:
        return found
    ids = [each.id for each in found if _moment_of(each.id) in tied]
    depths: dict[str, int] = dict(tx.rows("depths_of", ids=msgspec.json.encode(ids).decode()))
    return sorted(found, key=lambda each: (_moment_of(each.id), depths.get(each.id, 0), each.id), reverse=True)


def _committed(tx: Tx, seq: int) -> tuple[int, str, bool]:
    """The next log entries: the last number, the turns that they are about, whether there are more."""
    rows = tx.rows("turns_of_log", after=seq, limit=_COMMITS)
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
