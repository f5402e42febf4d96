"""A new session in an agent's folder: written beside its place, then put there whole; nothing is ever overwritten."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from errno import ENAMETOOLONG
from hashlib import sha256
from io import FileIO
from pathlib import Path
from shutil import rmtree

from msgspec import Struct

from agents_ledger.errors import BadInput, StoreUnreachable
from agents_ledger.ledger.written import HEAD_BYTES, head_digest, name_digest
from agents_ledger.store.files import create_private, make_folders, publish, publish_folder, settle, write_error

_BUFFER_BYTES = 1 << 20
_WRITTEN_BYTES = 128 * 1024  # at a time: with 1 MB, every fork after the first few took 280 ms instead of 170 (48 MB)
_UNDER_WAY = 3  # buffers that wait to be written, while another one is filled
_SETTLED_BYTES = 8 << 20  # are brought onto the disk at a time


class Draft(Struct):
    """A file, or a folder of files, that is complete, but not in its place yet."""

    path: Path
    partial: Path
    head: bytes
    digest: bytes
    size_bytes: int

    def publish(self) -> None:
        """Puts it there."""
        try:
            is_there = (publish_folder if self.partial.is_dir() else publish)(self.partial, self.path)
        except OSError as problem:
            raise write_error(f"can't put {self.path} in its place for good", problem) from None
        if not is_there:
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
        make_folders(path.parent)
        draft = write(partial)
    except (PermissionError, NotADirectoryError, FileExistsError) as problem:
        raise StoreUnreachable(
            f"can't write {path} ({problem.strerror}): name a folder that you may write to, with --to"
        ) from None
    except OSError as problem:
        if problem.errno == ENAMETOOLONG:
            raise BadInput(f"the folder's name is too long for a file ({path.name}): name another with --to") from None
        raise write_error(f"can't write {path}", problem) from None
    try:
        yield draft
    finally:
        _remove(partial)


def _remove(partial: Path) -> None:
    """Takes away what was not put in its place; a disk that fails keeps it, under a name that nobody reads."""
    if partial.is_dir():
        rmtree(partial, ignore_errors=True)
    else:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _written(path: Path, partial: Path, lines: Iterable[bytes]) -> Draft:
    number = create_private(partial)
    try:
        with os.fdopen(number, "wb", buffering=0) as file:
            sink = _Sink(file)
            sink.take(lines)
            os.fsync(number)
    except BaseException:
        _remove(partial)
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
    """A file that is hashed, written and brought onto the disk by other threads, while the next lines are made.

    There are a few large buffers, used again and again: a thread that hands something over waits for the interpreter
    each time, which costs more than copying does.
    """

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._settling: Future[None] | None = None
        self._unsettled_bytes = 0
        self.digest = sha256()
        self.head = b""
        self.size_bytes = 0

    def take(self, lines: Iterable[bytes]) -> None:
        """Writes lines, with ends."""
        under_way: deque[Future[bytearray]] = deque()

        def spare() -> bytearray:
            return under_way.popleft().result() if len(under_way) >= _UNDER_WAY else bytearray(_BUFFER_BYTES)

        with ThreadPoolExecutor(1) as writer, ThreadPoolExecutor(1) as settler:
            for buffer, size in _buffered(lines, spare):
                self.head = self.head or head_digest(bytes(buffer[: min(size, HEAD_BYTES)]))
                under_way.append(writer.submit(self._put, buffer, size, settler))
            for each in under_way:
                each.result()
            if self._settling is not None:
                self._settling.result()

    def _put(self, buffer: bytearray, size: int, settler: ThreadPoolExecutor) -> bytearray:
        """Writes a buffer, which is free then."""
        with memoryview(buffer)[:size] as data:
            self.digest.update(data)
            written = 0
            while written < size:
                written += self._file.write(data[written : written + _WRITTEN_BYTES])
        self.size_bytes += size
        self._unsettled_bytes += size
        if self._unsettled_bytes >= _SETTLED_BYTES and (self._settling is None or self._settling.done()):
            self._settle(settler)
        return buffer

    def _settle(self, settler: ThreadPoolExecutor) -> None:
        """The disk is at work from the beginning: at the end there is little left to wait for."""
        if self._settling is not None:
            self._settling.result()  # (an error is told only once)
        self._settling = settler.submit(os.fsync, self._file.fileno())
        self._unsettled_bytes = 0


def _buffered(lines: Iterable[bytes], spare: Callable[[], bytearray]) -> Iterator[tuple[bytearray, int]]:
    """Buffers full of lines with their ends, each with how full it is."""
    buffer, at = spare(), 0
    for line in lines:
        for part in (line,) if line.endswith(b"\n") else (line, b"\n"):
            rest: bytes | memoryview = part
            while at + len(rest) >= _BUFFER_BYTES:
                room = _BUFFER_BYTES - at
                buffer[at:] = memoryview(rest)[:room]
                yield buffer, _BUFFER_BYTES
                buffer, at, rest = spare(), 0, memoryview(rest)[room:]
            buffer[at : at + len(rest)] = rest
            at += len(rest)
    if at:
        yield buffer, at
