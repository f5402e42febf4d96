"""Formats: the agents' files, one module or folder each, pure. Found by being here; others register an entry point."""

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from agents_ledger.model.formats import Format

GROUP = "agents_ledger.formats"


@cache
def formats() -> tuple[Format, ...]:
    """Every format that is installed, ours first, by name."""
    return tuple(_installed())


def _installed() -> Iterator[Format]:
    for module in sorted(entry.name for entry in iter_modules(__path__)):
        yield import_module(f"{__name__}.{module}").FORMAT
    yield from _registered() if _is_any_registered() else ()


def _is_any_registered() -> bool:
    """Whether a package on the path names our group: `importlib.metadata` alone takes a sixth of an idle sync."""
    return any(GROUP.encode() in path.read_bytes() for folder in sys.path for path in _lists(Path(folder)))


def _lists(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        infos = (name for name in os.listdir(folder) if name.endswith("-info"))  # noqa: PTH208 - five times as fast
        yield from (path for name in infos if (path := folder / name / "entry_points.txt").is_file())


def _registered() -> Iterator[Format]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - only if there is one

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        yield entry.load()
