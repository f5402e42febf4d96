"""sessions.json: which session each key leads to, and what is known about it. Read as JSON5, replaced as a whole."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents_ledger.capture.locks import locked
from agents_ledger.capture.whole_files import replace_whole
from agents_ledger.errors import BadInput
from agents_ledger.formats.pi.json5 import to_json

Json = dict[str, Any]
NAME = "sessions.json"


class Index:
    """The index of a folder of sessions. Fields that nobody here knows stay as they are."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, NAME)  # noqa: PTH118 - a text, as captures have it

    def read(self) -> dict[str, Json]:
        """All entries, by session key."""
        try:
            text = Path(self.path).read_text("utf-8", errors="surrogateescape")
        except FileNotFoundError:
            return {}
        found = _value(text, self.path)
        if not isinstance(found, dict):
            raise BadInput(f"{self.path} is not an object of entries: repair it, or move it away")
        return found

    @contextmanager
    def changing(self) -> Iterator[dict[str, Json]]:
        """All entries, to be changed in place while nobody else does; they are written when this ends well."""
        with locked(self.path):
            found = self.read()
            before = _text(found)
            yield found
            if (after := _text(found)) != before:
                replace_whole(self.path, after)


def _value(text: str, path: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        strict = to_json(text)
    try:
        return json.loads(strict or "")
    except (ValueError, RecursionError):
        raise BadInput(
            f"{path} is neither JSON nor JSON5, and would be lost if it were written: repair it, or move it away"
        ) from None


def _text(found: dict[str, Json]) -> bytes:
    """As the runtimes write it."""
    try:
        return json.dumps(found, indent=2, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, written as an escape: so it stays one
        return json.dumps(found, indent=2).encode("ascii")
