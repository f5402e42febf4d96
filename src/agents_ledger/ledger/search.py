"""The search index: fed in batches, inside the transaction that seals."""

from agents_ledger.store import Tx

# A large batch costs two thirds of what its turns would cost one by one (measured). What is sealed but not yet
# indexed is known exactly, by the log; a search begins with catching up.
BATCH = 256


def catch_up_if_due(tx: Tx, last: int) -> None:
    """Indexes what was sealed since the last time, once enough has come together; `last` is the newest entry."""
    # a turn makes two log entries or more: its seal and the movement of a pointer
    if last % BATCH < 2 and last - _mark(tx) >= BATCH:  # noqa: PLR2004 - one of the two is a multiple
        catch_up(tx)


def catch_up(tx: Tx) -> None:
    """Indexes everything that is sealed."""
    done, last = _mark(tx), int(tx.value("last_seq"))
    if last > done:
        tx.run("index_sealed", after=done, through=last)
        tx.run("put_fact", name="searchable_through", value=str(last))


def matching(tx: Tx, words: str) -> list[int]:
    """The numbers of the messages (even) and tool calls (odd) that match, in the engine's own syntax."""
    return [row[0] for row in tx.rows("search_rows", words=words)]


def _mark(tx: Tx) -> int:
    return int(tx.value("fact", name="searchable_through"))
