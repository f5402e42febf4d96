"""Values out of JSON objects whose fields may hold anything."""

from collections.abc import Iterator
from typing import Any

from agents_ledger.model.steps import Problem

Item = dict[str, Any]
_LARGEST = 2**63 - 1
_LONGEST = 400


def text(item: Item, key: str) -> str | None:
    """A string that is not empty."""
    value = item.get(key)
    return value if isinstance(value, str) and value else None


def label(item: Item, key: str) -> str | None:
    """An id or a name: a string on one line that can be kept in the reader's state."""
    value = text(item, key)
    return value if value and len(value) <= _LONGEST and value.isprintable() else None


def table(item: Item, key: str) -> Item:
    """An object; an empty one for whatever else is there."""
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def rows(item: Item, key: str) -> list[Any]:
    """A list; an empty one for whatever else is there."""
    value = item.get(key)
    return value if isinstance(value, list) else []


def count(item: Item, key: str) -> int | None:
    """A number of things: whole, not negative, not larger than a database takes."""
    value = item.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return value
    return None


def wrong(item: Item, what: str, **types: type | tuple[type, ...]) -> Iterator[Problem]:
    """A problem for each field that is there and of another type."""
    for key, expected in types.items():
        value = item.get(key)
        if value is not None and not isinstance(value, expected):
            yield Problem("bad-field", f"{what[:60]}: {key} is {type(value).__name__}")
