"""What a program does to its files: each operation counted, recorded, and one of them failed on demand."""

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from errno import EIO, ENOSPC
from typing import Any, TypeVar

from msgspec import Struct

T = TypeVar("T")
FOLDER = -1  # in place of a file's number


class Kind(StrEnum):
    """What is done to a file or folder."""

    OPEN = "open"
    CREATE = "create"
    READ = "read"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    SYNC_FOLDER = "sync folder"
    LINK = "link"
    RENAME = "rename"
    UNLINK = "unlink"
    MKDIR = "mkdir"
    RMDIR = "rmdir"
    ACK = "acknowledgement"  # no I/O: the program was told that something is durable


_UNRECORDED = (Kind.OPEN, Kind.READ)
_TAKES_SPACE = (Kind.CREATE, Kind.WRITE, Kind.TRUNCATE, Kind.SYNC, Kind.SYNC_FOLDER, Kind.LINK, Kind.RENAME, Kind.MKDIR)


class Ack(Struct, frozen=True):
    """Something that the product has acknowledged: from now on it must survive."""

    kind: str  # "turn", "step", "head", "file", "backup", "done"
    key: str
    value: Any = None


class Operation(Struct, frozen=True):
    """One operation on a file or folder."""

    kind: Kind
    path: str
    file: int = FOLDER  # the file's number: it stays the same under another name
    offset: int = 0  # of a write; of a truncation the new size
    data: bytes = b""
    target: str = ""  # the new name, of a link or rename
    ack: Ack | None = None


class FaultKind(StrEnum):
    """How an operation fails."""

    EIO = "EIO"  # nothing is done
    ENOSPC = "ENOSPC"  # nothing is done
    SHORT = "short write"  # half of the bytes are written, then the disk is full
    DEATH = "death"  # the process ends before the operation; of a write, in the middle


class Fault(Struct, frozen=True):
    """The operation that fails, counted from 1, and how."""

    number: int
    kind: FaultKind


def faults_of(kind: Kind) -> list[FaultKind]:
    """The ways in which an operation of a kind can fail."""
    found = [FaultKind.EIO]
    if kind in _TAKES_SPACE:
        found.append(FaultKind.ENOSPC)
    if kind == Kind.WRITE:
        found.append(FaultKind.SHORT)
    if kind not in _UNRECORDED:
        found.append(FaultKind.DEATH)  # before a read it would be the same as before the next write
    return found


class Watch:
    """Everything that happens below some folders.

    `recorded` is the folder whose changes are recorded, with paths relative to it. Operations of several threads are
    done one at a time, so that the recorded order is the real one.
    """

    def __init__(self, folders: Iterable[str], recorded: str | None = None, fault: Fault | None = None) -> None:
        self.operations: list[Operation] = []
        self.kinds: list[Kind] = []  # of every operation, in order
        self.hit: Operation | None = None  # the one that failed
        self.is_paused = False  # what is done is not the product's
        self._folders = tuple(f"{folder}{os.sep}" for folder in folders)
        self._recorded = None if recorded is None else f"{recorded}{os.sep}"
        self._fault = fault
        self._lock = threading.RLock()
        self._numbers: dict[str, int] = {}
        self._next = 0
        if recorded is not None:
            for path in files_below(recorded):
                self.number(os.path.join(recorded, path), is_new=True)

    def covers(self, path: str) -> bool:
        """Whether a path is watched."""
        return f"{path}{os.sep}".startswith(self._folders)

    def number(self, path: str, *, is_new: bool = False) -> int:
        """The number of the file that has a name now."""
        if is_new or path not in self._numbers:
            self._numbers[path] = self._next
            self._next += 1
        return self._numbers[path]

    def run(self, operation: Operation, act: Callable[[], T], half: Callable[[], object] | None = None) -> T:
        """Does an operation, and records it; or fails it, if it is the one. `half` does a half of a write."""
        if self.is_paused:
            return act()
        with self._lock:
            self.kinds.append(operation.kind)
            if self._fault is not None and len(self.kinds) == self._fault.number:
                self.hit = operation
                self._fail(self._fault.kind, half)
            result = act()
            self._keep(operation)
            return result

    def acknowledge(self, ack: Ack) -> None:
        """Remembers that the program was told so at this moment."""
        with self._lock:
            self.operations.append(Operation(Kind.ACK, "", ack=ack))

    def _fail(self, kind: FaultKind, half: Callable[[], object] | None) -> None:
        if kind in (FaultKind.SHORT, FaultKind.DEATH) and half is not None:
            half()
        if kind == FaultKind.DEATH:
            os._exit(DIED)
        number = EIO if kind == FaultKind.EIO else ENOSPC
        raise OSError(number, os.strerror(number))

    def _keep(self, done: Operation) -> None:
        """Follows the names, and records what changes something in the recorded folder."""
        number = done.file
        if done.kind == Kind.RENAME:
            number = self._rename(done.path, done.target)
        elif done.kind == Kind.LINK:
            number = self._numbers[done.target] = self.number(done.path)
        elif done.kind == Kind.UNLINK:
            self._numbers.pop(done.path, None)
        if self._recorded is None or done.kind in _UNRECORDED or not f"{done.path}{os.sep}".startswith(self._recorded):
            return
        target = done.target.removeprefix(self._recorded)
        path = "" if f"{done.path}{os.sep}" == self._recorded else done.path.removeprefix(self._recorded)
        self.operations.append(Operation(done.kind, path, number, done.offset, done.data, target))

    def _rename(self, old: str, new: str) -> int:
        """Follows a file, or a folder with all that is in it."""
        inside = f"{old}{os.sep}"
        for path in [path for path in self._numbers if path.startswith(inside)]:
            self._numbers[new + path[len(old) :]] = self._numbers.pop(path)
        number = self._numbers.pop(old, FOLDER)
        if number != FOLDER:
            self._numbers[new] = number
        return number


DIED = 79  # the exit code of a process that a fault has ended


def files_below(folder: str) -> list[str]:
    """The relative paths of all files below a folder, in order."""
    found: list[str] = []
    for place, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(place, name), folder) for name in names]
    return sorted(found)


def remove_quietly(path: str) -> None:
    """Removes a file, if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)
