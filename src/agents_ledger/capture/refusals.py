"""Sources that could not be captured: which ones, and that it is no longer so.

A file that is not kept because of what it is (`not-recognised`) is looked at again when it has changed, or when other
formats are asked than before. One that could not be read is tried every time.
"""

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


ASKED = "formats_asked"  # the fact that says which formats were asked about what no format recognises
AGAIN = 0  # in place of a time: to be looked at every time


class PutAsked(Struct, frozen=True):
    """Which formats have been asked about the files of a round."""

    formats: str

    def __call__(self, tx: "Batch") -> None:
        """Writes it, if it is another text than before."""
        if tx.beside.value("fact", name=ASKED) != self.formats:
            tx.beside.run("put_fact", name=ASKED, value=self.formats)


def refused(tx: Tx) -> dict[str, int]:
    """The files that could not be captured, each with when it was looked at; and the folders that were closed."""
    return {path: AGAIN if code == "unreadable" else seen_at for path, code, seen_at in tx.rows("refused_paths")}


def is_open(folder: str) -> bool:
    """Whether a folder can be looked into."""
    try:
        with os.scandir(folder):
            return True
    except (OSError, ValueError):
        return False
