"""What a row or a file holds besides its text: pictures, also those that tools gave."""

import re

from agents_ledger.model.lines import values
from agents_ledger.model.loose import Json, mapping, text
from agents_ledger.model.story import Held, Image, Text

_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.+-]+)*;base64,")


def held(record: bytes) -> Held:
    """The pictures of a part: a row of the database (its columns stand before its data) or a file."""
    told = [value for value in values(record) if isinstance(value, dict)]
    part: Json = told[-1] if told else {}
    if part.get("type") == "file":
        return Held(images=tuple(_images([part])))
    if part.get("type") != "tool":
        return Held()
    state = mapping(part.get("state"))
    files, output, name = state.get("attachments"), text(state.get("output")), text(part.get("callID"))
    images = _images(files if isinstance(files, list) else [])
    if not images or name is None:
        return Held()
    return Held(results={name: (*([Text(output)] if output else []), *images)})


def _images(files: list[Json]) -> list[Image]:
    found = []
    for file in files:
        mime, url = text(mapping(file).get("mime")), text(mapping(file).get("url"))
        if mime is not None and mime.startswith("image/"):
            head = _DATA.match(url or "")
            found.append(Image(mime, url[head.end() :]) if head and url else Image(mime, None, url))
    return found
