"""The search index: fed in batches, after the turns that it is about."""

from agents_ledger.store import Tx

# A batch costs two thirds of what its turns would cost one by one, and twice as large ones leave a tenth of the file
# behind as free pages (measured). What is sealed but not yet indexed is known exactly, by the log; a search begins
# with catching up.
BATCH = 64  # turns


def catch_up(tx: Tx) -> None:
    """Indexes everything that is sealed."""
    done, last = int(tx.value("fact", name="searchable_through")), int(tx.value("last_seq"))
    if last > done:
        tx.run("index_sealed", after=done, through=last)
        tx.run("put_fact", name="searchable_through", value=str(last))


def matching(tx: Tx, words: str) -> list[int]:
    """The numbers of the messages (even) and tool calls (odd) that match, in the engine's own syntax."""
    return [row[0] for row in tx.rows("search_rows", words=words)]
