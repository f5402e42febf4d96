"""JSON out of records that nobody promised to be JSON: fast where it is, patient where it is not."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from agents_ledger.model.steps import Problem

T = TypeVar("T")
# An unterminated string matches up to the end of the text. If it did not match, the search would start again at each
# `\\"` inside it, and take quadratic time.
_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_DEPTH = 900  # what both readers can take
_decoder = msgspec.json.Decoder()


def values(record: bytes) -> Iterator[Any]:
    """The JSON values of a record (one, as a rule), and a `Problem` for whatever is wrong with it."""
    try:
        yield _decoder.decode(record)
    except RecursionError:
        yield Problem("deep-nesting", f"{len(record)} bytes")
    except (msgspec.DecodeError, ValueError):
        yield from _patient(record)


def objects(record: bytes) -> Iterator[dict[str, Any] | Problem]:
    """The JSON objects of a record; whatever else it holds is a `Problem`."""
    for value in values(record):
        if isinstance(value, dict | Problem):
            yield value
        else:
            yield Problem("not-an-object", type(value).__name__)


def typed(record: bytes, decoder: "msgspec.json.Decoder[T]") -> Iterator[T | Problem]:
    """The same, by a typed decoder; what does not fit the type is a `bad-field`."""
    try:
        yield decoder.decode(record)
    except msgspec.ValidationError as problem:
        yield Problem("bad-field", str(problem))
    except RecursionError:
        yield Problem("deep-nesting", f"{len(record)} bytes")
    except (msgspec.DecodeError, ValueError):
        for value in _patient(record):
            yield value if isinstance(value, Problem) else _converted(value, decoder.type)


def _converted(value: Any, kind: Any) -> Any:
    """A value that the standard library read, as the decoder's type."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as problem:
        return Problem("bad-field", str(problem)[:200])


def _patient(record: bytes) -> Iterator[Any]:
    """By the standard library: takes lone surrogates, NaN, broken UTF-8 and two values glued together."""
    try:
        text = record.decode()
    except UnicodeDecodeError as problem:
        yield Problem("broken-text", f"byte {problem.start}")
        text = record.decode("utf-8", "replace")
    text = text.strip("\ufeff \t\r\n\x00")
    if _nesting(text) > _DEPTH:
        yield Problem("deep-nesting", f"{len(record)} bytes")
        return
    count, at = 0, 0
    scan = json.JSONDecoder(strict=False, parse_int=_whole).raw_decode
    while at < len(text):
        try:
            value, at = scan(text, at)
        except (ValueError, RecursionError) as problem:
            yield Problem("broken-line", f"{str(problem)[:80]} (byte {at})" if count else str(problem)[:80])
            return
        if count == 1:
            yield Problem("glued-line", f"at character {at}")
        yield value
        count += 1
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1


def _nesting(text: str) -> int:
    """How deep brackets go, at the most; without those inside texts (colours of a terminal are full of them)."""
    if text.count("[") + text.count("{") <= _DEPTH:
        return 0
    deepest = depth = 0
    for character in _STRINGS.sub("", text):
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _whole(digits: str) -> int | float:
    """A whole number; one of more than 4,300 digits as a float (Python would refuse it)."""
    return int(digits) if len(digits) < 4000 else float(digits)  # noqa: PLR2004 - under Python's own limit
