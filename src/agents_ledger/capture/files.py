"""A file that is read once: what it was when it was opened is what is captured."""

import os
import stat
from collections.abc import Iterator
from typing import Self

from agents_ledger.ledger.evidence import BLOCK_BYTES


class SourceFile:
    """A regular file, opened once: what it was when it was opened is what is captured."""

    def __init__(self, path: str) -> None:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self._fd = os.open(path, flags)
        facts = os.fstat(self._fd)
        if not stat.S_ISREG(facts.st_mode):
            os.close(self._fd)
            raise OSError("not a regular file")
        self.size = facts.st_size
        self.modified_ns = facts.st_mtime_ns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def at(self, offset: int, length: int) -> bytes:
        """Some bytes of the file; fewer at its end."""
        os.lseek(self._fd, offset, os.SEEK_SET)
        found = os.read(self._fd, length)
        while len(found) < length and (more := os.read(self._fd, length - len(found))):
            found += more
        return found

    def blocks(self, first: int) -> Iterator[bytes]:
        """The file from a block on, block by block, up to the size it was opened with."""
        at = first * BLOCK_BYTES
        while at < self.size:
            block = self.at(at, min(BLOCK_BYTES, self.size - at))
            if not block:
                self.size = at  # cut while it was read
                return
            at += len(block)
            yield block
