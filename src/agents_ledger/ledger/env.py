"""What the ledger takes from the world: time, ids, randomness. Injected, so that a run can be repeated."""

import os
from collections.abc import Callable

from msgspec import Struct

from agents_ledger.model.ids import UlidSource
from agents_ledger.model.times import elapsed_ms, now_ms


class Env(Struct, frozen=True):
    """Clocks, ids and salts."""

    now: Callable[[], int] = now_ms
    new_id: Callable[[int | None], str] = UlidSource()
    salt: Callable[[int], bytes] = os.urandom
    elapsed: Callable[[], int] = elapsed_ms
