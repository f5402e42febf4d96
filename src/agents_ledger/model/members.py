"""The members of JSON objects in the first bytes of a file, whatever their order: what formats are recognised by.

Only the object's own keys count, never those of objects inside it. A value that goes on behind the bytes is cut there.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

MARKS = b"\xef\xbb\xbf \t\r\n\0"  # what may stand before JSON: a byte order mark, white space, a torn write
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKET_OR_QUOTE = re.compile(rb'["{}\[\]]')
_TOKEN = re.compile(rb'["{}\[\],]')
_COLON = re.compile(rb"[ \t\r\n]*+:[ \t\r\n]*+")
_SPACE = b" \t\r\n"
_LINES = 24
_MOST_KEYS = 200  # of one object
_OUTLINE_ITEMS, _OUTLINE_DEPTH, _OUTLINE_TEXT = 3, 4, 400
_LONG_TEXT = 4096  # bytes
_MOST_PARTS = 2_000_000  # of a value that is decoded
_PIECE = 1 << 20
_decode = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_BROKEN = (msgspec.DecodeError, ValueError, RecursionError)


class Members(Struct, frozen=True):
    """An object's keys with their values as JSON text."""

    values: dict[str, bytes]
    is_cut: bool = False  # the object goes on behind what was read

    def has(self, *keys: str) -> bool:
        """Whether all of these keys are there."""
        return all(key in self.values for key in keys)

    def text(self, key: str) -> str | None:
        """A value that is a text; None for anything else and for a text that was cut."""
        value = self.values.get(key, b"")
        if not value.startswith(b'"'):
            return None
        try:
            found = _decode_any(value)
        except _BROKEN:
            return value[1:-1].decode("utf-8", "replace") if _STRING.fullmatch(value) else None
        return found if isinstance(found, str) else None

    def is_text(self, key: str) -> bool:
        """Whether a value is a text, possibly a cut one."""
        return self.values.get(key, b"").startswith(b'"')

    def is_object(self, key: str) -> bool:
        """Whether a value is an object, possibly a cut one."""
        return self.values.get(key, b"").startswith(b"{")

    def is_list(self, key: str) -> bool:
        """Whether a value is a list, possibly a cut one."""
        return self.values.get(key, b"").startswith(b"[")

    def is_number(self, key: str) -> bool:
        """Whether a value is a number."""
        return self.values.get(key, b"")[:1].isdigit()

    def inside(self, key: str) -> "Members":
        """The members of a value that is an object; none for any other."""
        return members(self.values[key]) or NONE if self.is_object(key) else NONE

    def first(self, key: str) -> "Members":
        """The members of the first item of a value that is a list; none, if that is no object."""
        return members(self.values[key][1:]) or NONE if self.is_list(key) else NONE


NONE = Members({})


def members(data: bytes) -> Members | None:
    """The members of the object that some bytes begin with, printed in one line or many; None if it is none."""
    data = data.lstrip(MARKS)
    if not data.startswith(b"{"):
        return None
    line, end, _ = data.partition(b"\n")
    for text in (line, data) if end else (data,):
        try:
            return Members({key: bytes(value) for key, value in _decode(text).items()})
        except _BROKEN:
            continue
    return _scanned(data)


def only_object(head: bytes) -> Members:
    """The members of a file that is a single object and no longer than its first bytes; none for any other."""
    try:
        return Members({key: bytes(value) for key, value in _decode(head.strip(MARKS)).items()})
    except _BROKEN:
        return NONE


@lru_cache(maxsize=2)
def document(head: bytes) -> Members:
    """The members of the first object of a file, or of the first item of its list; none, if it is no such file."""
    start = head.lstrip(MARKS)
    return members(start.lstrip(b"[" + _SPACE) if start.startswith(b"[") else start) or NONE


@lru_cache(maxsize=2)
def lines(head: bytes, count: int = _LINES) -> tuple[Members, ...]:
    """The objects in the first lines of a file; lines that are no objects are left out."""
    return tuple(_lines(head, count))


def _lines(head: bytes, count: int) -> Iterator[Members]:
    found = head.split(b"\n", count)
    for number, line in enumerate(found[:count]):
        text = line.strip(MARKS)
        if not text.startswith(b"{"):
            continue
        try:
            yield Members({key: bytes(value) for key, value in _decode(text).items()})
        except _BROKEN:
            known = _scanned(text)
            # half a surrogate pair or NaN does no harm; only the last line may be cut, any other one is broken
            if not known.is_cut or number == len(found) - 1:
                yield known


def _scanned(data: bytes) -> Members:
    """The members of an object that can't be decoded: it is cut, broken further down, or something follows it."""
    values: dict[str, bytes] = {}
    at = 1
    while len(values) < _MOST_KEYS:
        while data[at : at + 1] and data[at : at + 1] in _SPACE_OR_COMMA:
            at += 1
        key = _STRING.match(data, at)
        colon = key and _COLON.match(data, key.end())
        if key is None or colon is None:
            return Members(values, is_cut=data[at : at + 1] != b"}")
        end, is_whole = _end_of_value(data, colon.end())
        values[key[0][1:-1].decode("utf-8", "replace")] = data[colon.end() : end].rstrip(_SPACE)
        if not is_whole:
            return Members(values, is_cut=True)
        at = end
    return Members(values)


_SPACE_OR_COMMA = _SPACE + b","


def _end_of_value(data: bytes, at: int) -> tuple[int, bool]:
    """Where a value ends, and whether that end was found."""
    if data[at : at + 1] not in (b'"', b"{", b"["):
        found = _TOKEN.search(data, at)
        return (len(data), False) if found is None else (found.start(), True)
    depth = 0
    for _ in range(_MOST_PARTS):
        mark = _BRACKET_OR_QUOTE.search(data, at)
        if mark is None:
            return len(data), False
        if mark[0] == b'"':
            string = _STRING.match(data, mark.start())
            if string is None:
                return len(data), False
            at = string.end()
        else:
            depth += 1 if mark[0] in b"{[" else -1
            at = mark.end()
        if depth <= 0:
            return at, True
    return len(data), False


# --- values that are longer than the first bytes of a file


def is_open(head: bytes) -> bool:
    """Whether the first JSON value of a file goes on behind its first bytes."""
    start = head.lstrip(MARKS)
    if not start.startswith((b"{", b"[")):
        return False
    line, end, _ = start.partition(b"\n")
    if end and _is_json(line):
        return False
    return not _end_of_value(start, 0)[1]


def outline(data: bytes) -> bytes | None:
    """The first JSON value of a file with long texts and lists cut short; None if it can't be decoded.

    It has all keys of the object and of the first items inside it, in their order, on one line or many as the value is.
    """
    start = data.lstrip(MARKS)
    line, end, _ = start.partition(b"\n")
    if (found := _in_brief(line)) is not None:
        return msgspec.json.encode(found) + b"\n"
    found = _in_brief(start) if end else None
    return None if found is None else msgspec.json.format(msgspec.json.encode(found), indent=1)


def _in_brief(text: bytes) -> Any:
    try:
        return _shortened(memoryview(text), 0)
    except _BROKEN:
        found = _scanned(text) if text.startswith(b"{") else NONE
        is_whole = found.values and not found.is_cut
        return {key: _brief(value) for key, value in found.values.items()} if is_whole else None


def _brief(value: bytes) -> Any:
    """A value of an object that can't be decoded as a whole; what can't be decoded by itself is left empty."""
    try:
        return _shortened(memoryview(value), 1)
    except _BROKEN:
        return {b"{": {}, b"[": [], b'"': ""}.get(value[:1])


def _shortened(text: memoryview, depth: int) -> Any:
    """A value in brief; what has too many parts to be anybody's session is left empty (each takes memory)."""
    first = bytes(text[:64]).lstrip(_SPACE)[:1]
    if first == b"{":
        is_small = depth < _OUTLINE_DEPTH and _count(text, b":") <= _MOST_PARTS
        found = _decode(text) if is_small else {}
        return {key: _shortened(memoryview(found[key]), depth + 1) for key in list(found)[:_MOST_KEYS]}
    if first == b"[":
        is_small = depth < _OUTLINE_DEPTH and _count(text, b",") <= _MOST_PARTS
        items = _decode_list(text) if is_small else []
        return [_shortened(memoryview(item), depth + 1) for item in items[:_OUTLINE_ITEMS]]
    if len(text) > _LONG_TEXT:
        return bytes(text[1:_OUTLINE_TEXT]).decode("utf-8", "replace")
    try:
        value = _decode_any(text)
    except UnicodeDecodeError:
        return ""
    return value[:_OUTLINE_TEXT] if isinstance(value, str) else value


def _count(text: memoryview, mark: bytes) -> int:
    """How often a mark occurs at the most, also inside texts."""
    return sum(bytes(text[at : at + _PIECE]).count(mark) for at in range(0, len(text), _PIECE))


def _is_json(line: bytes) -> bool:
    try:
        _decode_any(line)
    except _BROKEN:
        return False
    return True
