"""The search index: fed in batches, inside the transaction that seals."""

from agents_ledger.store import Tx

# A large batch costs two thirds of what its turns would cost one by one (measured). What is sealed but not yet
# indexed is known exactly, by the log; a search begins with catching up.
# Twice as much at once leaves a tenth of the file behind as free pages.
BATCH = 128
_WINDOW = 16


def catch_up_if_due(tx: Tx, last: int) -> None:
    """Indexes what was sealed since the last time, once enough has come together; `last` is the newest entry."""
    # Looked at only just after a multiple: reading the mark costs a query. The window is wider than what is
    # logged from one turn to the next (a fork and a turn make four entries, and would step over a narrow one).
    if last % BATCH < _WINDOW and last - _mark(tx) >= BATCH // 2:
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
