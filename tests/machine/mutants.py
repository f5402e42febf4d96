# ruff: noqa: E501 - the pieces of code stand as they are
"""Faults that a test plants into a copy of the real code: the state machine must find each of them.

`main` runs the machine against a package in a folder, and gives 1 when it finds a difference.
"""

import tempfile
from pathlib import Path
from typing import NamedTuple

EXAMPLES = 1000  # it stops at the first difference


class Mutant(NamedTuple):
    """One fault: in `file`, `old` (which occurs exactly once) becomes `new`."""

    name: str
    file: str
    old: str
    new: str


MUTANTS = [
    Mutant(
        "a fork continues in its parent's segment",
        "ledger/append.py",
        "    if is_inner:\n",
        "    if is_inner and depth > 2:\n",
    ),
    Mutant(
        "a new segment forgets where it left its parent",
        "ledger/append.py",
        "parent_segment_id=segment, fork_depth=depth)",
        "parent_segment_id=segment, fork_depth=depth - 1)",
    ),
    Mutant(
        "has_children is not kept",
        "ledger/append.py",
        'tx.run("mark_parent", id=parent_id)',
        "pass",
    ),
    Mutant(
        "compare-and-set does not compare",
        "ledger/append.py",
        "    if not isinstance(expect, Head) and session.thread_id != expect:\n",
        "    if not isinstance(expect, Head) and expect is None:\n",
    ),
    Mutant(
        "a live turn moves its session even if that has moved on",
        "ledger/moves.py",
        '    if row is None or row[1] != expected or row[-1] != "active":\n        return None\n    return move(tx, label, expected, to, reason, at, seq)',
        "    if row is None:\n        return None\n    return move(tx, label, row[1], to, reason, at, seq)",
    ),
    Mutant(
        "a rewind is logged as an advance",
        "ledger/moves.py",
        'return _moved(tx, env, session.label, head, target, "rewind")',
        'return _moved(tx, env, session.label, head, target, "advance")',
    ),
    Mutant(
        "forward goes to the oldest head instead of the last one",
        "store/sql/queries/tree.sql",
        "ORDER BY h.id DESC LIMIT 1;",
        "ORDER BY h.id LIMIT 1;",
    ),
    Mutant(
        "rewind accepts turns of other branches",
        "ledger/moves.py",
        "    if not threads.is_ancestor(tx, read_turn(tx, target).id, head):\n",
        "    if read_turn(tx, target).root_id != read_turn(tx, head).root_id:\n",
    ),
    Mutant(
        "a thread's tokens are the turn's own",
        "model/rules.py",
        "    return min(parent_total + own, LARGEST)\n",
        "    return own\n",
    ),
    Mutant(
        "after a compaction the kept turns are lost",
        "ledger/context.py",
        "    if row.replacement_json is None:\n        yield from _kept(tx, turn, row, turn.compaction_depth)\n",
        "",
    ),
    Mutant(
        "the context keeps the turn before the first kept one",
        "ledger/context.py",
        "threads.path(tx, turn.id, first, at - 1)",
        "threads.path(tx, turn.id, first - 1, at - 1)",
    ),
    Mutant(
        "a finished call names a subagent that does not know of it",
        "ledger/append.py",
        "    for call in _spawning(given):\n",
        "    for call in _spawning(given)[1:]:\n",
    ),
    Mutant(
        "two sessions are each other's subagents",
        "ledger/sessions.py",
        " or _is_above(tx, label, spawn.parent_session_label):\n",
        " or label == spawn.parent_session_label:\n",
    ),
    Mutant(
        "a compaction overtakes a turn that is being written",
        "ledger/compact.py",
        "    if live is not None:\n",
        "    if live is not None and head is None:\n",
    ),
    Mutant(
        "a session that went elsewhere is compacted all the same",
        "ledger/compacting.py",
        "    if not goes_on:\n",
        "    if not goes_on and head is None:\n",
    ),
    Mutant(
        "an older system prompt wins",
        "ledger/build.py",
        "place.depth if rules.has_system_prompt(record.messages) else place.parent_system_depth",
        "place.parent_system_depth or (place.depth if rules.has_system_prompt(record.messages) else 0)",
    ),
    Mutant(
        "the ancestry of a fork goes on with the other branch",
        "store/sql/schema.sqlite.sql",
        "WHERE a.segment_id = chain.segment_id AND a.depth <= chain.through\n            ORDER BY a.depth",
        "WHERE a.segment_id = chain.segment_id\n            ORDER BY a.depth",
    ),
    Mutant(
        "sessions that forked off earlier are counted as including a turn",
        "store/sql/queries/tree.sql",
        "ON s.parent_segment_id = reach.segment_id AND s.fork_depth >= reach.from_depth),\nleft_behind",
        "ON s.parent_segment_id = reach.segment_id),\nleft_behind",
    ),
    Mutant(
        "the head at a time goes by number only",
        "store/sql/queries/sessions.sql",
        "ORDER BY changed_at DESC, id DESC LIMIT 1;",
        "ORDER BY id DESC LIMIT 1;",
    ),
    Mutant(
        "merging leaves the aliases of the merged session behind",
        "ledger/sessions.py",
        '    _follow(tx, env, source.label, target.label, "identity_merge")\n',
        "",
    ),
    Mutant(
        "an alias may hide a live session",
        "ledger/sessions.py",
        '    if own is not None and own[-1] == "active":\n        raise LabelTaken(f"{alias!r} is a live session',
        '    if own is not None and own[-1] == "deleted":\n        raise LabelTaken(f"{alias!r} is a live session',
    ),
    Mutant(
        "a dead writer's turn is completed",
        "ledger/closing.py",
        'finish(tx, env, row, "failed", why, Usage(), reason="recover")',
        'finish(tx, env, row, "completed", None, Usage(), reason="recover")',
    ),
    Mutant(
        "a lost lease goes unnoticed",
        "ledger/live.py",
        "        if held is not None:\n            return Next(*held) if known is None else known\n",
        "        return Next(*held or (90, 90)) if known is None else known\n",
    ),
    Mutant(
        "late words are taken",
        "store/sql/schema.sqlite.sql",
        "CREATE TRIGGER messages_added BEFORE INSERT ON messages\nWHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) > 0\n",
        "CREATE TRIGGER messages_added BEFORE INSERT ON messages\nWHEN (SELECT seal_seq FROM turns WHERE id = NEW.turn_id) < 0\n",
    ),
    Mutant(
        "the same id with other content is taken for the same turn",
        "ledger/append.py",
        "    if moved or content_digest(kept) != content_digest(given.record):\n",
        "    if moved:\n",
    ),
    Mutant(
        "sessions that rewound past a turn are forgotten",
        "store/sql/queries/tree.sql",
        "FROM session_history WHERE reason IN ('rewind', 'merge', 'import'))\n",
        "FROM session_history WHERE reason IN ('merge', 'import'))\n",
    ),
    Mutant(
        "the spawning call does not name its subagent",
        "store/sql/queries/content.sql",
        "UPDATE tool_calls SET spawned_session_label = :label\n",
        "UPDATE tool_calls SET spawned_session_label = CASE WHEN :label = '' THEN '' END\n",
    ),
    Mutant(
        "a session that goes on in another segment is looked for in the old one",
        "store/sql/schema.sqlite.sql",
        "CREATE TRIGGER sessions_pointed AFTER UPDATE OF thread_id ON sessions\nWHEN ",
        "CREATE TRIGGER sessions_pointed AFTER UPDATE OF thread_id ON sessions\nWHEN OLD.thread_id IS NULL AND ",
    ),
    Mutant(
        "the parent's hash is left out of the seal",
        "ledger/append.py",
        "    seq = seal(tx, given, place.parent_hash, now)\n",
        "    seq = seal(tx, given, None, now)\n",
    ),
    Mutant(
        "sealed messages can be changed by plain SQL",
        "store/sql/schema.sqlite.sql",
        "CREATE TRIGGER messages_sealed BEFORE UPDATE ON messages\nWHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) > 0",
        "CREATE TRIGGER messages_sealed BEFORE UPDATE ON messages\nWHEN (SELECT seal_seq FROM turns WHERE id = OLD.turn_id) > 0 AND 1 = 0",
    ),
]


def main(folder: Path) -> int:
    """Runs the machine; 0 if it finds nothing."""
    import agents_ledger  # noqa: PLC0415 - from the mutated folder

    assert Path(agents_ledger.__file__).is_relative_to(folder), "the copy must be the one that runs"
    from hypothesis import settings  # noqa: PLC0415
    from hypothesis.stateful import run_state_machine_as_test  # noqa: PLC0415

    from tests.machine.test_machine import PROFILE, sqlite_machine  # noqa: PLC0415

    profile = settings(
        PROFILE,
        max_examples=EXAMPLES,
        print_blob=False,
        derandomize=True,
    )
    with tempfile.TemporaryDirectory(dir=folder) as place:
        try:
            run_state_machine_as_test(sqlite_machine(Path(place)), settings=profile)
        except Exception as found:  # noqa: BLE001 - whatever it is, the fault was noticed
            print(f"{type(found).__name__}: {found}")  # noqa: T201 - for whoever looks why
            return 1
    return 0
