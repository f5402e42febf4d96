"""The rows of a group in a database: into evidence, and through a reader; those that were added, if that is all."""

from collections.abc import Iterable

from agents_ledger.capture.reading import Piece, Reading, events_of
from agents_ledger.capture.source import Taken, Taker
from agents_ledger.ledger import evidence
from agents_ledger.ledger.evidence import BLOCK_BYTES
from agents_ledger.model.captures import Capture
from agents_ledger.model.formats import Format


def keep(
    taker: Taker, path: str, form: Format, kind: str, blocks: list[bytes], known: Capture | None, now: int
) -> Taken | None:
    """Takes a group as it is now into evidence; None if it is the same."""
    digests = [evidence.digest_of_bytes(data) for data in blocks]
    digest, size = evidence.digest_of(digests), sum(len(data) for data in blocks)
    if known is not None and known.digest == digest:
        return None if known.read_bytes >= size else Taken(known)  # (somebody was stopped before it was read)
    if known is not None and form.tables is not None and form.tables().is_growing and _begins(taker, known, blocks):
        return _grown(taker, known, blocks, digest, size, now)
    if known is not None:
        taker.set_state(known.id, "replaced")
    capture = Capture(
        id=taker.writer.capture_id(),
        path=path,
        format=form.name,
        kind=kind,
        shape="database",
        bundle=path.partition("#")[0],
        generation=1 if known is None else known.generation + 1,
        state="current",
        size_bytes=size,
        digest=digest,
        modified_ns=0,
        first_seen_at=now,
        seen_at=now,
        read_bytes=0,
    )
    taker.put(capture)
    for idx, data in enumerate(blocks):
        taker.put_block(capture.id, idx, evidence.pack(data))
    return Taken(capture, is_new=known is None, was_rewritten=known is not None, read_bytes=size)


def read(reading: Reading, taken: Taken, form: Format, pieces: Iterable[Piece]) -> None:
    """Reads a group: all of its rows, or those that were added, if it is known how to go on."""
    capture = taken.capture
    resume = reading.resume(capture, form) if taken.has_grown else None
    if resume is None:
        reading.whole(capture, form, pieces)
        return
    reader, state = resume
    projection = reading.projection(capture, form, is_again=False)
    projection.kin = state.kin
    projection.assembler.resume(state.lanes)
    for _, offset, length, name, data in pieces:
        if offset >= capture.read_bytes:
            for event in events_of(reader, data, name):
                projection.take(event, f"{capture.id}:{offset}+{length}")
    projection.assembler.inherited()
    capture.read_bytes = capture.size_bytes
    reading.end(capture, projection, reader)


def _begins(taker: Taker, known: Capture, blocks: list[bytes]) -> bool:
    """Whether a group begins with the rows that are known, all of which were read."""
    if known.read_bytes != known.size_bytes:
        return False
    taker.writer.flush()
    with taker.writer.database.read() as tx:
        kept = tx.rows("blocks_of", capture_id=known.id)
    return all(
        idx < len(blocks) and evidence.digest_of_bytes(blocks[idx][:size]) == digest for idx, _id, digest, size in kept
    )


def _grown(taker: Taker, known: Capture, blocks: list[bytes], digest: bytes, size: int, now: int) -> Taken:
    """Rows were added: the evidence goes on."""
    first = known.size_bytes // BLOCK_BYTES
    for idx, data in enumerate(blocks[first:], first):
        taker.put_block(known.id, idx, evidence.pack(data))
    taken = Taken(known, has_grown=True, read_bytes=size - known.size_bytes)
    known.size_bytes, known.digest, known.seen_at, known.state = size, digest, now, "current"
    taker.put(known)
    return taken
