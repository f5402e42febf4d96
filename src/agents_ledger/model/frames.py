"""Rows of other programs' databases as bytes of evidence: each in a frame, so that they can be told apart again."""

import struct
from collections.abc import Iterable, Iterator

import msgspec

from agents_ledger.model.formats import Row

_LENGTH = struct.Struct(">I")
_decode = msgspec.msgpack.Decoder(tuple[str, bytes, bytes]).decode


def framed(rows: Iterable[Row]) -> Iterator[bytes]:
    """Rows as bytes that can be told apart again."""
    for row in rows:
        packed = msgspec.msgpack.encode((row.table, row.key.encode("utf-8", "surrogatepass"), row.value))
        yield _LENGTH.pack(len(packed)) + packed


def unframed(chunks: Iterable[bytes]) -> Iterator[tuple[int, int, Row]]:
    """Rows out of such bytes, each with its first byte and length."""
    rest = bytearray()
    at = 0
    for chunk in chunks:
        rest += chunk
        while len(rest) >= _LENGTH.size:
            size = _LENGTH.unpack_from(rest)[0] + _LENGTH.size
            if len(rest) < size:
                break
            table, key, value = _decode(bytes(rest[_LENGTH.size : size]))
            yield at, size, Row(table, key.decode("utf-8", "surrogatepass"), value)
            del rest[:size]
            at += size


def value_in(frame: bytes) -> bytes:
    """The value of the row in one frame."""
    return _decode(frame[_LENGTH.size :])[2]
