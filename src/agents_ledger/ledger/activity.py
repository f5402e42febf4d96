"""What agents did, counted: tools and how they fared, files and how often they were edited, the longest turns."""

from collections import Counter

import msgspec
from msgspec import Struct

from agents_ledger.ledger.timeline import Moment
from agents_ledger.model.effects import EDITS, plain_name, written_paths
from agents_ledger.model.filters import EVERYTHING, Filters
from agents_ledger.model.texts import read_json
from agents_ledger.store import Database

_PAGE = 500


class ToolLine(Struct, frozen=True):
    """A tool: how often it was called, how the calls ended, how long they took."""

    tool: str
    calls: int
    failed: int
    rejected: int  # or cancelled
    unfinished: int
    total_ms: int  # of those whose end is known
    timed: int
    longest_ms: int

    @property
    def failure_rate(self) -> float:
        """The part of the finished calls that failed."""
        finished = self.calls - self.rejected - self.unfinished
        return self.failed / finished if finished else 0.0

    @property
    def mean_ms(self) -> float | None:
        """How long a call takes."""
        return self.total_ms / self.timed if self.timed else None


class FileLine(Struct, frozen=True):
    """A file, and how often calls have written it."""

    path: str
    edits: int


def tools(database: Database, filters: Filters = EVERYTHING) -> list[ToolLine]:
    """Every tool that was called, the most used first."""
    with database.read() as tx:
        return [ToolLine(*row) for row in tx.rows("tool_lines", **filters.bound())]


def files(database: Database, filters: Filters = EVERYTHING, *, limit: int = 50) -> list[FileLine]:
    """The files that were edited most, by the calls of editing tools and by what messages say they have written."""
    counts: Counter[str] = Counter()
    bound = filters.bound()
    with database.read() as tx:
        names = [row[0] for row in tx.rows("tool_names") if plain_name(row[0]) in EDITS]
        wanted = msgspec.json.encode(names).decode()
        for path, count in tx.rows("files_written", tools=wanted, **bound):
            counts[path] += count
        copies = {row[0] for row in tx.rows("copied_calls")} if names else set()
    if not names:
        return _most(counts, limit)
    place = ("", -1)
    while True:
        turn_id, sequence = place
        first = max(turn_id, bound["f_since_id"])
        with database.read() as tx:
            rows = tx.rows("edits", first=first, turn_id=turn_id, sequence=sequence, tools=wanted, limit=_PAGE, **bound)
        for _, _, call_id, tool, params, workspace in rows:
            if call_id not in copies:
                counts.update(written_paths(tool, read_json(params), workspace))
        if len(rows) < _PAGE:
            return _most(counts, limit)
        place = rows[-1][:2]


def longest(database: Database, filters: Filters = EVERYTHING, *, limit: int = 20) -> list[Moment]:
    """The turns that took longest."""
    with database.read() as tx:
        return [Moment(*row) for row in tx.rows("longest_turns", limit=limit, **filters.bound())]


def _most(counts: Counter[str], limit: int) -> list[FileLine]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [FileLine(path, edits) for path, edits in ordered[:limit]]
