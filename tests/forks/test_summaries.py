"""A compaction of pi, forked into another agent, is read back as a compaction with the same summary."""

from pathlib import Path

import pytest

from agents_ledger.capture.forking import fork_into
from agents_ledger.errors import BadInput
from agents_ledger.model.formats import Machine
from tests.capture.folders import GOLDEN, assert_sound, copy, opened, rows, sync

AGENTS = ("claude-code", "codex", "openclaw", "qwen", "gemini", "opencode")
CASES = ("pi/v3", "pi/compaction-inside-a-turn", "codex/compaction", "opencode/compaction")
ACROSS = [(case, agent) for case in CASES for agent in AGENTS if not case.startswith(agent)]


@pytest.mark.parametrize(("case", "agent"), ACROSS)
def test_a_forked_compaction_has_its_summary(case: str, agent: str, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, copy(GOLDEN / case / "source", tmp_path / "source"))
        found = rows(
            ledger,
            """SELECT c.turn_id AS compacted, (SELECT min(id) FROM turns WHERE parent_turn_id = c.turn_id) AS after
            FROM compactions c WHERE c.summary != ''""",
        )
        assert found
        for number, turn_id in enumerate(str(turn) for row in found for turn in row.values() if turn is not None):
            wanted = ledger.context(turn_id).summary
            assert wanted
            made = fork_into(ledger, machine, turn_id, agent)
            with opened(tmp_path / f"again{number}.db") as again:
                sync(again, Path(made.path))
                assert_sound(again)
                summary = again.context(again.head(made.session) or "").summary
                assert summary is not None
                assert wanted in summary
                assert rows(again, "SELECT count(*) AS found FROM compactions") == [{"found": 1}]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_turn_that_leaves_nothing_is_not_forked(agent: str, tmp_path: Path) -> None:
    """A compaction without a summary that kept nothing: the file would have no message in it."""
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, copy(GOLDEN / "pi" / "broken-lines" / "source", tmp_path / "source"))
        (compacted,) = rows(ledger, "SELECT turn_id FROM compactions WHERE summary = ''")
        with pytest.raises(BadInput, match="leaves nothing to continue from"):
            fork_into(ledger, Machine(str(tmp_path / "home"), {}, "linux"), str(compacted["turn_id"]), agent)
        assert not rows(ledger, "SELECT * FROM written_sessions")
    assert not list(tmp_path.glob("home/**/*.json*"))
