"""Formats: the agents' files, one module or folder each, pure. Found by being here; others register an entry point."""

# ruff: noqa: PTH112, PTH123, PTH208 - a path object for each of many files is most of the time that this takes

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module

from agents_ledger.model.formats import Format

GROUP = "agents_ledger.formats"


@cache
def formats() -> tuple[Format, ...]:
    """Every format that is installed, ours first, by name."""
    return tuple(_installed())


@cache
def asked() -> str:
    """Which formats are asked whose a file is: another text when there are others, or another version of ours."""
    folders = [folder for folder in sys.path if os.path.isdir(folder)]
    own = [name for folder in folders for name in os.listdir(folder) if name.startswith("agents_ledger-")]
    return " ".join((*sorted(own)[-1:], *sorted(form.name for form in formats())))


def _installed() -> Iterator[Format]:
    for module in sorted(name.partition(".")[0] for name in os.listdir(__path__[0]) if not name.startswith("_")):
        yield import_module(f"{__name__}.{module}").FORMAT
    yield from _registered() if _is_any_registered() else ()


def _is_any_registered() -> bool:
    """Whether a package on the path names our group: `importlib.metadata` alone takes a sixth of an idle sync."""
    return any(GROUP.encode() in _entry_points(folder) for folder in sys.path)


def _entry_points(folder: str) -> bytes:
    """What the packages of a folder register, all together."""
    if not os.path.isdir(folder):
        return b""
    found: list[bytes] = []
    for name in os.listdir(folder):
        if name.endswith("-info"):
            with suppress(OSError), open(f"{folder}/{name}/entry_points.txt", "rb") as file:
                found.append(file.read())
    return b"\n".join(found)


def _registered() -> Iterator[Format]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - only if there is one

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        yield entry.load()
