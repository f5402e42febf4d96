"""Hostile records: real ones turned into something that no agent would write, without end and always the same."""

import json
import math
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from agents_ledger.model.formats import Format, Kind
from tests.formats.tricky import LARGE, TEXTS, VALUES

_HEAD = 65_536
_LONGEST = 12_000  # of a seed: long ones only cost time
_MOST = 1_500  # seeds of one format
_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, -0.0, math.nan, math.inf, -math.inf, 1e308, 1e20, 5e-324, 2**31, 2**53, 2**63,
    2**64, -(2**63), -(2**64), 10**30, 10**400, 1794768271009, 1794768271, -62135596800001, 253402300800000, "", " ",
    "x", "\x00", "a\x00b", "\ud800", "a\udfff", "\ud83d", "\u202e", "\ufeff", "null", "true", "[]", "{}", "0", "-1",
    "1794768271009", "NaN", "0000-00-00T00:00:00Z", "9999-12-31T23:59:60.999Z", "+275760-09-13T00:00:00.000Z",
    "0001-01-01T00:00:00+14:00", "2026-02-30T00:00:00Z", "2026-11-15T18:44:57.923Z", "../../../etc/passwd", "C:\\",
    "a" * 5_000, "💥" * 50, [], [[]], [None], [0], [""], [{}], [[[[[[[[]]]]]]]], ["a", 1, None, {}], {}, {"": None},
    {"type": "text"}, {"type": None}, {"type": "text", "text": 5}, {"type": ["text"]}, {"id": {}}, {"text": "t"},
    {"content": [{"type": "text"}]}, [{"type": "tool_use"}], [{"type": "text", "text": None}], {"role": "user"},
)  # fmt: skip


class Origin(Struct, frozen=True):
    """A real file that a format knows: where it lies, what it was taken for, and its records."""

    path: str
    kind: Kind
    names: tuple[str, ...]  # of its records, as a reader is told them
    records: tuple[bytes, ...]


def origins(form: Format, folders: Sequence[Path]) -> list[Origin]:
    """The files below the folders that are this format's."""
    found = []
    for file in sorted(file for folder in folders for file in folder.rglob("*") if file.is_file()):
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
        if kind := form.recognise(str(file), head):
            found.append(_origin(form, file, kind))
    return _merged(found)


def _merged(found: list[Origin]) -> list[Origin]:
    """Files of one bundle as one."""
    whole: dict[tuple[str, str], Origin] = {}
    for origin in found:
        if before := whole.get((origin.path, origin.kind.name)):
            names, records = before.names + origin.names, before.records + origin.records
            whole[origin.path, origin.kind.name] = Origin(origin.path, origin.kind, names, records)
        else:
            whole[origin.path, origin.kind.name] = origin
    return list(whole.values())


def _origin(form: Format, file: Path, kind: Kind) -> Origin:
    if kind.shape == "database":
        rows = _rows(form, file)
        return Origin(str(file), kind, tuple(name for name, _ in rows), tuple(record for _, record in rows))
    folder = form.bundle(str(file)) if kind.shape == "bundle" else None
    if folder:
        return Origin(folder, kind, (str(file)[len(folder) + 1 :],), (file.read_bytes(),))
    content = file.read_bytes()
    records = tuple(line for line in content.split(b"\n") if line.strip()) if kind.shape == "lines" else (content,)
    return Origin(str(file), kind, (file.name,), records)


def _rows(form: Format, file: Path) -> list[tuple[str, bytes]]:
    """The rows of a database that the format would take."""
    rows: list[tuple[str, bytes]] = []
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        tables = form.tables() if form.tables else None
        for table, (key, value) in (tables.columns if tables else {}).items():
            try:
                found = database.execute(f'SELECT "{key}", "{value}" FROM "{table}" LIMIT 500').fetchall()  # noqa: S608 - names of ours
            except sqlite3.Error:
                continue
            rows += [
                (f"{table}\n{name}", _bytes(content))
                for name, content in found
                if tables and tables.group(table, str(name)) is not None
            ]
    return rows


def _bytes(content: object) -> bytes:
    return content if isinstance(content, bytes) else str(content).encode("utf-8", "replace")


class Stream:
    """An endless stream of records for one format, made of its own seeds and a few of the others'."""

    def __init__(self, own: Sequence[bytes], others: Sequence[bytes], seed: str) -> None:
        self.random = random.Random(seed)  # noqa: S311 - the same records every time, not secrets
        self.own = self._sample(own)
        self.others = self._sample(others) or self.own
        self.values = [value for record in self.own if isinstance(value := _value(record), dict)] or [{}]
        self.types = sorted({kind for value in self.values for kind in _types(value, 4)}) or ["user"]
        self.makers: tuple[Callable[[], bytes], ...] = (
            *[self.swapped] * 10, *[self.retyped] * 3, *[self.crossed] * 2, *[self.cut] * 2, *[self.flipped] * 2,
            *[self.tricky] * 2, self.glued, self.doubled, self.foreign, self.real,
        )  # fmt: skip

    def __iter__(self) -> Iterator[bytes]:
        """The records: first all that are known to be tricky, then without end; a few very large ones among them."""
        yield from (*TEXTS, *VALUES, *LARGE)
        while True:
            for _ in range(400):
                yield self.random.choice(self.makers)()
            yield self.random.choice(LARGE)

    def _sample(self, records: Sequence[bytes]) -> list[bytes]:
        short = [record for record in records if len(record) <= _LONGEST]
        return short if len(short) <= _MOST else self.random.sample(short, _MOST)

    def near(self, record: bytes) -> bytes:
        """This very record, with something wrong in it."""
        value = _value(record)
        if isinstance(value, dict | list) and value:
            return self._text(self._swap(value))
        return self.flipped(record) if self.random.random() < 0.7 else self.cut(record)

    def real(self) -> bytes:
        """A real record, out of its place."""
        return self.random.choice(self.own) if self.own else b"{}"

    def foreign(self) -> bytes:
        """A real record of another agent."""
        return self.random.choice(self.others) if self.others else b"{}"

    def tricky(self) -> bytes:
        """A text that parsers trip over."""
        return self.random.choice(self.random.choice((TEXTS, VALUES)))

    def swapped(self) -> bytes:
        """One to three values of other types, or gone."""
        value: Any = self.random.choice(self.values)
        for _ in range(self.random.randint(1, 3)):
            value = self._swap(value)
        return self._text(value)

    def retyped(self) -> bytes:
        """The fields of one type of record under another type's name."""
        value = dict(self.random.choice(self.values))
        holder = value
        for key in list(value):
            if isinstance(value[key], dict) and self.random.random() < 0.5:
                holder = value[key] = dict(value[key])
        holder["type" if self.random.random() < 0.8 else self.random.choice(["role", "kind", "subtype"])] = (
            self.random.choice(self.types)
        )
        return self._text(self._swap(value) if self.random.random() < 0.5 else value)

    def crossed(self) -> bytes:
        """Some fields of one record in another."""
        one, other = dict(self.random.choice(self.values)), self.random.choice(self.values)
        for key in other:
            if self.random.random() < 0.5:
                one[key] = other[key]
        return self._text(one)

    def cut(self, record: bytes | None = None) -> bytes:
        """A record without its beginning, its end or its middle."""
        record = self.real() if record is None else record
        start, end = sorted(self.random.randint(0, len(record)) for _ in range(2))
        return self.random.choice((record[:start], record[start:], record[:start] + record[end:], record[start:end]))

    def flipped(self, record: bytes | None = None) -> bytes:
        """A record with some bytes changed."""
        changed = bytearray(self.real() if record is None else record)
        for _ in range(self.random.randint(1, 8)):
            if changed:
                changed[self.random.randrange(len(changed))] = self.random.choice(b'\x00\xff\x80{}[]",:0\\\n e-')
        return bytes(changed)

    def glued(self) -> bytes:
        """Two records in one."""
        between = self.random.choice((b"", b" ", b",", b"\r", b"\x00", b"\xef\xbb\xbf"))
        return between.join((self.real(), self.swapped())) + self.random.choice((b"", b"}", b'{"'))

    def doubled(self) -> bytes:
        """An object that has its keys twice, with other values."""
        one, other = self.swapped(), self.real()
        return one.rstrip()[:-1] + b"," + other.lstrip()[1:] if one[:1] == other[:1] == b"{" else self.glued()

    def _swap(self, value: Any) -> Any:
        """The value with one thing inside it replaced or taken away; nothing but the path to it is copied."""
        if not isinstance(value, dict | list) or not value or self.random.random() < 0.1:
            return self._odd()
        if isinstance(value, list):
            at = self.random.randrange(len(value))
            return [*value[:at], self._swap(value[at]), *value[at + 1 :]]
        key = self.random.choice(list(value))
        if self.random.random() < 0.15:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: self._swap(value[key])}

    def _odd(self) -> Any:
        return self.random.choice(_ODD) if self.random.random() < 0.9 else self.random.choice(self.values)

    def _text(self, value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=self.random.random() < 0.8).encode("utf-8", "surrogatepass")


class Case(Struct, frozen=True):
    """What one reader is given."""

    origin: Origin
    until: int | None
    records: tuple[tuple[str, bytes], ...]


def cases(mine: Sequence[Origin], stream: Stream, lines: int) -> Iterator[Case]:
    """Without end: for each kind of source in turn, records as such a source would have them."""
    kinds: dict[tuple[str, str], list[Origin]] = {}
    for origin in mine:
        kinds.setdefault((origin.kind.name, origin.kind.shape), []).append(origin)
    records, at = iter(stream), 0
    while True:
        for (_, shape), alike in kinds.items():
            for _ in range(20 if shape == "document" else 8 if shape in {"bundle", "database"} else 1):
                at += 1
                origin = alike[at % len(alike)]
                until = 3 if at % 5 == 0 else None
                if shape == "lines":
                    name = origin.names[0]
                    yield Case(origin, until, tuple((name, next(records)) for _ in range(lines)))
                else:
                    yield Case(origin, until, tuple(_spoilt(origin, stream, records)))


def _spoilt(origin: Origin, stream: Stream, records: Iterator[bytes]) -> Iterator[tuple[str, bytes]]:
    """The files or rows of a whole: some of them real, some nearly so, some not at all."""
    for name, record in list(zip(origin.names, origin.records, strict=True))[:100]:
        chance = stream.random.random()
        if len(record) > _LONGEST or chance < 0.3:
            yield name, next(records)
        elif chance < 0.6:
            yield name, stream.near(record)
        elif chance < 0.95:
            yield name, record


def _value(record: bytes) -> Any:
    try:
        return json.loads(record)
    except (ValueError, RecursionError):
        return None


def _types(value: Any, depth: int) -> Iterator[str]:
    """The words that records call themselves by."""
    if isinstance(value, dict) and depth:
        for key, item in value.items():
            if key in {"type", "role", "kind", "subtype", "customType"} and isinstance(item, str):
                yield item
            yield from _types(item, depth - 1)
    elif isinstance(value, list) and depth:
        for item in value[:20]:
            yield from _types(item, depth - 1)
