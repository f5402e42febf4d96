"""The beginning of a live turn: its place, its first messages, its lease."""

from msgspec import Struct
from msgspec.structs import asdict

from agents_ledger.errors import HeadMoved
from agents_ledger.ledger import append, given, lease, sessions
from agents_ledger.ledger.build import Builder, settle
from agents_ledger.ledger.closing import Begun
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.head import HEAD, Head
from agents_ledger.model.entries import Message, Settings
from agents_ledger.model.rows import LeaseRow
from agents_ledger.store import Tx


class Wanted(Struct, frozen=True):
    """A turn that is to begin."""

    session: str
    messages: tuple[Message, ...]
    settings: Settings
    origin: sessions.Origin
    expect: str | Head | None = HEAD


def begin(tx: Tx, env: Env, writer: str, turn_id: str, wanted: Wanted) -> tuple[LeaseRow, Begun]:
    """Writes a turn as pending; gives the lease on it, and what its writer knows of it."""
    session, head = sessions.ensure_with_head(tx, env, wanted.session, wanted.origin)
    if not isinstance(wanted.expect, Head) and session.thread_id != wanted.expect:
        raise HeadMoved(session.label, wanted.expect, session.thread_id, None)
    now = env.now()
    place = append.place_under(tx, env, session.thread_id, turn_id, head)
    builder = Builder(turn_id, place.root_id, env)
    turn = builder.turn(wanted.settings, "normal", now, None)
    turn.session_label = session.label
    for sequence, message in enumerate(wanted.messages):
        builder.message(given.check_message(message), sequence, now)
    settle(builder.record(turn), place)
    tx.run_all("insert_turn", [turn])
    append.insert_parts(tx, builder)
    held = LeaseRow(turn_id, session.label, writer, env.new_id(None), now + lease.TTL_MS)
    tx.run("insert_lease", **asdict(held), now=now)
    return held, Begun(turn, place, builder.is_plain)
