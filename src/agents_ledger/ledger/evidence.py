"""Evidence: the bytes of sources, kept in packed blocks, addressed by their content."""

from collections.abc import Iterable, Iterator
from hashlib import sha256

from msgspec import Struct

from agents_ledger.errors import NotFound, StoreCorrupt
from agents_ledger.model import zstd
from agents_ledger.store import Tx

BLOCK_BYTES = 512 * 1024
_LEVEL = 1  # a quarter of the size at 400 MB/s; level 3 costs two thirds more for a twentieth less


class Block(Struct, frozen=True):
    """Some bytes, packed."""

    digest: bytes
    size_bytes: int
    packed: bytes


class Capture(Struct):
    """A row of `captures`, without where its reading goes on."""

    id: int
    path: str
    format: str
    kind: str
    shape: str
    bundle: str | None
    generation: int
    state: str
    size_bytes: int
    digest: bytes
    modified_ns: int
    first_seen_at: int
    seen_at: int
    read_bytes: int
    can_resume: int = 0
    is_awaiting: int = 0


def pack(data: bytes) -> Block:
    """A block of bytes (at most BLOCK_BYTES of them)."""
    return Block(sha256(data).digest(), len(data), zstd.compress(data, _LEVEL))


def unpack(packed: bytes, size: int, digest: bytes) -> bytes:
    """The bytes of a block; damage is noticed."""
    data = zstd.decompress(packed)
    if len(data) != size or sha256(data).digest() != digest:
        raise StoreCorrupt("a block of evidence differs from what was captured: restore a backup")
    return data


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
            packed = tx.first("packed_block", id=block_id)
            if packed is None:
                raise StoreCorrupt(f"block {block_id} of capture {capture_id} is not there: restore a backup")
            yield unpack(*packed)


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
            raise StoreCorrupt(f"block {row[0]} differs from what was captured: restore a backup")
        found += data
    start = offset - first * BLOCK_BYTES
    return bytes(found[start : start + length])


def places(evidence: str | None) -> list[tuple[int, int, int]]:
    """The capture, first byte and length of each place that a row was read from."""
    found = []
    for place in (evidence or "").split():
        capture, _, span = place.partition(":")
        offset, _, length = span.partition("+")
        found.append((int(capture), int(offset), int(length)))
    return found
