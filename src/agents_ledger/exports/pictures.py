"""Pictures that may stand in a document or a request: of a known type, by what their bytes say."""

import base64
import binascii
import re

from msgspec import Struct

from agents_ledger.model.story import Image

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_HEAD = 64  # characters of base64 that show a type
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


class Picture(Struct, frozen=True):
    """A picture of a known type, as base64."""

    media_type: str
    data: str


def picture(image: Image) -> Picture | None:
    """What is known to be a picture, whatever it is called; None for everything else (SVG can act)."""
    if not image.data or len(image.data) % 4 or _BASE64.fullmatch(image.data) is None:
        return None
    try:
        head = base64.b64decode(image.data[:_HEAD])
    except binascii.Error:
        return None
    kind = next((kind for start, kind in _SIGNATURES if head.startswith(start)), None)
    if kind is None and head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        kind = "image/webp"
    return None if kind is None else Picture(kind, image.data)
