"""The digest of a ledger: what it says, whatever the order in which it was written.

Equal for two ledgers with the same conversations, the same heads and the same evidence; ids, times of arrival, salts
and the log do not matter, nor what was retracted or superseded on the way.
"""

from hashlib import sha256

from agents_ledger.ledger.records import complete_all, said_digest
from agents_ledger.model.hashes import canon
from agents_ledger.model.rows import Record, TurnRow
from agents_ledger.model.rules import RETRACTED
from agents_ledger.store import Database, Tx

_PAGE = 200


def digest(database: Database) -> str:
    """64 hexadecimal digits."""
    with database.read() as tx:
        threads = _threads(tx)
        fallen = {row[0] for row in tx.rows("turns_with_error", error=RETRACTED)}
        fallen |= {row[0] for row in tx.rows("superseded_turns")}
        heads = sorted([row[0], threads.get(row[1], b"").hex(), row[14]] for row in tx.rows("all_sessions"))
        evidence = sorted([row[0], row[1].hex()] for row in tx.rows("evidence_digests"))
        said = sorted({value.hex() for turn_id, value in threads.items() if turn_id not in fallen})
    return sha256(canon([said, heads, evidence])).hexdigest()


def _threads(tx: Tx) -> dict[str | None, bytes]:
    """For each turn a digest of all that was said up to it."""
    found: dict[str | None, bytes] = {}
    after = (-1, "")
    while rows := [TurnRow(*row) for row in tx.rows("turns_by_depth", depth=after[0], id=after[1], limit=_PAGE)]:
        for record in complete_all(tx, rows):
            turn = record.turn
            above = found.get(turn.parent_turn_id, b"")
            found[turn.id] = sha256(above + content_of(record)).digest()
        after = (rows[-1].depth, rows[-1].id)
    return found


def content_of(record: Record) -> bytes:
    """What a turn says; a compaction by how far back it reaches, not by ids."""
    turn, kept = record.turn, record.compaction
    tokens = [turn.input_tokens, turn.output_tokens, turn.cached_input_tokens, turn.cache_write_tokens]
    reach = None
    if kept is not None:
        reach = [kept.turns_summarized, kept.first_kept_turn_id is not None, kept.first_kept_message_id is not None]
    return said_digest(record) + canon([turn.model, *tokens, turn.reasoning_tokens, reach])
