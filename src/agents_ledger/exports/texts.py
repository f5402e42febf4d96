"""JSON as text, also where a text holds half a character, which no encoder takes: as an escape."""

import json
from typing import Any

import msgspec


def compact(value: Any) -> str:
    """JSON on one line."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))


def pretty(value: Any) -> str:
    """JSON on many lines; a text as it is."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=2)
