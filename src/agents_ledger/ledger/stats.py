"""Statistics of tokens and money: by time, model, project, origin, session; every call to a model once."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, tzinfo
from operator import add
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec import Struct

from agents_ledger.errors import BadInput
from agents_ledger.ledger import usage
from agents_ledger.ledger.prices import prices_of
from agents_ledger.model.filters import EVERYTHING, Filters
from agents_ledger.model.prices import SLOT_MS, ModelPrices, PriceTable
from agents_ledger.store import Database
from agents_ledger.store.database import Row

if TYPE_CHECKING:
    from os import PathLike

Dimension = Literal["day", "week", "month", "model", "provider", "project", "origin", "session", "channel", "persona"]
DIMENSIONS: tuple[str, ...] = get_args(Dimension)
TIMES = ("day", "week", "month")
_COLUMNS = {"model": 1, "provider": 2, "session": 4, "origin": 5, "project": 6, "channel": 7, "persona": 8}
_FIRST_SUM = 9
_ALONE = frozenset((*TIMES, "model", "provider", "session"))  # what is known without a look at sessions
_Rates = tuple[float, float, float, float]


class Sums(Struct, frozen=True):
    """Tokens, and what they cost. Input is without cache; reasoning is part of the output."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float | None = None  # of what has a known price; None: nothing of it has
    unpriced_tokens: int = 0  # of models without a known price: the cost is without them


class Line(Struct, frozen=True):
    """The sums of one group; its key has a value for each dimension, None where it is not known."""

    key: tuple[str | None, ...]
    sums: Sums


class Report(Struct, frozen=True):
    """What was used: a line for each group, the whole, and where the prices are from."""

    by: tuple[str, ...]
    lines: list[Line]
    total: Sums
    unpriced: dict[str, int]  # tokens of models without a known price
    prices: str | None  # the price table; None: there is none
    prices_newest: str | None


class _Sum:
    """A sum while it grows."""

    __slots__ = ("cost", "numbers", "unpriced")

    def __init__(self) -> None:
        self.numbers = [0] * 7
        self.cost: float | None = None
        self.unpriced = 0

    def add(self, numbers: list[int], rates: _Rates | None) -> None:
        """Some calls to one model at one price."""
        self.numbers = list(map(add, self.numbers, numbers))
        _, given, out, cached, written, _, total = numbers
        if rates is not None:
            cost = given * rates[0] + out * rates[1] + cached * rates[2] + written * rates[3]
            self.cost = cost if self.cost is None else self.cost + cost
        elif total:
            self.unpriced += total
        elif self.cost is None:
            self.cost = 0.0  # nothing costs nothing, whoever gave it

    def done(self) -> Sums:
        """As a value."""
        cost = None if self.cost is None else round(self.cost, 9)
        calls, given, out, cached, written, thought, total = self.numbers
        return Sums(calls, given, out, cached, written, thought, total, cost, self.unpriced)


def tokens(
    database: Database,
    filters: Filters = EVERYTHING,
    *,
    by: Sequence[str] = ("day",),
    zone: tzinfo | None = None,
    prices_kept_in: "PathLike[str] | str | None" = None,
) -> Report:
    """What was used, by one or several dimensions; days are the reader's own, or those of a zone.

    Times are counted in quarters of an hour: `since` and `until` take in those that they are in.
    """
    if wrong := [each for each in by if each not in DIMENSIONS]:
        raise BadInput(f"{wrong[0]!r} is nothing to count by: {', '.join(DIMENSIONS)} are")
    rows = _rows(database, filters, by)
    table = prices_of({(row[2], row[1]) for row in rows if row[1]}, prices_kept_in)
    groups, unpriced = _folded(rows, by, zone, table)
    lines = [Line(key, each.done()) for key, each in groups.items()]
    return Report(
        by=tuple(by),
        lines=sorted(lines, key=_order(by)),
        total=_whole(groups.values()),
        unpriced=dict(sorted(unpriced.items(), key=lambda pair: -pair[1])),
        prices=None if table is None else table.source,
        prices_newest=None if table is None else table.newest,
    )


class Fullness(Struct, frozen=True):
    """How full a model's context was at most in a session."""

    session: str | None
    model: str | None
    prompt_tokens: int  # of the largest prompt
    limit_tokens: int | None  # what the model takes; None: unknown

    @property
    def share(self) -> float | None:
        """The part of the limit that was used."""
        return self.prompt_tokens / self.limit_tokens if self.limit_tokens else None


def contexts(
    database: Database, filters: Filters = EVERYTHING, prices_kept_in: "PathLike[str] | str | None" = None
) -> list[Fullness]:
    """The largest prompts of each session and model against what the model takes, the fullest first."""
    largest: dict[tuple[str | None, str | None, str], int] = {}
    for row in _rows(database, filters, ("session", "model")):
        key = (row[4], row[1], row[2])
        largest[key] = max(row[-1], largest.get(key, 0))
    table = prices_of({(provider, model) for _, model, provider in largest if model}, prices_kept_in)
    limits = {} if table is None else {pair: known.context_tokens for pair, known in table.models.items()}
    found = [
        Fullness(session, model, prompt, limits.get((provider, model or "")))
        for (session, model, provider), prompt in largest.items()
        if prompt
    ]
    return sorted(found, key=lambda line: (-(line.share or 0), -line.prompt_tokens, line.session or ""))


def _rows(database: Database, filters: Filters, by: Collection[str]) -> list[Row]:
    bound = filters.bound()
    is_alone = _ALONE.issuperset(by) and filters.about_sessions == EVERYTHING
    with database.read() as tx:
        return tx.rows(
            "usage_lines_alone" if is_alone else "usage_lines",
            after=usage.counted_through(tx),
            through=usage.EVERYTHING,
            **usage.NOTHING_ELSE,
            first_slot=bound["f_since"] // SLOT_MS,
            last_slot=-(-bound["f_until"] // SLOT_MS),
            **bound,
        )


def _folded(
    rows: list[Row], by: Sequence[str], zone: tzinfo | None, table: PriceTable | None
) -> tuple[dict[tuple[str | None, ...], _Sum], dict[str, int]]:
    """The sums of all groups, and the tokens of models without a price."""
    groups: dict[tuple[str | None, ...], _Sum] = {}
    unpriced: dict[str, int] = {}
    models = {} if table is None else table.models
    known: dict[tuple[str, str, int, int], _Rates | None] = {}
    for (key, model, provider, prompt_over, slot), numbers in _alike(rows, by, zone, models).items():
        price = (provider, model, prompt_over, slot)
        if price not in known:
            found = models.get((provider, model))
            known[price] = None if found is None else found.rates(slot, prompt_over)
        rates = known[price]
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Sum()
        group.add(numbers, rates)
        if rates is None and numbers[-1]:
            unpriced[model or "unknown"] = unpriced.get(model or "unknown", 0) + numbers[-1]
    return groups, unpriced


def _whole(groups: Collection[_Sum]) -> Sums:
    """The sum of all sums."""
    whole = _Sum()
    whole.numbers = [sum(column) for column in zip(*(each.numbers for each in groups), strict=True)] or whole.numbers
    known = [each.cost for each in groups if each.cost is not None]
    whole.cost = sum(known) if known else None
    whole.unpriced = sum(each.unpriced for each in groups)
    return whole.done()


def _alike(
    rows: list[Row], by: Sequence[str], zone: tzinfo | None, models: dict[tuple[str, str], ModelPrices]
) -> dict[tuple[Any, ...], list[int]]:
    """Rows that belong to the same group and cost the same, together: there may be many rows, so this loop is plain."""
    varying = {pair for pair, found in models.items() if not found.is_constant}
    periods = {at: _Periods(each, zone) for at, each in enumerate(by) if each in TIMES}
    columns = [(periods.get(at), _COLUMNS.get(each, 0)) for at, each in enumerate(by)]
    alike: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        slot, model, provider, prompt_over = row[:4]
        key = tuple([row[column] if period is None else period[slot] for period, column in columns])
        whole = (key, model, provider, prompt_over, slot if (provider, model) in varying else 0)
        sums = alike.get(whole)
        if sums is None:
            alike[whole] = list(row[_FIRST_SUM:-1])
        else:
            calls, given, out, cached, written, thought, total = row[_FIRST_SUM:-1]
            sums[0] += calls
            sums[1] += given
            sums[2] += out
            sums[3] += cached
            sums[4] += written
            sums[5] += thought
            sums[6] += total
    return alike


class _Periods(dict[int, str | None]):
    """The day, week or month of each slot: `2026-11-15`, `2026-W46`, `2026-11`; computed once."""

    def __init__(self, name: str, zone: tzinfo | None) -> None:
        super().__init__()
        self._name = name
        self._zone = zone

    def __missing__(self, slot: int) -> str | None:
        self[slot] = found = self._period(slot)
        return found

    def _period(self, slot: int) -> str | None:
        try:
            moment = datetime.fromtimestamp(slot * SLOT_MS / 1000, self._zone)
        except (OverflowError, ValueError, OSError):
            return None
        if self._name == "week":
            year, week, _ = moment.isocalendar()
            return f"{year}-W{week:02}"
        day = moment.date().isoformat()
        return day if self._name == "day" else day[: len("2026-11")]


def _order(by: Sequence[str]) -> Callable[[Line], tuple[object, ...]]:
    """Times as they come; of the rest, the most first."""
    if by and by[0] in TIMES:
        return lambda line: (line.key[0] or "", -line.sums.total_tokens, [part or "" for part in line.key])
    return lambda line: (-line.sums.total_tokens, [part or "" for part in line.key])
