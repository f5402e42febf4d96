"""The search index: fed in batches, inside the transaction that seals."""

from agents_ledger.store import Tx

# A batch costs two thirds of the single insertions that it replaces (measured); what is sealed but not yet
# indexed is known exactly, by the log, and a search begins with catching up.
BATCH = 64


def catch_up_if_due(tx: Tx, last: int) -> None:
    """Indexes what was sealed since the last time, once enough has come together; `last` is the newest entry."""
    done = _mark(tx)
    # a turn makes at least two log entries: its seal and the movement of a pointer
    if last - done >= 2 * BATCH:
        _index(tx, done, last)


def catch_up(tx: Tx) -> None:
    """Indexes everything that is sealed."""
    done, last = _mark(tx), int(tx.value("last_seq"))
    if last > done:
        _index(tx, done, last)


def matching(tx: Tx, words: str) -> list[int]:
    """The numbers of the messages (even) and tool calls (odd) that match, in the engine's own syntax."""
    return [row[0] for row in tx.rows("search_rows", words=words)]


def _mark(tx: Tx) -> int:
    return int(tx.value("fact", name="searchable_through"))


def _index(tx: Tx, done: int, last: int) -> None:
    tx.run("index_sealed", after=done, through=last)
    tx.run("put_fact", name="searchable_through", value=str(last))
