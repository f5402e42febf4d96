"""What a figure is: ours, what it is held against, the ratio, the target. And how things are timed."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import apsw

T = TypeVar("T")
_REFERENCE_MS = 70.0  # what `machine_factor` counts took in a calm moment on the 2-core machine it was written on


@dataclass(frozen=True)
class Row:
    """One line of the table. `ok` is None where there is no target."""

    figure: str
    name: str
    ours: str
    other: str
    ratio: float | None = None
    unit: str = "x"
    target: str = ""
    ok: bool | None = None

    @property
    def shown(self) -> str:
        """The ratio as people read it."""
        return "" if self.ratio is None else f"{self.ratio:.2f} {self.unit}".strip()

    @property
    def verdict(self) -> str:
        """ok, MISS, or nothing."""
        return {None: "", True: "ok", False: "MISS"}[self.ok]


@dataclass(frozen=True)
class Setup:
    """How a run is done: where the files go, and how much work there is."""

    folder: Path
    quick: bool
    until_end: ExitStack
    prepared: dict[str, Any] = field(default_factory=dict)

    def pick(self, full: int, quick: int) -> int:
        """A size, by the kind of run."""
        return quick if self.quick else full

    @contextmanager
    def place(self) -> Iterator[Path]:
        """An empty folder, gone afterwards."""
        with TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as name:
            yield Path(name)

    def once(self, name: str, make: Callable[[], AbstractContextManager[T]]) -> T:
        """Something costly, made when first asked for and kept until the end of the run."""
        if name not in self.prepared:
            self.prepared[name] = self.until_end.enter_context(make())
        made: T = self.prepared[name]
        return made


Figure = Callable[[Setup], Iterator[Row]]


def at_least(figure: str, name: str, ours: str, other: str, ratio: float, target: float) -> Row:
    """A row whose ratio has to reach a target."""
    return Row(figure, name, ours, other, ratio, target=f"≥ {target:g}", ok=ratio >= target)


def at_most(figure: str, name: str, ours: str, other: str, value: float, target: float, unit: str = "x") -> Row:
    """A row whose ratio (or value) must stay under a target."""
    return Row(figure, name, ours, other, value, unit, f"≤ {target:.3g}", value <= target)


def best(rounds: int, *works: Callable[[], float]) -> list[float]:
    """The smallest time of each work, all of them in every round, so that noise meets all alike."""
    found = [[work() for work in works] for _ in range(rounds)]
    return [min(column) for column in zip(*found, strict=True)]


def seconds(work: Callable[[], object]) -> float:
    """How long a work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def machine_factor() -> float:
    """How much slower this machine is now than the one that the absolute targets were set on; at least 1."""
    connection = apsw.Connection(":memory:")
    count = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 400000) SELECT sum(n) FROM c"
    took = min(seconds(lambda: connection.execute(count).fetchall()) for _ in range(5))
    connection.close()
    return max(1.0, took * 1000 / _REFERENCE_MS)


def per_second(value: float) -> str:
    """Turns a second."""
    return f"{value:,.0f} turns/s"


def ms(value_s: float) -> str:
    """Milliseconds, as precise as they matter."""
    return f"{value_s * 1000:,.0f} ms" if value_s >= 1 else f"{value_s * 1000:.3g} ms"


def disk_bytes(folder: Path) -> int:
    """Everything in a folder except SQLite's shared memory, which is no data."""
    return sum(file.stat().st_size for file in folder.iterdir() if not file.name.endswith("-shm"))
