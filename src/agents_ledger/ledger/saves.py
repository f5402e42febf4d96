"""Saves: the states of tasks and calls, as an agent keeps them. Each stays; the newest one counts."""

from typing import Literal

import msgspec

from agents_ledger.errors import StaleSave
from agents_ledger.ledger import log
from agents_ledger.ledger.env import Env
from agents_ledger.model.hashes import SALT_BYTES, save_commitment
from agents_ledger.model.rows import SaveRow
from agents_ledger.store import Tx

Entity = Literal["task", "call"]


def put(tx: Tx, env: Env, given: SaveRow, before: SaveRow | None) -> bool:
    """Keeps another state; False if it is the state already. One that is older than the newest is refused."""
    if before is not None:
        if given.updated_at < before.updated_at:
            raise StaleSave(
                f"{given.entity} {given.ref!r} was saved with updatedAt {before.updated_at} meanwhile, "
                f"yours is {given.updated_at}: read it again, then save"
            )
        if msgspec.structs.replace(before, id=0, salt=b"", next_id=None) == given:
            return False
    row = msgspec.structs.replace(given, salt=env.salt(SALT_BYTES))
    body = {"save": save_commitment(row)} | ({"call": row.ref} if row.entity == "call" else {})
    number = log.record(tx, "task", row.session_label, env.now(), body=body)
    tx.run_all("insert_save", [msgspec.structs.replace(row, id=number)])
    if before is not None:
        tx.run("follow_save", id=before.id, next_id=number)
    return True


def newest(tx: Tx, entity: Entity, ref: str) -> SaveRow | None:
    """The state that counts now, if one was ever saved."""
    row = tx.first("newest_save", entity=entity, ref=ref)
    return None if row is None else SaveRow(*row)


def history(tx: Tx, entity: Entity, ref: str, *, limit: int, offset: int = 0) -> list[SaveRow]:
    """The states that were saved, oldest first."""
    return [SaveRow(*row) for row in tx.rows("saves_of", entity=entity, ref=ref, limit=limit, offset=offset)]
