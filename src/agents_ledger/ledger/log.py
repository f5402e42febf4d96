"""The log: every committed fact gets the next number, in the same transaction."""

from typing import Any

import msgspec

from agents_ledger.model.hashes import leaf
from agents_ledger.model.rows import LogRow
from agents_ledger.store import Tx


def record(
    tx: Tx,
    kind: str,
    ref: str,
    at: int,
    *,
    seq: int | None = None,
    body: dict[str, Any] | None = None,
    facts: object = None,
) -> int:
    """Writes one entry; gives its number (the next one; `seq` if the caller has just written the one before).

    `facts` are those of the row that it stands for.
    """
    if seq is None:
        seq = int(tx.value("last_seq")) + 1
    text = None if body is None else msgspec.json.encode(body).decode()
    entry = LogRow(seq, kind, ref, at, text, b"")
    tx.run("insert_log", seq=seq, kind=kind, ref=ref, at=at, body=text, leaf=leaf(entry, facts))
    return seq
