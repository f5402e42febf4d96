"""Seals: what makes a turn final. One is sealed at its end; one whose source may go on, when something follows it."""

import os
from hmac import digest as hmac

from agents_ledger.ledger import log
from agents_ledger.ledger.build import Prepared, committed
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.records import read_record
from agents_ledger.model import hashes
from agents_ledger.model.rows import Record
from agents_ledger.model.rules import open_calls
from agents_ledger.store import Tx

SECRET = "capture_secret"  # noqa: S105 - the name of a fact
OPEN = 0  # the `seal_seq` of a turn whose source may go on


def seal(tx: Tx, given: Prepared, parent_hash: bytes | None, now: int, *, was_open: bool = False) -> int:
    """The hash of a turn, and its log entry; a turn that was open is in the search index already."""
    turn = given.record.turn
    turn.turn_hash = hashes.turn_hash(given.record, parent_hash, given.parts, given.commitments)
    body = {"was_open": True} if was_open else None
    turn.seal_seq = log.record(tx, "seal", turn.id, now, body=body, facts=turn.turn_hash)
    return turn.seal_seq


def seal_open(tx: Tx, env: Env, turn_id: str) -> bytes:
    """Seals a turn that was left open for more, and those before it; gives its hash."""
    chain, sealed = _open_chain(tx, turn_id)
    for record in (read_record(tx, each) for each in chain):
        sealed = _seal_one(tx, env, record, sealed)
    assert sealed is not None, "it was just sealed"  # noqa: S101
    return sealed


def seal_ended(tx: Tx, env: Env, turn_id: str) -> None:
    """Seals a turn that was left open for more, and those before it, as far as all their calls have ended."""
    chain, sealed = _open_chain(tx, turn_id)
    for record in (read_record(tx, each) for each in chain):
        if open_calls(record.calls):
            return
        sealed = _seal_one(tx, env, record, sealed)


def _open_chain(tx: Tx, turn_id: str) -> tuple[list[str], bytes | None]:
    """The open turns up to this one, the oldest first, and the hash of the turn before them."""
    chain: list[str] = []
    above: str | None = turn_id
    while above is not None:
        state = tx.first("turn_state", id=above)
        assert state is not None, "a foreign key keeps it"  # noqa: S101
        if state[0] != OPEN:
            return chain[::-1], state[3]
        chain.append(above)
        above = state[1]
    return chain[::-1], None


def _seal_one(tx: Tx, env: Env, record: Record, parent_hash: bytes | None) -> bytes:
    seed = None if record.turn.evidence is None else seed_of(secret(tx), record.turn.id)
    seal(tx, committed(record, env, seed=seed), parent_hash, env.now(), was_open=True)
    tx.run_all("replace_turn", [record.turn])
    assert record.turn.turn_hash is not None, "it was just sealed"  # noqa: S101
    return record.turn.turn_hash


def secret(tx: Tx) -> bytes:
    """What salts of captured turns are made from: they must be the same when the ledger is built again."""
    known = tx.value("fact", name=SECRET)
    if known is None:
        known = os.urandom(32).hex()
        tx.run("put_fact", name=SECRET, value=known)
    return bytes.fromhex(known)


def seed_of(given: bytes, turn_id: str) -> bytes:
    """The seed of a captured turn's salts, out of the secret."""
    return hmac(given, turn_id.encode(), "sha256")[: hashes.SALT_BYTES]
