"""Records out of bytes: lines of a file that may be cut, packed or endless."""

from collections.abc import Iterable, Iterator

import msgspec

from agents_ledger.model import zstd
from agents_ledger.model.steps import Problem

LONGEST_LINE = 64 << 20
LARGEST_UNPACKED = 4 << 30
LARGEST_RATIO = 2000

Record = tuple[int, bytes]  # its first byte, and what it says


class Lines:
    """Splits bytes into lines. The last one waits for its end, unless it is whole."""

    def __init__(self, offset: int = 0) -> None:
        self._start = offset  # of the line that is not complete yet
        self._parts: list[bytes] = []
        self._size = 0
        self._is_skipping = False
        self.problems: list[tuple[Problem, int]] = []

    def feed(self, chunk: bytes) -> Iterator[Record]:
        """The lines that end in this chunk."""
        at = 0
        while (end := chunk.find(b"\n", at)) >= 0:
            piece = chunk[at:end]
            if self._is_skipping:
                self._is_skipping = False
                self._start += self._size + len(piece) + 1
            elif self._parts:
                self._parts.append(piece)
                line = b"".join(self._parts)
                start, self._start = self._start, self._start + len(line) + 1
                self._parts = []
                yield start, line
            else:
                start, self._start = self._start, self._start + len(piece) + 1
                yield start, piece
            self._size = 0
            at = end + 1
        rest = chunk[at:]
        if rest:
            self._keep(rest)

    def _keep(self, rest: bytes) -> None:
        self._size += len(rest)
        if self._is_skipping:
            return
        self._parts.append(rest)
        if self._size > LONGEST_LINE:
            self._parts = []
            self._is_skipping = True
            self.problems.append((Problem("long-line", f"more than {LONGEST_LINE >> 20} MiB"), self._start))

    def last(self) -> Record | None:
        """The line without an end, if it is a whole JSON object all the same."""
        line = b"".join(self._parts)
        if not line.rstrip().endswith(b"}"):
            return None
        try:
            msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, RecursionError, ValueError):
            return None
        self._parts = []
        start, self._start = self._start, self._start + len(line)
        return start, line

    @property
    def position(self) -> int:
        """The first byte that was not read as (part of) a line."""
        return self._start

    @property
    def is_cut(self) -> bool:
        """Whether something is left that is no whole line."""
        return bool(b"".join(self._parts).strip()) or self._is_skipping


def unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a zstd file, piece by piece, within limits."""
    unpacker = zstd.ZstdDecompressor()
    taken = given = 0
    for chunk in chunks:
        taken += len(chunk)
        data: bytes = chunk
        while data or not (unpacker.eof or unpacker.needs_input):
            if unpacker.eof:  # frames may follow each other
                unpacker = zstd.ZstdDecompressor()
            piece = unpacker.decompress(data, 1 << 20)
            data = unpacker.unused_data if unpacker.eof else b""
            given += len(piece)
            if given > LARGEST_UNPACKED or given > taken * LARGEST_RATIO + (1 << 20):
                raise OverflowError(f"unpacks to more than {given >> 20} MiB")
            if piece:
                yield piece
    if taken and not unpacker.eof:
        raise zstd.ZstdError("the archive ends too soon")
