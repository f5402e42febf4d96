"""A model of a disk: what can be on it after the power is cut at a moment.

What was synced is there. Of what was written to a file since its last sync anything may be there or not: each sector
(or page) of the file holds one of the states that it had since then, and the file has one of its lengths. New names,
removed names and renames are certain only after a sync of their folder; until then each may be there or not.
"""

import os
import random
from collections.abc import Callable, Iterable
from hashlib import sha256

from msgspec import Struct

from tests.faults.operations import FOLDER, Ack, Kind, Operation, files_below

_NAMING = (Kind.CREATE, Kind.LINK, Kind.RENAME, Kind.UNLINK, Kind.MKDIR, Kind.RMDIR)


class Image(Struct):
    """The files that are there after a power cut."""

    files: dict[str, bytes]  # by path
    folders: list[str]
    how: str  # what became of unsynced operations

    def digest(self) -> bytes:
        """Equal for equal images."""
        found = sha256()
        for path in sorted(self.folders):
            found.update(path.encode() + b"/\0")
        for path, data in sorted(self.files.items()):
            found.update(b"%s\0%d\0" % (path.encode(), len(data)))
            found.update(data)
        return found.digest()

    def write(self, folder: str) -> None:
        """Puts the files into a folder."""
        for path in sorted(self.folders):
            os.makedirs(os.path.join(folder, path), exist_ok=True)
        for path, data in self.files.items():
            with open(os.path.join(folder, path), "wb") as file:
                file.write(data)


class File:
    """One file: what is certain, and what was done since."""

    def __init__(self, data: bytes = b"") -> None:
        self.durable = data
        self.pending: list[Operation] = []

    def sync(self) -> None:
        """From now on everything so far is certain."""
        if self.pending:
            self.durable = self.with_first(len(self.pending))
            self.pending.clear()

    def with_first(self, count: int) -> bytes:
        """The content after so many of the unsynced operations."""
        return self.with_these(set(range(count)))

    def with_these(self, kept: set[int]) -> bytes:
        """The content if only these of the unsynced operations took place."""
        if not kept:
            return self.durable
        data = bytearray(self.durable)
        for number, operation in enumerate(self.pending):
            if number in kept:
                _apply(data, operation)
        return bytes(data)

    def torn(self, sector: int) -> bytes:
        """The content with all unsynced operations, of the last one only the first sectors."""
        data = bytearray(self.with_first(len(self.pending) - 1))
        last = self.pending[-1]
        if last.kind == Kind.WRITE:
            half = (len(last.data) // 2 + last.offset) // sector * sector - last.offset
            _apply(data, Operation(last.kind, last.path, offset=last.offset, data=last.data[: max(half, 0)]))
        return bytes(data)

    def mixed(self, sector: int, rng: random.Random) -> bytes:
        """The content with each sector as it was at any moment since the last sync, and with any of its lengths."""
        limits: dict[int, int] = {}
        sizes, size = [len(self.durable)], len(self.durable)
        data = bytearray(self.durable)
        for number, operation in enumerate(self.pending):
            if operation.kind == Kind.TRUNCATE:
                size = operation.offset
            else:
                size = max(size, operation.offset + len(operation.data))
                self._write_where_it_reached(data, operation, number, sector, limits, rng)
            sizes.append(size)
        chosen = rng.choice(sizes)
        return bytes(data[:chosen].ljust(chosen, b"\0"))

    def _write_where_it_reached(
        self,
        data: bytearray,
        operation: Operation,
        number: int,
        sector: int,
        limits: dict[int, int],
        rng: random.Random,
    ) -> None:
        at, end = operation.offset, operation.offset + len(operation.data)
        while at < end:
            place, until = at // sector, min(end, (at // sector + 1) * sector)
            if place not in limits:
                limits[place] = rng.randint(-1, len(self.pending) - 1)
            if number <= limits[place]:
                part = operation.data[at - operation.offset : until - operation.offset]
                _apply(data, Operation(Kind.WRITE, "", offset=at, data=part))
            at = until


class Disk:
    """All files and folders, and the names that lead to them."""

    def __init__(self, folder: str) -> None:
        """What is in the folder now is certain; the files have the numbers that a `Watch` gives them."""
        self.files: dict[int, File] = {}
        self.acks: list[Ack] = []
        self._names: dict[str, int] = {}  # those that are certain
        self._pending: list[Operation] = []  # on names
        for place, folders, _ in os.walk(folder):
            self._names |= {os.path.relpath(os.path.join(place, name), folder): FOLDER for name in folders}
        for number, path in enumerate(files_below(folder)):
            with open(os.path.join(folder, path), "rb") as file:
                self.files[number] = File(file.read())
            self._names[path] = number

    def apply(self, operation: Operation) -> None:
        """One more operation."""
        if operation.kind == Kind.ACK:
            assert operation.ack is not None
            self.acks.append(operation.ack)
        elif operation.kind in (Kind.WRITE, Kind.TRUNCATE):
            self.files[operation.file].pending.append(operation)
        elif operation.kind == Kind.SYNC:
            self.files[operation.file].sync()
        elif operation.kind == Kind.SYNC_FOLDER:
            self._sync_folder(operation.path)
        elif operation.kind in _NAMING:
            if operation.kind == Kind.CREATE:
                self.files[operation.file] = File()
            self._pending.append(operation)

    def certain(self) -> Image:
        """What is there whatever happens."""
        return self._image("nothing unsynced", range(0), lambda file: file.durable)

    def image(self, rng: random.Random) -> Image:
        """Something that may be there after a power cut now."""
        sector, share = rng.choice((512, 4096)), rng.choice((0.1, 0.5, 0.9, 0.97))
        ways: list[tuple[str, Callable[[File], bytes]]] = [
            ("nothing unsynced", lambda file: file.durable),
            ("everything unsynced", lambda file: file.with_first(len(file.pending))),
            ("the first writes", lambda file: file.with_first(rng.randint(0, len(file.pending)))),
            ("the last write of each file alone", lambda file: file.with_these({len(file.pending) - 1})),
            ("all but one write", lambda file: file.with_these(_all_but_one(file, rng))),
            (f"{share:.0%} of the writes", lambda file: file.with_these(_some(file, share, rng))),
            (f"the last write torn at {sector}", lambda file: file.torn(sector)),
            (f"sectors of {sector} of any moment", lambda file: file.mixed(sector, rng)),
        ]
        how, content = rng.choice(ways)
        return self._image(how, self._random_names(rng), content)

    def _random_names(self, rng: random.Random) -> Iterable[int]:
        count = len(self._pending)
        match rng.randrange(4):
            case 0:
                return range(count)
            case 1:
                return range(0)
            case 2:
                return range(rng.randint(0, count))  # a file system that keeps their order
            case _:
                return [number for number in range(count) if rng.random() < 0.5]

    def _image(self, how: str, names: Iterable[int], content: Callable[[File], bytes]) -> Image:
        found = dict(self._names)
        for number in names:
            _rename(found, self._pending[number])
        folders = {path for path, number in found.items() if number == FOLDER}
        reachable = {path: number for path, number in found.items() if _is_reachable(path, folders)}
        contents = {
            number: content(self.files[number]) if self.files[number].pending else self.files[number].durable
            for number in set(reachable.values()) - {FOLDER}
        }
        files = {path: contents[number] for path, number in reachable.items() if number != FOLDER}
        return Image(files, [path for path, number in reachable.items() if number == FOLDER], how)

    def _sync_folder(self, folder: str) -> None:
        left: list[Operation] = []
        for operation in self._pending:
            if folder in (os.path.dirname(operation.path), os.path.dirname(operation.target or operation.path)):
                _rename(self._names, operation)
            else:
                left.append(operation)
        self._pending = left


def _rename(names: dict[str, int], done: Operation) -> None:
    """What an operation does to the names, if what it needs is there."""
    if done.kind == Kind.CREATE:
        names[done.path] = done.file
    elif done.kind == Kind.MKDIR:
        names[done.path] = FOLDER
    elif done.kind in (Kind.UNLINK, Kind.RMDIR):
        names.pop(done.path, None)
    elif done.kind == Kind.LINK:
        names[done.target] = done.file
    elif done.kind == Kind.RENAME:
        _move(names, done.path, done.target, done.file)


def _move(names: dict[str, int], old: str, new: str, number: int) -> None:
    """A file, or a folder with all that is in it."""
    names.pop(old, None)
    names[new] = number
    for path in [path for path in names if path.startswith(f"{old}{os.sep}")]:
        names[new + path[len(old) :]] = names.pop(path)


def _is_reachable(path: str, folders: set[str]) -> bool:
    parent = os.path.dirname(path)
    while parent:
        if parent not in folders:
            return False
        parent = os.path.dirname(parent)
    return True


def _apply(data: bytearray, operation: Operation) -> None:
    if operation.kind == Kind.TRUNCATE:
        del data[operation.offset :]
        data.extend(bytes(operation.offset - len(data)))
        return
    if operation.offset > len(data) and operation.data:
        data.extend(bytes(operation.offset - len(data)))
    data[operation.offset : operation.offset + len(operation.data)] = operation.data


def _some(file: File, share: float, rng: random.Random) -> set[int]:
    return {number for number in range(len(file.pending)) if rng.random() < share}


def _all_but_one(file: File, rng: random.Random) -> set[int]:
    return set(range(len(file.pending))) - {rng.randrange(len(file.pending))}
