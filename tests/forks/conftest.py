"""Ledgers of these tests lie in memory where that can be: waiting for the disk took four fifths of their time."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")  # noqa: S108 - folders in it are made with `mkdtemp`


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new folder for each test (what survives a crash is asked elsewhere, on a disk)."""
    if not _MEMORY.is_dir():
        yield tmp_path_factory.mktemp("capture")
        return
    folder = Path(tempfile.mkdtemp(prefix="ldg-test-", dir=_MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
