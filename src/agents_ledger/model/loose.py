"""Fields of JSON that nobody promised: as what they are meant to be, or nothing."""

from typing import Any

Json = dict[str, Any]
LARGEST = 2**53  # what JavaScript counts exactly


def mapping(value: Any) -> Json:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """The value if it is a text with something in it."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int | None:
    """The value if it is a number that counts something."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST else None
