"""Tokens, summed up as they come in: fed in batches, after the turns that they belong to, as the search index is."""

from typing import Any

from agents_ledger.store import Tx

# What is sealed never changes, so that what was counted stays right. How far it is counted is known by the log; the
# rest is added by whoever reads, 3 µs a turn. To compile the statement takes 1 ms: worth it for hundreds of turns.
_ENTRIES = 50_000  # of the log, in one go: a ledger from before this table catches up in pieces
_WORTH = 1_000  # entries of the log
EVERYTHING = 1 << 62  # as a log number: also what is not sealed yet
NOTHING_ELSE: dict[str, Any] = {"turn_id": None, "sign": 0}
_FACT = "counted_through"


def catch_up(tx: Tx) -> None:
    """Counts what was sealed since the last time."""
    done, last = counted_through(tx), int(tx.value("last_seq"))
    if last > done:
        through = min(last, done + _ENTRIES)
        tx.run("count_usages", after=done, through=through, **NOTHING_ELSE)
        tx.run("put_fact", name=_FACT, value=str(through))


def catch_up_in_time(tx: Tx) -> None:
    """Counts, if enough was sealed since the last time."""
    if int(tx.value("last_seq")) - counted_through(tx) >= _WORTH:
        catch_up(tx)


def recount(tx: Tx, turn_id: str, seal_seq: int, sign: int) -> None:
    """Takes a turn out of the sums that is about to be superseded (-1), or in again, now that it stands (1)."""
    catch_up(tx)
    done = counted_through(tx)
    if 0 < seal_seq <= done:
        tx.run("count_usages", after=done, through=done, turn_id=turn_id, sign=sign)


def counted_through(tx: Tx) -> int:
    """The log entry up to which everything is counted."""
    return int(tx.value("fact", name=_FACT))
