"""Evidence: the bytes of sources, kept in packed blocks, addressed by their content."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

from msgspec import Struct

from agents_ledger.errors import NotFound, StoreCorrupt
from agents_ledger.model import zstd
from agents_ledger.model.captures import PACKED
from agents_ledger.store import Tx

_UNPACKED = 4  # blocks at a time
BLOCK_BYTES = 512 * 1024
_PART_BYTES = 128 * 1024
_LEVEL = 1  # a quarter of the size at 400 MB/s; level 3 costs two thirds more for a twentieth less


class Block(Struct, frozen=True):
    """Some bytes, packed."""

    digest: bytes
    size_bytes: int
    packed: bytes


def pack(data: bytes) -> Block:
    """A block of bytes (at most BLOCK_BYTES of them)."""
    return Block(sha256(data).digest(), len(data), zstd.compress(data, _LEVEL))


def unpack(packed: bytes, size: int, digest: bytes) -> bytes:
    """The bytes of a block; damage is noticed."""
    data = zstd.decompress(packed)
    _check([data], size, digest)
    return data


def _check(parts: list[bytes], size: int, digest: bytes) -> None:
    whole = sha256()
    for part in parts:
        whole.update(part)
    if sum(map(len, parts)) != size or whole.digest() != digest:
        raise StoreCorrupt(
            "a block of evidence differs from what was captured: restore a backup (`ldg restore BACKUP`)"
        )


def digest_of_bytes(data: bytes) -> bytes:
    """The digest of a block."""
    return sha256(data).digest()


def digest_of(digests: Iterable[bytes]) -> bytes:
    """The digest of a capture: over those of its blocks."""
    whole = sha256()
    for digest in digests:
        whole.update(digest)
    return whole.digest()


def put_blocks(tx: Tx, capture_id: int, first: int, blocks: Iterable[Block]) -> None:
    """Keeps blocks of a capture, from a number on. One that was shorter is replaced by the longer one."""
    for idx, block in enumerate(blocks, first):
        known = tx.value("block_by_digest", digest=block.digest)
        number = known or tx.value("put_block", digest=block.digest, size_bytes=block.size_bytes, packed=block.packed)
        old = tx.first("block_at", capture_id=capture_id, idx=idx)
        tx.run("put_capture_block", capture_id=capture_id, idx=idx, block_id=number)
        if old is not None and old[0] != number:
            tx.run("drop_block", id=old[0])


def read(tx: Tx, capture_id: int, start: int = 0) -> Iterator[bytes]:
    """The bytes of a capture, block by block, from a block boundary on."""
    for idx, block_id, _digest, _size in tx.rows("blocks_of", capture_id=capture_id):
        if (idx + 1) * BLOCK_BYTES > start:
            yield unpack(*_packed(tx, capture_id, block_id))


def read_parts(tx: Tx, capture_id: int, checked: int) -> Iterator[tuple[int, bytes]]:
    """The same in smaller parts, each with how many blocks are known to be sound by then: at first `checked` of them.

    Parts are small because the memory of large ones goes back to the system each time: that costs more than unpacking.
    No other thread checks them: that gains a tenth on an idle machine, and costs as much on a busy one.
    """
    for number, (_idx, block_id, _digest, _size) in enumerate(tx.rows("blocks_of", capture_id=capture_id), 1):
        packed, size, digest = _packed(tx, capture_id, block_id)
        parts = list(_parts(packed))
        if number > checked:
            _check(parts, size, digest)
        yield from ((number, part) for part in parts)


def _parts(packed: bytes) -> Iterator[bytes]:
    """The bytes of a block, a few at a time."""
    decompressor = zstd.ZstdDecompressor()
    part = decompressor.decompress(packed, _PART_BYTES)
    while part:
        yield part
        part = b"" if decompressor.eof else decompressor.decompress(b"", _PART_BYTES)


def _packed(tx: Tx, capture_id: int, block_id: int) -> tuple[bytes, int, bytes]:
    packed = tx.first("packed_block", id=block_id)
    if packed is None:
        raise StoreCorrupt(
            f"block {block_id} of capture {capture_id} is not there: restore a backup (`ldg restore BACKUP`)"
        )
    return packed


def slice_of(tx: Tx, capture_id: int, offset: int, length: int) -> bytes:
    """Some bytes of a capture."""
    first = offset // BLOCK_BYTES
    last = (offset + length - 1) // BLOCK_BYTES if length else first - 1
    found = bytearray()
    for idx in range(first, last + 1):
        row = tx.first("block_at", capture_id=capture_id, idx=idx)
        if row is None:
            raise NotFound(f"capture {capture_id} has no byte {offset + len(found)}")
        digest = sha256(data := zstd.decompress(row[1])).digest()
        known = tx.value("block_by_digest", digest=digest)
        if known != row[0]:
            raise StoreCorrupt(
                f"block {row[0]} differs from what was captured: restore a backup (`ldg restore BACKUP`)"
            )
        found += data
    start = offset - first * BLOCK_BYTES
    return bytes(found[start : start + length])


class Slices:
    """Pieces of captures, one after the other: the blocks that were used last stay unpacked."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._blocks: dict[tuple[int, int], bytes] = {}

    def at(self, capture_id: int, offset: int, length: int) -> bytes:
        """Some bytes of a capture."""
        first = offset // BLOCK_BYTES
        last = (offset + length - 1) // BLOCK_BYTES if length else first - 1
        found = b"".join(self._block(capture_id, idx) for idx in range(first, last + 1))
        start = offset - first * BLOCK_BYTES
        return found[start : start + length]

    def is_packed(self, capture_id: int) -> bool:
        """Whether the source is packed itself: places in it are those of what is inside."""
        return self.of(capture_id)(0, len(PACKED)) == PACKED

    def of(self, capture_id: int) -> Callable[[int, int], bytes]:
        """The same for one capture, by offset and length; fewer bytes at its end."""
        size = int(self._tx.value("capture_size", id=capture_id) or 0)
        return lambda offset, length: self.at(capture_id, offset, max(0, min(length, size - offset)))

    def _block(self, capture_id: int, idx: int) -> bytes:
        kept = self._blocks.get((capture_id, idx))
        if kept is None:
            row = self._tx.first("block_number", capture_id=capture_id, idx=idx)
            if row is None:
                raise NotFound(f"capture {capture_id} has no block {idx}: restore a backup (`ldg restore BACKUP`)")
            if len(self._blocks) >= _UNPACKED:
                del self._blocks[next(iter(self._blocks))]
            kept = self._blocks[capture_id, idx] = unpack(*(self._tx.first("packed_block", id=row[0]) or ()))
        return kept


def places(evidence: str | None) -> list[tuple[int, int, int]]:
    """The capture, first byte and length of each place that a row was read from."""
    found = []
    for place in (evidence or "").split():
        capture, _, span = place.partition(":")
        offset, _, length = span.partition("+")
        found.append((int(capture), int(offset), int(length)))
    return found


def first_bytes(tx: Tx, capture_id: int, length: int) -> bytes:
    """The first bytes of a captured source."""
    found = bytearray()
    for block in read(tx, capture_id):
        found += block
        if len(found) >= length:
            break
    return bytes(found[:length])
