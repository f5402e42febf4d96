"""Captures of one ledger, read into another: the secret of the salts, the bytes, what they tell."""

import msgspec

from agents_ledger.capture.source import Taker
from agents_ledger.capture.taking import Taking
from agents_ledger.capture.unrecognised import problem_of
from agents_ledger.ledger import Ledger, evidence, sealing
from agents_ledger.model.captures import UNRECOGNISED, Capture
from agents_ledger.model.frames import unframed


def share_secret(ledger: Ledger, target: Ledger) -> None:
    """The secret that salts are made from: the same turns get the same hashes."""
    with ledger.database.read() as tx:
        secret = tx.value("fact", name=sealing.SECRET)
    if secret is not None:
        target.database.write(lambda tx: tx.run("put_fact", name=sealing.SECRET, value=secret))


def copy_bytes(ledger: Ledger, taker: Taker, capture: Capture) -> None:
    """The bytes of a capture, under the same number."""
    taker.put(msgspec.structs.replace(capture, read_bytes=0))
    with ledger.database.read() as tx:
        for idx, block_id, digest, size in tx.rows("blocks_of", capture_id=capture.id):
            packed = tx.first("packed_block", id=block_id)
            if packed is not None:
                taker.put_block(capture.id, idx, evidence.Block(digest, size, packed[0]))


def read_copy(taking: Taking, capture: Capture) -> None:
    """What a capture tells whose bytes are there; those of a bundle are read together, later."""
    form = taking.formats.get(capture.format)
    if capture.format == UNRECOGNISED and capture.state != "replaced":
        taking.writer.add(problem_of(capture, capture.seen_at))
    if form is None or capture.shape == "bundle" or not capture.size_bytes:
        return
    if capture.shape == "lines":
        taking.taker.reading.from_evidence(capture, form, is_again=False)
    elif capture.shape == "document":
        taking.taker.reading.whole(capture, form, [taking.piece(capture, "")])
    else:
        with taking.ledger.database.read() as tx:
            blocks = list(evidence.read(tx, capture.id))
        pieces = (
            (capture.id, offset, length, f"{row.table}\n{row.key}", row.value)
            for offset, length, row in unframed(blocks)
        )
        taking.taker.reading.whole(capture, form, pieces)
