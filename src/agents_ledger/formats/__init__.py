"""Formats: the agents' files, one module or folder each, pure. Found by being here; others register an entry point."""

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from agents_ledger.model.formats import Format

GROUP = "agents_ledger.formats"


def formats() -> Iterator[Format]:
    """Every format that is installed, ours first, by name."""
    for module in sorted(entry.name for entry in iter_modules(__path__)):
        yield import_module(f"{__name__}.{module}").FORMAT
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        yield entry.load()
