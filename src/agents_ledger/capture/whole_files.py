"""Files of agents, written so that a crash leaves the old one or the new one, and never half a line in between."""

import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

MODE = 0o600  # conversations are nobody else's business


def replace_whole(path: str, data: bytes) -> None:
    """Puts a file in the place of another: it is complete on the disk before its name leads to it."""
    partial = f"{path}.{os.getpid()}.{uuid.uuid4()}.tmp"
    try:
        _written(partial, data, os.O_CREAT | os.O_EXCL)
        os.replace(partial, path)  # noqa: PTH105 - one call
    finally:
        with suppress(FileNotFoundError):
            os.unlink(partial)  # noqa: PTH108 - one call
    settle_folder(path)


def append_lines(path: str, lines: Sequence[bytes]) -> int:
    """Adds lines to a file, in one write; gives where they begin. Half a line that a killed writer left is ended."""
    is_new = not os.path.exists(path)  # noqa: PTH110 - one call
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), MODE)
    try:
        size = os.fstat(file).st_size
        data = b"".join(lines)
        if size and os.pread(file, 1, size - 1) != b"\n":
            data, size = b"\n" + data, size + 1
        _write(file, data)
        os.fsync(file)
    finally:
        os.close(file)
    if is_new:
        settle_folder(path)
    return size


def keep_aside(path: str, aside: str) -> None:
    """Gives a file a second name, under which it stays when its first one gets other content."""
    try:
        os.link(path, aside)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        _written(aside, Path(path).read_bytes(), os.O_CREAT | os.O_EXCL)
    settle_folder(aside)


def settle_folder(path: str) -> None:
    """Makes the names in a file's folder survive a power cut."""
    if os.name == "nt":
        return
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)  # noqa: PTH120 - one call
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _written(path: str, data: bytes, flags: int) -> None:
    file = os.open(path, os.O_WRONLY | flags | getattr(os, "O_BINARY", 0), MODE)
    try:
        _write(file, data)
        os.fsync(file)
    finally:
        os.close(file)


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
