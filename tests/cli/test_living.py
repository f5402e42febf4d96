"""Live turns, where people look: while they are written, and after their writer was killed."""

import pytest

from agents_ledger import Ledger
from tests.cli.conftest import Ldg
from tests.crash.processes import outcome_of

GONE = "its writer is gone: the next command that writes closes it as failed"


def test_a_sessions_first_turn_is_seen_while_it_is_live(empty: Ldg) -> None:
    with empty.open() as ledger, ledger.turn("a", "What are you doing?") as turn:
        turn.stream("I think")
        said = empty.text("show", "a")
        assert "0 turns, 1 live · active" in said
        assert f"◌ {turn.id[-8:]}" in said
        assert "What are you doing?" in said
        assert "I think" in said
        found = empty.json("show", "a")
        assert [record["turn"]["id"] for record in found["live"]] == [turn.id]
        assert (found["turns"], found["left_behind"]) == ([], [])
        assert empty.text("tree", "a") == empty.text("tree")
        assert empty.json("tree", "a")["trees"][0]["root_id"] == turn.id
        assert [line["label"] for line in empty.json("sessions", "--status", "streaming")["sessions"]] == ["a"]
        assert f"`ldg --db {empty.url} show {turn.id}`" in empty.text("context", "a", code=2)
        assert "1 turn is live and could not be checked: a turn is sealed when it ends\n" in empty.text("verify")
        assert "a source may go on" not in empty.text("verify")
        assert empty.json("verify")["live_turns"] == 1
        assert empty.json("doctor")["warnings"] == []


def test_a_live_turn_stands_behind_a_sessions_last_turns(ldg: Ldg) -> None:
    with ldg.open() as ledger, ledger.turn("fix-login", "And now?") as turn:
        said = ldg.text("show", "fix-login", "--limit", "1")
        assert "7 turns, 1 live · " in said
        assert said.index("Once more: the commit message?") < said.index("And now?")
        assert GONE not in said
        assert "And now?" not in ldg.text("show", "fix-login", "--cursor", "7")
        assert turn.id not in [node["turn"]["id"] for node in ldg.json("show", "fix-login")["turns"]]
    assert "live" not in ldg.text("show", "fix-login").splitlines()[1]


@pytest.fixture
def left(empty: Ldg) -> str:
    """A turn whose writer was killed."""

    def work() -> str:
        turn = Ledger.open(empty.url).turn("a", "Tell me")
        turn.stream("The answer is ")
        return turn.id

    return outcome_of(work)


def test_a_turn_that_was_left_behind_is_not_called_live(empty: Ldg, left: str) -> None:
    tree = empty.text("tree", "a")
    assert "writer gone\n" in tree
    assert tree.endswith("writer gone: the next command that writes closes the turn as failed\n")
    assert "live" not in tree
    assert empty.json("tree", "a")["trees"][0]["left_behind"] == [left]
    assert "0 turns, 1 left behind · " in empty.text("show", "a")
    assert f"  {GONE}\n" in empty.text("show", "a")
    assert empty.json("show", "a")["left_behind"] == [left]
    assert empty.text("show", left).startswith(f"◌ {GONE}\n")
    assert empty.json("show", left)["left_behind"] is True
    warning = "1 live turn was left behind by a writer that is gone: the next command that writes closes it as failed"
    assert empty.json("doctor")["warnings"] == [warning]
    assert f"warning: {warning}\n" in empty.text("doctor")
    assert "live now" not in empty.text()


def test_the_next_command_that_writes_closes_it(empty: Ldg, left: str) -> None:
    empty.text("index")
    assert "failed" in empty.text("tree", "a")
    assert (empty.json("tree", "a")["trees"][0]["left_behind"], empty.json("doctor")["warnings"]) == ([], [])
    assert "interrupted: its writer" in empty.text("show", left)
