"""A transcript on the disk, as far as it was read: who follows whom, and where in the file each entry stands."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.capture.locks import locked
from agents_ledger.capture.whole_files import append_lines, replace_whole
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.formats.pi.entries import VERSION, line
from agents_ledger.formats.pi.fields import number, object_of, word
from agents_ledger.formats.pi.migrate import migrated

Json = dict[str, Any]


class Node(Struct, frozen=True):
    """An entry's place: in the tree, and in the file."""

    parent: str | None
    kind: str
    offset: int
    length: int


class Transcript:
    """A file of entries that several processes may add to. What is read is kept as places only, not as content."""

    def __init__(self, path: str, header: Json | None = None) -> None:
        self.path = path
        self.header: Json = header or {}
        self.nodes: dict[str, Node] = {}
        self.leaf: str | None = None
        self.inner: dict[str, str | None] = {}  # embedded sessions → their last entries
        self.waiting: list[Json] = []  # entries that wait for the first message before there is a file
        self._size = 0
        self._inode = 0

    @property
    def session_id(self) -> str:
        """The session's id."""
        return str(self.header.get("id", ""))

    @property
    def is_written(self) -> bool:
        """Whether there is a file."""
        return bool(self._size) or os.path.exists(self.path)  # noqa: PTH110 - one call

    def refresh(self) -> None:
        """Reads what others have added since."""
        try:
            facts = os.stat(self.path)  # noqa: PTH116 - one call
        except FileNotFoundError:
            if not self._size:
                return
            raise NotFound(f"{self.path} is not there any more: it was put aside, look for {self.path}.*") from None
        if facts.st_ino != self._inode or facts.st_size < self._size:
            self._forget()
        if facts.st_size == self._size:
            return
        with open(self.path, "rb") as file:  # noqa: PTH123 - one call
            self._inode = os.fstat(file.fileno()).st_ino
            file.seek(self._size)
            self._read(file.read())
        if not self.header:
            raise BadInput(f"{self.path} has no header: it is not a transcript of pi, and is left as it is")

    def append(self, entries: Sequence[Json]) -> None:
        """Adds entries at the end, in one write; the header goes before the first ones."""
        first = [] if self.is_written else [self.header, *self.waiting]
        lines = [line(entry) for entry in (*first, *entries)]
        start = append_lines(self.path, lines)
        self.waiting = []
        if first:
            self._inode = os.stat(self.path).st_ino  # noqa: PTH116 - one call
        self._size = start
        self._read(b"".join(lines))

    def wait(self, entry: Json) -> None:
        """Keeps an entry until there is a file."""
        self.waiting.append(entry)
        self._note(entry, -1, 0)

    def replace(self, lines: Iterable[bytes]) -> None:
        """Puts other lines in the place of all."""
        replace_whole(self.path, b"".join(each.rstrip(b"\n") + b"\n" for each in lines))
        self._forget()
        self.refresh()

    def lines(self) -> list[bytes]:
        """All lines of the file that say something."""
        return [each for each in Path(self.path).read_bytes().split(b"\n") if each.strip()]

    def modernise(self) -> bool:
        """Brings a file of an older version up to date, as pi does when it opens one; whether that was needed."""
        if (number(self.header.get("version")) or 1) >= VERSION:
            return False
        with locked(self.path):
            lines = migrated(self.lines())
            if lines is not None:
                self.replace(lines)
        return lines is not None

    def entries(self, names: Iterable[str]) -> Iterator[Json]:
        """Some entries, in the order in which they are asked for."""
        return (msgspec.json.decode(each) for each in self.raw(names))

    def raw(self, names: Iterable[str]) -> Iterator[bytes]:
        """The lines of some entries, byte for byte."""
        if not self.is_written:
            waiting = {entry["id"]: line(entry) for entry in self.waiting}
            yield from (waiting[name] for name in names)
            return
        with open(self.path, "rb") as file:  # noqa: PTH123 - one call
            for name in names:
                node = self.node(name)
                file.seek(node.offset)
                yield file.read(node.length)

    def node(self, name: str) -> Node:
        """The place of an entry."""
        try:
            return self.nodes[name]
        except KeyError:
            raise NotFound(f"{self.path} has no entry {name!r}") from None

    def parents(self) -> dict[str, str | None]:
        """Who follows whom."""
        return {name: node.parent for name, node in self.nodes.items()}

    def _forget(self) -> None:
        self.header, self.nodes, self.inner, self.leaf, self._size, self._inode = {}, {}, {}, None, 0, 0

    def _read(self, data: bytes) -> None:
        """Learns lines, from where it knows the file on; half a line is learned when its other half is there."""
        for each in _lines(data):
            entry = object_of(each)
            if entry is None and not each.endswith(b"\n"):
                return
            if entry is not None:
                self._note(entry, self._size, len(each))
            self._size += len(each)

    def _note(self, entry: Json, offset: int, length: int) -> None:
        name, session = word(entry.get("id")), word(entry.get("sessionId")) or self.session_id
        if entry.get("type") == "session":
            if not self.header:
                self.header = entry
            elif name is not None and name != self.session_id:
                self.inner.setdefault(name, None)
        elif name is not None:
            self.nodes[name] = Node(word(entry.get("parentId")), str(entry.get("type")), offset, length)
            if session in self.inner:
                self.inner[session] = name
            else:
                self.leaf = name


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends (a carriage return ends none)."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
