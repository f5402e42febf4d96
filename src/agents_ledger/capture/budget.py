"""What reading one source database may cost: rows, bytes and steps in proportion to its size, and no long silence.

A database from elsewhere may be hostile: its pages can form a tree without end, its columns can be expressions that
take forever. SQLite reads all of that if nobody stops it.
"""

import time
from collections.abc import Callable

PATIENCE_S = 30.0  # without a row
TICK_STEPS = 50_000  # of SQLite's machine, between two looks at the budget: about a millisecond
_LEAST_BYTES = 16 << 20
_ROW_BYTES = 64  # what a row costs besides its values
_BYTES_PER_BYTE = 16  # rows may belong to several groups
_LEAST_STEPS = 50_000_000
_STEPS_PER_BYTE = 10
LONGEST_VALUE = 256 << 20
_SHORTEST_LIMIT = 1 << 20


class TooCostly(OSError):
    """A source that costs more to read than a sound one of its size can."""


class Budget:
    """Counts what reading a database costs; who spends more is stopped."""

    def __init__(self, used_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._bytes_left = self.most_bytes = _LEAST_BYTES + _BYTES_PER_BYTE * used_bytes
        self._ticks_left = (_LEAST_STEPS + _STEPS_PER_BYTE * used_bytes) // TICK_STEPS
        self.longest_value = max(_SHORTEST_LIMIT, min(used_bytes, LONGEST_VALUE))  # no value is longer than its file
        self._clock = clock
        self._rows = self._rows_seen = 0
        self._moved_at = clock()
        self._why = ""

    def spend(self, size_bytes: int) -> None:
        """Counts a row of a size."""
        self._rows += 1
        self._bytes_left -= size_bytes + _ROW_BYTES
        if self._bytes_left < 0:
            raise TooCostly(f"its rows take more than {self.most_bytes >> 20} MiB, which is too much for its size")

    def tick(self) -> bool:
        """SQLite asks after every TICK_STEPS steps; True stops it."""
        self._ticks_left -= 1
        if self._rows != self._rows_seen:
            self._rows_seen, self._moved_at = self._rows, self._clock()
        if self._ticks_left < 0:
            self._why = "it takes more steps to read than a database of its size should"
        elif self._clock() - self._moved_at > PATIENCE_S:
            self._why = f"no row for {PATIENCE_S:g} seconds"
        return bool(self._why)

    def stopped(self) -> TooCostly:
        """Why SQLite was stopped."""
        return TooCostly(self._why or "reading it was stopped")
