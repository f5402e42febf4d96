"""A clock, ids and salts that are the same in each run, so that equal faults leave equal files."""

import hashlib

from agents_ledger import Ledger
from agents_ledger.ledger.env import Env
from agents_ledger.model.ids import ulid
from tests.faults.places import Place

_BEGIN_MS = 1_795_000_000_000
_HOUR_MS = 3_600_000
BEFORE, LATER, NOW = range(3)  # when a ledger is opened: each time has its own ids


class Steady:
    """What a ledger takes from the world, counted from a seed."""

    def __init__(self, seed: int, when: int = 0) -> None:
        self._seed = f"{seed} {when}"
        self._begin = _BEGIN_MS + when * _HOUR_MS
        self._count = 0

    def env(self) -> Env:
        """As a ledger takes it."""
        return Env(now=self._now, new_id=self._new_id, salt=self.random)

    def random(self, length: int) -> bytes:
        """Bytes that look random."""
        self._count += 1
        return hashlib.shake_128(f"{self._seed} {self._count}".encode()).digest(length)

    def _now(self) -> int:
        self._count += 1
        return self._begin + self._count

    def _new_id(self, at: int | None) -> str:
        now = self._now()
        return ulid(now if at is None else at, self._count.to_bytes(4, "big") + self.random(6))


def open_ledger(place: Place, when: int = NOW) -> Ledger:
    """The ledger of a place, with such an environment."""
    return Ledger.open(place.url, env=Steady(place.seed, when).env())
