"""Files that people ask for: exports. New, whole or not at all, and readable by their owner only."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from agents_ledger.errors import BadInput, StoreUnreachable
from agents_ledger.store.files import beside_place, create_private, put_plain, settle, write_error
from agents_ledger.store.sidecars import discard

T = TypeVar("T")
Put = Callable[[Path, Path], tuple[str, ...] | None]


def write_pieces(target: Path, pieces: Iterable[bytes]) -> int:
    """Write a new file in pieces; gives its size."""

    def fill(partial: Path) -> int:
        with partial.open("r+b") as file:
            return sum(map(file.write, pieces))

    return write_new(target, fill)


def write_new(target: Path, fill: Callable[[Path], T], put: Put = put_plain) -> T:
    """Fill a new file beside its place and move it there complete; never overwrites."""
    exists = f"{target} exists: an export never overwrites; name another file"
    if target.exists():
        raise BadInput(exists)
    partial = beside_place(target, "new")
    try:
        os.close(create_private(partial))
        made = fill(partial)
        settle(partial)
        if put(partial, target) is None:
            raise BadInput(exists)
    except (FileNotFoundError, PermissionError, NotADirectoryError) as problem:
        raise StoreUnreachable(
            f"can't write {target} ({problem.strerror}): name a file in a folder that you may write to"
        ) from None
    except OSError as problem:
        raise write_error(f"can't write {target}", problem) from None
    finally:
        discard(str(partial))
    return made
