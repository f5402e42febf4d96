"""The end of a live turn: completed, failed, or left behind by a writer that died."""

from agents_ledger.ledger import append, lease, moves, notes, sessions
from agents_ledger.ledger.build import Place, close, settle
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.records import read_record
from agents_ledger.model.entries import Usage
from agents_ledger.model.rows import LeaseRow, OriginalRow, Record
from agents_ledger.model.texts import readable
from agents_ledger.store import Tx


def finish(
    tx: Tx,
    env: Env,
    held: LeaseRow,
    status: str,
    error: str | None,
    usage: Usage,
    permissions_used: str | None = None,
    reason: str = "advance",
    place: Place | None = None,
) -> bool:
    """Seals a live turn and moves its session; False if the session had moved on (the turn is a branch).

    Its `place` is what it was at the beginning: the turn does not move, and its parent is sealed.
    """
    now = env.now()
    if status == "failed":
        for (spawned,) in tx.rows("abandon_calls", turn_id=held.turn_id, completed_at=now):
            if spawned is not None:
                sessions.set_task_status(tx, env, spawned, "failed")
    record = read_record(tx, held.turn_id)
    if permissions_used is not None:
        record.turn.permissions_used = permissions_used
    if place is None:
        place = append.place_of(tx, record.turn)
    close(record, status, None if error is None else _keep_error(tx, record, error), usage, now)
    settle(record, place)
    seq = append.seal_live(tx, env, record, place.parent_hash)
    notes.note(tx, record)
    tx.run("drop_lease", turn_id=held.turn_id)
    moved = moves.advance(tx, held.session_label, record.turn.parent_turn_id, held.turn_id, reason, now, seq + 1)
    return moved is not None


def recover(tx: Tx, env: Env) -> list[str]:
    """Closes the live turns of dead writers as failed; gives their ids. Never completes one in silence."""
    dead = [held for held in _leases(tx) if lease.is_dead(held, env.now())]
    for held in dead:
        why = f"interrupted: its writer (process {held.writer.split('|')[1]}) is gone"
        finish(tx, env, held, "failed", why, Usage(), reason="recover")
    return [held.turn_id for held in dead]


def _leases(tx: Tx) -> list[LeaseRow]:
    return [LeaseRow(*row) for row in tx.rows("all_leases")]


def _keep_error(tx: Tx, record: Record, error: str) -> str:
    view, original = readable(error)
    if original is not None:
        row = OriginalRow(record.turn.id, "error", original, record.turn.id, record.turn.root_id)
        tx.run_all("insert_original", [row])
        record.originals.append(row)
    return view
