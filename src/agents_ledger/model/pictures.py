"""Pictures in words, where their bytes can't stand; such words are known again in what was written from here."""

import re

from agents_ledger.model.loose import Json
from agents_ledger.model.story import Image

_UNKNOWN = "of unknown type"
_PLACEHOLDER = re.compile(
    rf"\[image: ({_UNKNOWN}|[\w.+-]{{1,80}}/[\w.+-]{{1,80}})(?:, (\d[\d,]{{0,20}}) bytes)?\]", re.ASCII
)


def size_of(image: Image) -> int | None:
    """Its size in bytes, if that is known."""
    return len(image.data) * 3 // 4 if image.data else image.size_bytes


def described(image: Image) -> str:
    """A picture in words: its type and size."""
    size = size_of(image)
    facts = [image.media_type or _UNKNOWN, *([f"{size:,} bytes"] if size is not None else [])]
    return f"image: {', '.join(facts)}"


def placeholder(image: Image) -> str:
    """The text that a fork has in place of a picture that its agent could not show."""
    return f"[{described(image)}]"


def picture_of(text: str) -> Json | None:
    """The block of a picture that was left out, by its placeholder; None if a text is anything else."""
    found = _PLACEHOLDER.fullmatch(text)
    if found is None:
        return None
    size = {} if found[2] is None else {"size_bytes": int(found[2].replace(",", ""))}
    return {"type": "image", "media_type": None if found[1] == _UNKNOWN else found[1], **size, "left_out": True}
