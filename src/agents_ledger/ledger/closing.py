"""The end of a live turn: completed, failed, or left behind by a writer that died."""

from copy import copy

from msgspec import Struct

from agents_ledger.ledger import append, lease, moves, notes, sessions
from agents_ledger.ledger.build import Place, close, settle
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.records import complete, read_record, spoken
from agents_ledger.model.entries import Usage
from agents_ledger.model.overview import Live
from agents_ledger.model.rows import LeaseRow, OriginalRow, Record, TurnRow
from agents_ledger.model.texts import readable
from agents_ledger.store import Tx


class Begun(Struct, frozen=True):
    """A live turn as its own writer knows it: nobody else changes it, and its parent is sealed."""

    row: TurnRow  # as it was at the beginning
    place: Place
    is_plain: bool  # nothing but messages and calls hangs on it


def finish(
    tx: Tx,
    env: Env,
    held: LeaseRow,
    status: str,
    error: str | None,
    usage: Usage,
    permissions_used: str | None = None,
    reason: str = "advance",
    begun: Begun | None = None,
) -> bool:
    """Seals a live turn and moves its session; False if the session had moved on (the turn is a branch)."""
    now = env.now()
    if status == "failed":
        for (spawned,) in tx.rows("abandon_calls", turn_id=held.turn_id, completed_at=now):
            if spawned is not None:
                sessions.set_task_status(tx, env, spawned, "failed")
    record = read_record(tx, held.turn_id) if begun is None else _as_it_is(tx, begun)
    if permissions_used is not None:
        record.turn.permissions_used = permissions_used
    place = append.place_of(tx, record.turn) if begun is None else begun.place
    close(record, status, None if error is None else _keep_error(tx, record, error), usage, now)
    settle(record, place)
    seq = append.seal_live(tx, env, record, place.parent_hash)
    notes.note(tx, record)
    tx.run("drop_lease", turn_id=held.turn_id)
    moved = moves.advance(tx, held.session_label, record.turn.parent_turn_id, held.turn_id, reason, now, seq + 1)
    return moved is not None


def _as_it_is(tx: Tx, begun: Begun) -> Record:
    """A live turn with what hangs on it: links of its calls to subagents may come from anybody."""
    turn = copy(begun.row)
    return spoken(tx, [turn])[0] if begun.is_plain else complete(tx, turn)


def abandon(tx: Tx, env: Env, turn_id: str, error: str) -> None:
    """Fails a turn whose beginning was interrupted, if it is there at all."""
    for row in tx.rows("lease_of", turn_id=turn_id):
        finish(tx, env, LeaseRow(*row), "failed", error, Usage())


def words_of(problem: object) -> str:
    """Why a turn failed, as a text: an exception by its name and its words."""
    if isinstance(problem, str):
        return problem
    try:
        words = str(problem)
    except Exception:  # noqa: BLE001 - whatever its `__str__` does, the turn is to end
        words = ""
    name = type(problem).__name__
    if isinstance(problem, BaseException):
        return f"{name}: {words}" if words else name
    return words or name


def recover(tx: Tx, env: Env) -> list[str]:
    """Closes the live turns of dead writers as failed; gives their ids. Never completes one in silence."""
    held = _leases(tx)
    gone = lease.dead(tx, env, held)
    for row in gone:
        why = f"interrupted: its writer (process {row.writer.split('|')[1]}) is gone"
        finish(tx, env, row, "failed", why, Usage(), reason="recover")
    lease.watch(tx, env, [row for row in held if row not in gone])
    return [row.turn_id for row in gone]


def live_turns(tx: Tx, env: Env, label: str | None = None) -> list[Live]:
    """The turns that have not ended, of a session or of all; a dead writer's are still among them."""
    held = [row for row in _leases(tx) if label is None or row.session_label == label]
    gone = lease.dead(tx, env, held)
    return [Live(row.turn_id, row.session_label, row in gone) for row in held]


def _leases(tx: Tx) -> list[LeaseRow]:
    return [LeaseRow(*row) for row in tx.rows("all_leases")]


def _keep_error(tx: Tx, record: Record, error: str) -> str:
    view, original = readable(error)
    if original is not None:
        row = OriginalRow(record.turn.id, "error", original, record.turn.id, record.turn.root_id)
        tx.run_all("insert_original", [row])
        record.originals.append(row)
    return view
