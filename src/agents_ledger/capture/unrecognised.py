"""Files that no format recognises: transcripts by type are kept as evidence, so that a later version can read them.

They are kept byte for byte, up to 64 MiB each and 1 GiB together, and never if their name or content is one of
credentials (`model.credentials`). They are captures like any other, of the format `unrecognised`; their kind is the
agent that has probably written them. As soon as a format recognises one, it is read from the evidence.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from agents_ledger.capture.discover import Found, has_transcript_type, is_packed
from agents_ledger.capture.files import SourceFile
from agents_ledger.capture.operations import Forget, PutProblem, SetState, Touch
from agents_ledger.capture.scratch import new_private_file
from agents_ledger.capture.source import Taken, Taker
from agents_ledger.ledger import evidence
from agents_ledger.ledger.evidence import BLOCK_BYTES
from agents_ledger.model import zstd
from agents_ledger.model.captures import UNRECOGNISED, Capture
from agents_ledger.model.credentials import credential_in, is_credential_name
from agents_ledger.model.other_agents import likely_agent
from agents_ledger.model.steps import Problem
from agents_ledger.store import Tx

MOST_BYTES = 64 << 20
MOST_BYTES_TOGETHER = 1 << 30
MOST_UNPACKED = 256 << 20
_NOBODY = "unknown"
_HEAD_BYTES = 64 * 1024
_CODE = "not-recognised"


class Refused(Exception):
    """A file that is not kept, and why."""


class Keeper:
    """Keeps files that no format recognises."""

    def __init__(self, taker: Taker) -> None:
        self._taker = taker
        self._writer = taker.writer
        self._kept_bytes: int | None = None  # of all such files; None: not counted yet

    def keep(self, found: Found, known: Capture | None, now: int) -> Taken | None:
        """Takes such a file into the evidence, or what it has grown by; None if nothing has changed."""
        if is_credential_name(found.name):
            raise Refused("its name is one of credentials or settings")
        if found.size_bytes > MOST_BYTES:
            raise Refused(f"it is larger than {MOST_BYTES >> 20} MiB")
        with SourceFile(found.path) as file:
            data, modified_ns = file.at(0, min(file.size, MOST_BYTES)), file.modified_ns
        if credential := credential_in(_plain(data)):
            raise Refused(f"its content looks like credentials ({credential})")
        return self._keep(found.name, data, modified_ns, known, now)

    def _keep(self, path: str, data: bytes, modified_ns: int, known: Capture | None, now: int) -> Taken | None:
        kept = self._blocks_of(known)
        blocks = [data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES)]
        is_longer = known is not None and _begin(blocks, kept)
        if known is not None and is_longer and known.size_bytes == len(data):
            self._writer.add(Touch(known.id, modified_ns))
            return None
        first = max(0, len(kept) - 1) if is_longer else 0
        self._require_room(sum(map(len, blocks[first:])))
        if known is not None and not is_longer:
            self._writer.add(SetState(known.id, "replaced"))
        capture = Capture(
            id=self._writer.capture_id() if known is None or not is_longer else known.id,
            path=path,
            format=UNRECOGNISED,
            kind=likely_agent(path, _plain(data[:_HEAD_BYTES])) or _NOBODY,
            shape="document",
            bundle=None,
            generation=1 if known is None else known.generation + (not is_longer),
            state="current",
            size_bytes=len(data),
            digest=evidence.digest_of(evidence.digest_of_bytes(block) for block in blocks),
            modified_ns=modified_ns,
            first_seen_at=now if known is None else known.first_seen_at,
            seen_at=now,
            read_bytes=0,
        )
        self._taker.put(capture)
        for idx, block in enumerate(blocks[first:], first):
            self._taker.put_block(capture.id, idx, evidence.pack(block))
        self._writer.add(Forget(path, _CODE))
        self._writer.add(problem_of(capture, now))
        return Taken(
            capture,
            is_new=known is None,
            has_grown=is_longer,
            was_rewritten=known is not None and not is_longer,
            read_bytes=len(data) - (known.size_bytes if known is not None and is_longer else 0),
        )

    def _blocks_of(self, known: Capture | None) -> list[tuple[bytes, int]]:
        if known is None:
            return []
        self._writer.flush()
        with self._writer.database.read() as tx:
            return [(digest, size) for _idx, _id, digest, size in tx.rows("blocks_of", capture_id=known.id)]

    def _require_room(self, more: int) -> None:
        if self._kept_bytes is None:
            with self._writer.database.read() as tx:
                self._kept_bytes = int(tx.value("kept_bytes_of", format=UNRECOGNISED))
        if self._kept_bytes + more > MOST_BYTES_TOGETHER:
            raise Refused(f"{MOST_BYTES_TOGETHER >> 30} GiB of unrecognised files are kept already")
        self._kept_bytes += more


def is_kept_type(found: Found) -> bool:
    """Whether a file is a transcript by its type."""
    return found.is_regular and has_transcript_type(found.name)


def problem_of(capture: Capture, at: int) -> PutProblem:
    """What `ldg problems` says of such a capture."""
    likely = "" if capture.kind == _NOBODY else f", probably of {capture.kind}"
    return PutProblem(capture.path, -1, Problem("not-recognised", f"kept as evidence{likely}"), capture.id, at)


def copy_of(tx: Tx, capture: Capture, folder: Path) -> Found:
    """A kept file as a file again, to be read as if it were found where it was."""
    path = folder / str(capture.id)
    with os.fdopen(new_private_file(path), "wb") as file:
        file.writelines(evidence.read(tx, capture.id))
    os.utime(path, ns=(capture.modified_ns, capture.modified_ns))
    return Found(str(path), capture.size_bytes, capture.modified_ns, original=capture.path)


def head_of(tx: Tx, capture: Capture) -> bytes:
    """The first bytes of a kept file."""
    return next(evidence.read(tx, capture.id), b"")[:_HEAD_BYTES]


def _begin(blocks: list[bytes], kept: Iterable[tuple[bytes, int]]) -> bool:
    """Whether a file begins with what is kept of it."""
    return all(
        idx < len(blocks) and evidence.digest_of_bytes(blocks[idx][:size]) == digest
        for idx, (digest, size) in enumerate(kept)
    )


def _plain(data: bytes) -> bytes:
    """A file's content, unpacked if it is packed; as much of it as can be."""
    if not is_packed(data):
        return data
    try:
        plain = zstd.ZstdDecompressor().decompress(data, MOST_UNPACKED + 1)
    except (zstd.ZstdError, MemoryError):
        return b""
    if len(plain) > MOST_UNPACKED:
        raise Refused(f"it unpacks to more than {MOST_UNPACKED >> 20} MiB")
    return plain
