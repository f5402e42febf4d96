"""A new session in an agent's folder: written beside its place, then put there whole; nothing is ever overwritten."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from errno import ENAMETOOLONG
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import BinaryIO

from msgspec import Struct

from agents_ledger.errors import BadInput, StoreFull, StoreUnreachable
from agents_ledger.ledger.written import head_digest, name_digest
from agents_ledger.store.files import publish, publish_folder, settle

_PIECE = 1 << 16  # bytes that are written at once, or more
_UNDER_WAY = 4  # pieces that wait for the disk


class Draft(Struct):
    """A file, or a folder of files, that is complete, but not in its place yet."""

    path: Path
    partial: Path
    head: bytes
    digest: bytes
    size_bytes: int

    def publish(self) -> None:
        """Puts it there."""
        if not (publish_folder if self.partial.is_dir() else publish)(self.partial, self.path):
            raise BadInput(f"{self.path} is there already, and stays as it is: fork once more for another id")


def drafted(path: Path, lines: Iterable[bytes]) -> AbstractContextManager[Draft]:
    """A new file with these lines, on disk for good before it is put in its place; gone if that does not happen."""
    return _drafted(path, lambda partial: _written(path, partial, lines))


def drafted_folder(path: Path, name: str, files: Iterable[tuple[str, bytes]]) -> AbstractContextManager[Draft]:
    """The same for a folder with these files; it is known again by a name, for all in it may change."""
    return _drafted(path, lambda partial: _filled(path, partial, name, files))


def root_of(folder: str) -> str:
    """The root of the git repository around a folder; the folder itself, if there is none."""
    start = Path(folder).resolve()
    return str(next((place for place in (start, *start.parents) if (place / ".git").exists()), start))


@contextmanager
def _drafted(path: Path, write: Callable[[Path], Draft]) -> Iterator[Draft]:
    partial = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = write(partial)
    except (PermissionError, NotADirectoryError, FileExistsError) as problem:
        raise StoreUnreachable(
            f"can't write {path} ({problem.strerror}): name a folder that you may write to, with --to"
        ) from None
    except OSError as problem:
        if problem.errno == ENAMETOOLONG:
            raise BadInput(f"the folder's name is too long for a file ({path.name}): name another with --to") from None
        raise StoreFull(f"can't write {path} ({problem.strerror}): free some space and try again") from None
    try:
        yield draft
    finally:
        _remove(partial)


def _remove(partial: Path) -> None:
    if partial.is_dir():
        rmtree(partial)
    else:
        partial.unlink(missing_ok=True)


def _written(path: Path, partial: Path, lines: Iterable[bytes]) -> Draft:
    number = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(number, "wb", buffering=_PIECE) as file:
            sink = _Sink(file)
            sink.take(lines)
            file.flush()
            os.fsync(number)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return Draft(path, partial, sink.head, sink.digest.digest(), sink.size_bytes)


def _filled(path: Path, partial: Path, name: str, files: Iterable[tuple[str, bytes]]) -> Draft:
    """All files first, then all of them onto the disk: one by one each would wait for it."""
    digest, size, places = sha256(), 0, {partial: None}
    try:
        partial.mkdir(mode=0o700)
        for file, data in files:
            place = partial / file
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.write_bytes(data)
            place.chmod(0o600)
            places |= dict.fromkeys((place, place.parent, place.parent.parent))
            size += len(data)
            digest.update(data)
        for place in places:
            settle(place)
    except BaseException:
        rmtree(partial, ignore_errors=True)
        raise
    return Draft(path, partial, name_digest(name), digest.digest(), size)


class _Sink:
    """A file that is written and hashed by another thread, while the next lines are made."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = sha256()
        self.head = b""
        self.size_bytes = 0

    def take(self, lines: Iterable[bytes]) -> None:
        """Writes lines, with ends, many at once."""
        with ThreadPoolExecutor(1) as pool:
            under_way: deque[Future[None]] = deque()
            for piece in _joined(lines):
                self.head = self.head or head_digest(piece)
                under_way.append(pool.submit(self._put, piece))
                if len(under_way) > _UNDER_WAY:
                    under_way.popleft().result()
            for each in under_way:
                each.result()

    def _put(self, piece: bytes) -> None:
        self.digest.update(piece)
        self._file.write(piece)
        self.size_bytes += len(piece)


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines with their ends, short ones together; long ones are not copied."""
    kept: list[bytes] = []
    size = 0
    for line in lines:
        if len(line) >= _PIECE or size >= _PIECE:
            yield from (b"".join(kept),) if kept else ()
            kept, size = [], 0
        if len(line) >= _PIECE:
            yield line
        else:
            kept.append(line)
            size += len(line)
        if not line.endswith(b"\n"):
            kept.append(b"\n")
    if kept:
        yield b"".join(kept)
