"""The invariants of safety.md )6, each as a comparison of the ledger with the model."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import apsw
import psycopg

from agents_ledger import Ledger, Turn
from agents_ledger.ledger.context import Context
from agents_ledger.model.rows import TurnRow
from tests.machine.model import Line, Model


@dataclass
class Frozen:
    """What a sealed turn said when it was sealed: it must say so for ever (I10, I11, I32)."""

    row: TurnRow
    context: list[Line] | None  # of every third turn
    given: Turn | None


def freeze(ledger: Ledger, turn_id: str, given: Turn | None) -> Frozen:
    row = ledger.get(turn_id).turn
    assert row.turn_hash is not None
    assert row.seal_seq is not None
    return Frozen(row, flat(ledger.context(turn_id)) if row.seal_seq % 3 == 0 else None, given)


def flat(context: Context) -> list[Line]:
    """A context as lines of role and text."""
    lines: list[Line] = [(row.role, row.content) for row in context.system]
    if context.summary is not None:
        lines.append(("summary", context.summary))
    lines += [(row.role, row.content) for turn in context.turns for row in turn.messages]
    return lines


def quick(ledger: Ledger, model: Model) -> None:
    """After every step: all heads (I9, I12), the log's length (I42), the number of turns (I1, I19)."""
    found = {line.session.label: line.session for line in ledger.sessions(limit=1000)}
    assert {label: row.thread_id for label, row in found.items()} == {
        label: session.head for label, session in model.sessions.items()
    }
    assert {label: row.status for label, row in found.items()} == {
        label: session.status for label, session in model.sessions.items()
    }
    counts = ledger.counts()
    assert counts["seq"] == model.seq
    assert counts["turns"] == len(model.turns)
    assert counts["live"] == len(model.live())


def thorough(ledger: Ledger, model: Model, frozen: dict[str, Frozen]) -> None:
    """Everything, recomputed: all rows at once, and the verbs on a sample of turns."""
    _check_rows(ledger, model, frozen)
    _check_contents(ledger, model)
    _check_faces(ledger, model)
    for turn_id in _sample(model):
        _check_verbs(ledger, model, turn_id, frozen)
    _check_history(ledger, model)
    for label in model.sessions:
        _check_session(ledger, model, label)
    _check_names(ledger, model)
    report = ledger.verify()
    assert report.is_good, report.findings


def _check_rows(ledger: Ledger, model: Model, frozen: dict[str, Frozen]) -> None:
    ask = ledger.database.ask
    threads = {row[0]: row[1:] for row in ask("SELECT turn_id, ancestry, total_tokens, depth FROM threads")}
    rows = {row[0]: TurnRow(*row) for row in ask("SELECT * FROM turns")}
    assert set(threads) == set(rows) == set(model.turns)  # I1, I3
    for turn_id, known in model.turns.items():
        row, (ancestry, total, depth), path = rows[turn_id], threads[turn_id], model.path(turn_id)
        assert json.loads(ancestry) == path  # I2
        assert (row.parent_turn_id, row.root_id, row.depth, depth) == (known.parent, path[0], len(path), len(path))
        assert row.status == known.status
        assert bool(row.has_children) == bool(model.children(turn_id))  # I17
        if known.is_live:
            continue
        assert row.total_tokens == known.total
        assert row.thread_tokens == total == model.thread_total(turn_id)  # I16, I44
        assert row.tool_call_count == len(known.calls)
        row.has_children = frozen[turn_id].row.has_children
        assert row == frozen[turn_id].row  # I10
    # I44: a shared prefix is counted once
    spent = sum(turn.total or 0 for turn in model.turns.values() if not turn.is_live)
    assert ask("SELECT coalesce(sum(total_tokens), 0) FROM turns") == [(spent,)]


def _check_contents(ledger: Ledger, model: Model) -> None:
    messages: dict[str, list[Line]] = {turn_id: [] for turn_id in model.turns}
    calls: dict[str, list[tuple[str, str]]] = {turn_id: [] for turn_id in model.turns}
    ask = ledger.database.ask
    for turn_id, sequence, role, content in ask(
        "SELECT turn_id, sequence, role, content FROM messages ORDER BY turn_id, sequence"
    ):
        assert sequence == len(messages[turn_id])  # I5
        messages[turn_id].append((role, content))
    for turn_id, sequence, name, status in ask(
        "SELECT turn_id, sequence, tool_name, status FROM tool_calls ORDER BY turn_id, sequence"
    ):
        assert sequence == len(calls[turn_id])
        calls[turn_id].append((name, status))
    assert messages == {turn_id: turn.messages for turn_id, turn in model.turns.items()}
    assert calls == {turn_id: turn.calls for turn_id, turn in model.turns.items()}  # I6
    compactions = ask("SELECT turn_id, summarized_through_turn_id, first_kept_turn_id FROM compactions")
    assert {row[0]: row[1:] for row in compactions} == {
        turn.id: (turn.through, turn.first_kept) for turn in model.turns.values() if turn.through is not None
    }  # I7, I8


def _check_faces(ledger: Ledger, model: Model) -> None:
    """Mnemonic's messages: each session has its thread, and what is being written behind it, without gaps."""
    ask = ledger.database.ask
    told: dict[str, list[Line]] = {label: [] for label in model.sessions}
    for label, sequence, role, content in ask(
        "SELECT i.session_label, m.sequence, m.role, m.content FROM agent_messages m "
        "JOIN session_ids i ON i.id = m.session_id ORDER BY 1, 2"
    ):
        assert sequence == len(told[label])
        told[label].append((role, content))
    live = {label for (label,) in ask("SELECT session_label FROM leases")}
    for label, session in model.sessions.items():
        path = [] if session.head is None else model.path(session.head)
        thread = [(role, content or "") for turn_id in path for role, content in model.turns[turn_id].messages]
        assert told[label][: len(thread)] == thread
        assert label in live or len(told[label]) == len(thread)
    assert ask("SELECT count(*) FROM agent_turns") == [(len(model.turns),)]


def _sample(model: Model) -> list[str]:
    """The heads, and some others, changing from check to check."""
    heads = [session.head for session in model.sessions.values() if session.head is not None]
    others = list(model.turns)[model.seq % 5 :: 5]
    return list(dict.fromkeys([*heads[:4], *others[:6]]))


def _check_verbs(ledger: Ledger, model: Model, turn_id: str, frozen: dict[str, Frozen]) -> None:
    context = flat(ledger.context(turn_id))
    assert context == model.context(turn_id)  # I33
    assert ledger.ancestry(turn_id) == model.path(turn_id)
    assert ledger.including(turn_id) == model.including(turn_id)
    assert sorted(row.id for row in ledger.children(turn_id)) == sorted(model.children(turn_id))
    if turn_id in frozen:
        assert frozen[turn_id].context in (None, context)  # I11, I32


def _check_history(ledger: Ledger, model: Model) -> None:
    kept: dict[str, list[tuple[object, ...]]] = {label: [] for label in model.sessions}
    for label, *move in ledger.database.ask(
        "SELECT session_label, id, changed_at, from_thread_id, thread_id, reason FROM session_history ORDER BY id"
    ):
        kept[label].append(tuple(move))
    assert kept == {
        label: [(move.seq, move.at, move.before, move.to, move.reason) for move in session.moves]
        for label, session in model.sessions.items()
    }  # I9


def _check_session(ledger: Ledger, model: Model, label: str) -> None:
    session = model.sessions[label]
    if model.resolve(label) != label:
        return
    for move in session.moves[model.seq % 3 :: 3][:3]:
        for at in (move.at - 1, move.at):
            assert ledger.head(label, at=at) == model.head_at(label, at)  # I14
        for seq in (move.seq - 1, move.seq):
            assert ledger.head(label, seq=seq) == model.head_at_seq(label, seq)  # I13
    row = ledger.session(label)
    assert (row.task_status, row.spawn_tool_call_id) == (session.task_status, session.parent_call)  # I37


def _check_names(ledger: Ledger, model: Model) -> None:
    for alias, target in model.aliases.items():
        assert ledger.session(alias).label == model.resolve(alias) == target  # I36
    links = ledger.database.ask(
        "SELECT s.label, c.id FROM sessions s JOIN tool_calls c ON c.spawned_session_label = s.label"
    )
    spawned = {label: session.parent_call for label, session in model.sessions.items() if session.parent_call}
    assert dict(links) == spawned  # I37, both ways


def heads_in_one_snapshot(ledger: Ledger, write: Callable[[], None]) -> None:
    """I39: heads and turns of one snapshot belong together, whatever is committed meanwhile."""
    with ledger.database.read() as tx:
        before = tx.rows("all_sessions"), tx.first("counts")
        write()
        after = tx.rows("all_sessions"), tx.first("counts")
        for row in after[0]:
            assert row[1] is None or tx.first("turn_by_id", id=row[1]) is not None
    assert before == after


_STATEMENTS = {
    "delete turn": "DELETE FROM turns WHERE id = '{turn}'",
    "model of turn": "UPDATE turns SET model = 'other' WHERE id = '{turn}'",
    "status of turn": "UPDATE turns SET status = 'streaming', seal_seq = NULL, turn_hash = NULL WHERE id = '{turn}'",
    "parent of turn": "UPDATE turns SET parent_turn_id = '{turn}' WHERE id = '{turn}'",
    "content of message": "UPDATE messages SET content = 'other' WHERE turn_id = '{turn}'",
    "result of call": "UPDATE tool_calls SET result_json = '1' WHERE turn_id = '{turn}'",
    "delete history": "DELETE FROM session_history WHERE id > 0",
    "history": "UPDATE session_history SET thread_id = '{turn}'",
    "log": "UPDATE log SET at = 1",
    "delete sessions": "DELETE FROM sessions",
}
TAMPERINGS = sorted(_STATEMENTS)


def refuses(ledger: Ledger, what: str, turn_id: str) -> None:
    """I1: the database itself refuses to change what is sealed (or there is no such row to change)."""
    statement = _STATEMENTS[what].format(turn=turn_id)
    before = ledger.get(turn_id), ledger.counts()
    try:
        _raw(ledger, statement)
    except (apsw.ConstraintError, psycopg.Error) as refusal:
        assert "ledger:" in str(refusal) or "foreign key" in str(refusal).lower()  # noqa: PT017 - it may also find no row
    assert (ledger.get(turn_id), ledger.counts()) == before


def _raw(ledger: Ledger, statement: str) -> None:
    if ledger.database.dialect == "sqlite":
        connection = apsw.Connection(ledger.database.url.removeprefix("sqlite:///"))
        try:
            connection.execute(statement)
        finally:
            connection.close()
    else:
        with psycopg.connect(ledger.database.dsn, autocommit=True) as other:  # type: ignore[attr-defined]
            other.execute(statement.encode())
