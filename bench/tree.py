"""What the tree costs and gives: forks, ancestry, "which sessions included this", bytes."""

from collections.abc import Iterator
from statistics import median

import apsw

from bench.figures import Row, Setup, at_least, at_most, best, machine_factor, ms, seconds
from bench.trees import Tree, deep, wide

# The same questions, asked along parent_turn_id.
_WALK_UP = """
WITH RECURSIVE up(id, parent) AS (
    SELECT id, parent_turn_id FROM turns WHERE id = ?
    UNION ALL SELECT t.id, t.parent_turn_id FROM up JOIN turns t ON t.id = up.parent)
SELECT id FROM up"""
_WALK_DOWN = """
WITH RECURSIVE down(id) AS (
    VALUES (?)
    UNION ALL SELECT t.id FROM down JOIN turns t ON t.parent_turn_id = down.id)
SELECT DISTINCT h.session_label FROM down JOIN session_history h ON h.thread_id = down.id
ORDER BY h.session_label"""
_PAGES = """
SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE
    AND name IN ('segments', 'idx_segments_parent', 'idx_segments_root', 'idx_turns_place', 'idx_turns_type')"""
_COLUMNS = "SELECT segment_id, depth, system_depth, compaction_depth FROM turns"


def fork_rows(setup: Setup) -> Iterator[Row]:
    """A fork at the end of a long path, against one near its root."""
    tree = _deep(setup)

    def fork(turn: str) -> float:
        return seconds(lambda: tree.ledger.fork(turn))

    count = setup.pick(100, 30)
    shallow, far = tree.path[9], tree.path[-1]
    pairs = [best(1, lambda: fork(far), lambda: fork(shallow)) for _ in range(count)]
    ours, other = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    yield at_most("fork", f"at depth {len(tree.path):,}", ms(ours), f"{ms(other)} at depth 10", ours / other, 1.5)


def ancestry_rows(setup: Setup) -> Iterator[Row]:
    """All ids from the root, against a walk from parent to parent."""
    tree = _deep(setup)
    turn, plain = tree.path[-1], tree.plain
    assert tree.ledger.ancestry(turn) == tree.path == _column(plain, _WALK_UP, turn)[::-1]
    view = "SELECT ancestry FROM threads WHERE turn_id = ?"
    ours, walk, viewed = best(
        setup.pick(40, 10),
        lambda: seconds(lambda: tree.ledger.ancestry(turn)),
        lambda: seconds(lambda: _column(plain, _WALK_UP, turn)),
        lambda: seconds(lambda: _column(plain, view, turn)),
    )
    name = f"{len(tree.path):,} turns, {len(tree.path) // 100} segments"
    yield at_least("ancestry", name, ms(ours), f"{ms(walk)} recursive walk", walk / ours, 2.0)
    yield Row("ancestry", "as a column of `threads`", ms(viewed), f"{ms(walk)} recursive walk", walk / viewed)


def bytes_rows(setup: Setup) -> Iterator[Row]:
    """What the places of turns take on disk: segments, their indexes, four columns."""
    tree = _deep(setup)
    turns = tree.ledger.counts()["turns"]
    pages = int(tree.plain.execute(_PAGES).get)
    columns = sum(1 + _stored(value) for row in tree.plain.execute(_COLUMNS) for value in row)
    each = (pages + columns) / turns
    parts = f"pages {pages / turns:.1f} + columns {columns / turns:.1f}"
    yield at_most("tree-bytes", f"{turns:,} turns", f"{each:.1f} bytes a turn", parts, each, 40, "bytes")


def wide_rows(setup: Setup) -> Iterator[Row]:
    """Which of 1,000 sessions included a turn."""
    sessions = setup.pick(1_000, 200)
    with wide(setup, sessions) as tree:
        turn = tree.path[len(tree.path) // 4]
        found = tree.ledger.including(turn)
        assert len(found) == sessions + 1
        assert found == _column(tree.plain, _WALK_DOWN, turn)
        ours, walk = best(
            setup.pick(40, 10),
            lambda: seconds(lambda: tree.ledger.including(turn)),
            lambda: seconds(lambda: _column(tree.plain, _WALK_DOWN, turn)),
        )
    factor = machine_factor()
    name = f"sessions that included Y ({sessions:,})"
    yield at_most("including", name, ms(ours), f"20 ms x {factor:.2f} (machine)", ours * 1000, 20 * factor, "ms")
    yield at_least("including", name, ms(ours), f"{ms(walk)} recursive walk", walk / ours, 2.0)


def _deep(setup: Setup) -> Tree:
    return setup.once("deep", lambda: deep(setup, setup.pick(10_000, 2_000)))


def _stored(value: int) -> int:
    """The bytes of a small whole number in SQLite's record format, beside its one byte of type."""
    return next(
        size for size, limit in ((0, 2), (1, 1 << 7), (2, 1 << 15), (3, 1 << 23), (4, 1 << 31)) if value < limit
    )


def _column(connection: apsw.Connection, sql: str, turn: str) -> list[str]:
    return [row[0] for row in connection.execute(sql, (turn,))]
