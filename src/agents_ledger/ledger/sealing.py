"""Seals: what makes a turn final. One is sealed at its end; one whose source may go on, when something follows it."""

from agents_ledger.ledger import log
from agents_ledger.ledger.build import Prepared, committed
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.records import read_record
from agents_ledger.model import hashes
from agents_ledger.store import Tx

OPEN = 0  # the `seal_seq` of a turn whose source may go on


def seal(tx: Tx, given: Prepared, parent_hash: bytes | None, now: int, *, was_open: bool = False) -> int:
    """The hash of a turn, and its log entry; a turn that was open is in the search index already."""
    turn = given.record.turn
    turn.turn_hash = hashes.turn_hash(given.record, parent_hash, given.parts, given.commitments)
    body = {"was_open": True} if was_open else None
    turn.seal_seq = log.record(tx, "seal", turn.id, now, body=body, facts=turn.turn_hash)
    return turn.seal_seq


def seal_open(tx: Tx, env: Env, turn_id: str) -> bytes:
    """Seals a turn that was read from a source and left open for more, and those before it; gives its hash."""
    chain: list[str] = []
    above: str | None = turn_id
    sealed: bytes | None = None
    while above is not None and not sealed:
        chain.append(above)
        state = tx.first("turn_state", id=above)
        assert state is not None, "a foreign key keeps it"  # noqa: S101
        above = state[1]
        sealed = None if above is None else (tx.first("turn_state", id=above) or ())[3]
    for each in reversed(chain):
        record = read_record(tx, each)
        seal(tx, committed(record, env), sealed, env.now(), was_open=True)
        tx.run_all("replace_turn", [record.turn])
        sealed = record.turn.turn_hash
    assert sealed is not None, "it was just sealed"  # noqa: S101
    return sealed
