"""The protobuf of Cursor's index nodes, as far as one can read it without its `.proto`: fields, lengths, references."""

import base64
import binascii
from collections.abc import Iterator

_REFERENCE_BYTES = 32  # a SHA-256
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field, until the data ends or stops being protobuf."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if at < 0 or not number:
            return
        if kind == _VARINT:
            value, at = _varint(data, at)
            if at < 0:
                return
            yield number, value
            continue
        size, at = (8 if kind == _FIXED64 else 4, at) if kind in (_FIXED64, _FIXED32) else _varint(data, at)
        if at < 0 or kind not in (_FIXED64, _BYTES, _FIXED32) or at + size > len(data):
            return
        if kind == _BYTES:
            yield number, data[at : at + size]
        at += size


def references(data: bytes) -> list[str]:
    """The messages that a root node lists (field 1), as hexadecimal hashes, in their order."""
    return [
        value.hex()
        for number, value in fields(data)
        if number == 1 and isinstance(value, bytes) and len(value) == _REFERENCE_BYTES
    ]


def state(value: object) -> bytes:
    """The root node inside a `conversationState` ("~" and base64); nothing if there is none."""
    if not isinstance(value, str):
        return b""
    try:
        return base64.b64decode(value.removeprefix("~"), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends; -1 if it does not."""
    value = 0
    for index in range(_LONGEST_VARINT):
        if at + index >= len(data):
            break
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # noqa: PLR2004 - the bit that says "more follows"
            return value, at + index + 1
    return 0, -1
