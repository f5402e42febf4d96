"""Sources that could not be captured: which ones, and that it is no longer so."""

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from agents_ledger.store import Tx

if TYPE_CHECKING:  # what writes takes 10 ms to load, and a sync mostly finds nothing to write
    from agents_ledger.ledger.bulk import Batch


class Dismiss(Struct, frozen=True):
    """Why a source could not be captured, and is no longer so."""

    path: str

    def __call__(self, tx: "Batch") -> None:
        """Writes it."""
        tx.beside.run("drop_refusals", path=self.path)


def refused(tx: Tx) -> set[str]:
    """The files that could not be captured when they were looked at last, and the folders that were closed."""
    return {row[0] for row in tx.rows("refused_paths")}


def is_open(folder: str) -> bool:
    """Whether a folder can be looked into."""
    try:
        with os.scandir(folder):
            return True
    except (OSError, ValueError):
        return False
