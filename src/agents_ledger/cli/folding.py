"""Texts on the screen: how much of them is shown, and JSON as a person reads it."""

import json
import re
from typing import Any

from agents_ledger.cli.words import plural, size

_WIDTH = 400
_COLOURS = re.compile("\x1b\\[[0-9;:]*m")  # a program's colours say nothing; everything else is shown
_TEXTS = ("text", "input_text", "output_text")


def folded(text: str, lines: int | None, more: str = "--full shows them", width: int = _WIDTH) -> str:
    """The first lines of a text, and how many are missing; everything if `lines` is None."""
    if lines is None:
        return text
    all_lines = text.splitlines()
    shown = [line if len(line) <= width else f"{line[:width]}…" for line in all_lines[:lines]]
    if len(all_lines) > lines:
        shown.append(f"⋮ {plural(len(all_lines) - lines, 'more line')}, {more}")
    elif any(len(line) > width for line in all_lines):
        shown.append(f"⋮ {more.replace('them', 'it whole')}")
    return "\n".join(shown)


def readable(text: str) -> str:
    """JSON as a person reads it: a plain string as its text, `name: value` lines for an object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if value is None or value == {}:
        return ""
    if isinstance(value, dict) and not thing(value):
        return "\n".join(f"{name}: {_value(each)}" for name, each in value.items())
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return "\n".join(_block(each) for each in value)
    return value.strip("\n") if isinstance(value, str) else _value(value)


def uncoloured(text: str) -> str:
    """A program's output without its colours."""
    return _COLOURS.sub("", text)


def thing(facts: dict[str, Any]) -> str:
    """An image or a document by what is known of it: `image image/png, 34.2 KB`; nothing for anything else."""
    kind, size_bytes = facts.get("type"), facts.get("size_bytes")
    if not isinstance(kind, str) or not (isinstance(size_bytes, int) or kind == "image"):
        return ""
    known = [facts.get("media_type"), size(size_bytes) if isinstance(size_bytes, int) else None]
    known += [facts.get(name) for name in ("url", "path", "name", "file_id")]
    return " ".join([kind, ", ".join(str(each) for each in known if each)]).strip()


def _block(value: dict[str, Any]) -> str:
    """A block of a result: its text, what it is, or itself."""
    if value.get("type") in _TEXTS and isinstance(value.get("text"), str):
        return str(value["text"]).strip("\n")
    known = thing(value)
    return f"[{known}]" if known else _value(value)


def _value(value: object) -> str:
    if isinstance(value, dict) and (known := thing(value)):
        return f"[{known}]"
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"\n  {value.strip()}".replace("\n", "\n  ") if "\n" in value.strip() else value
