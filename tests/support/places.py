"""Where tests put their files: in memory where there is enough of it; waiting for a disk took a third of their time."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - folders in it are made with `mkdtemp`
_ENOUGH = 4 << 30


@contextmanager
def new_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; what survives a crash is asked on a disk (tests/crash)."""
    is_enough = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH
    folder = Path(tempfile.mkdtemp(prefix="ldg-test-", dir=_MEMORY if is_enough else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
