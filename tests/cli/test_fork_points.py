"""`ldg fork --find`, as people and scripts see it."""

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Ldg
from tests.search.conftest import fill, said
from tests.support.terminals import COLOURS, on_a_terminal

QUESTION = "why is the cache of the login page stale?"


def told(url: str) -> Ldg:
    with fill(url) as ledger:
        ledger.append("evil", said("okapi \x1b]52;c;AAAA\x07 \u202e here", "fine"))
    return Ldg(url)


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Ldg:
    """A ledger for all tests here; forks add sessions to it, no words."""
    return told(f"sqlite:///{tmp_path_factory.mktemp('points') / 'ledger.db'}")


def test_points_are_listed_with_their_reasons(talking: Ldg) -> None:
    shown = talking.text("fork", "--find", QUESTION, "--limit", "2").splitlines()
    assert shown[0].startswith(" 1  ")
    assert "  words  pi · turn 1 · " in shown[0]
    assert shown[1].startswith("    why: speaks of ")
    assert "tokens, cheap to go on with" in shown[1]
    assert shown[2] == "    here: why is the cache stale"
    assert f"fork --find '{QUESTION}' --pick 1 --into claude-code" in shown[-2]
    assert f"--query '{QUESTION}'" in shown[-1]


def test_the_json_has_every_reason_as_data_on_both_engines(url: str) -> None:
    page = told(url).json("fork", "--find", QUESTION, "--budget", "2k", "--origin", "pi")
    assert (page["question"], page["budget_tokens"], page["by"]) == (QUESTION, 2000, "words")
    best = page["points"][0]
    assert best["session"] == "words"
    assert {"cache", "stale"} <= set(best["words"])
    assert best["stands"][0]["turn_id"] == best["turn_id"]
    assert best["context_tokens"] < 2000
    assert {point["origin"] for point in page["points"]} == {"pi"}


def test_nothing_found_is_said_and_is_the_answer_no(talking: Ldg) -> None:
    assert "No turn has anything of it" in talking.text("fork", "--find", "tomatoes", code=1)
    assert talking.json("fork", "--find", "tomatoes", code=1)["points"] == []
    assert "No turn has anything of it" in talking.text("fork", "--find", "tomatoes", "--into", "pi", code=1)


def test_a_picked_point_is_forked(talking: Ldg) -> None:
    points = talking.json("fork", "--find", QUESTION)["points"]
    made = talking.json("fork", "--find", QUESTION, "--pick", "2", "--label", "again")
    assert made["session"]["thread_id"] == points[1]["turn_id"] == made["point"]["turn_id"]
    assert talking.json("head", "again")["turn_id"] == points[1]["turn_id"]
    done = talking.run("fork", "--find", QUESTION, "--label", "first")
    assert "starting at" in done.stderr
    assert done.stdout.startswith("forked: first begins at ")
    assert talking.json("head", "first")["turn_id"] == points[0]["turn_id"]


def test_a_found_turn_goes_into_an_agent(talking: Ldg, tmp_path: Path) -> None:
    made = talking.json("fork", "--find", QUESTION, "--into", "pi", "--to", str(tmp_path / "out"))
    assert made["fork"]["turn_id"] == made["point"]["turn_id"]
    assert "why is the cache stale" in Path(made["fork"]["path"]).read_text("utf-8")


def test_a_request_for_an_api_ends_with_the_question(talking: Ldg) -> None:
    asked = talking.run("fork", "--find", QUESTION, "--into", "openai").stdout
    assert "why is the cache stale" in asked
    assert asked.index("why is the cache stale") < asked.index(QUESTION)


def test_on_a_terminal_one_is_asked_which(talking: Ldg, monkeypatch: pytest.MonkeyPatch) -> None:
    class Typed(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    points = talking.json("fork", "--find", QUESTION)["points"]
    monkeypatch.setattr(sys, "stdin", Typed("2\n"))
    said_, code = on_a_terminal("--db", talking.url, "fork", "--find", QUESTION, "--label", "asked")
    assert code == 0
    assert "Fork at (0: nowhere)" in COLOURS.sub("", said_)
    assert talking.json("head", "asked")["turn_id"] == points[1]["turn_id"]
    monkeypatch.setattr(sys, "stdin", Typed("0\n"))
    assert on_a_terminal("--db", talking.url, "fork", "--find", QUESTION, "--label", "none")[1] == 1
    assert talking.json("head", "none", code=2)["error"]["kind"] == "NotFound"


def test_text_of_others_can_not_act_on_the_terminal(talking: Ldg) -> None:
    shown = talking.text("fork", "--find", "okapi")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "␛]52" in shown


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ((), "name a TURN, or let one be found"),
        (("zoo", "--find", "x"), "name a TURN, or let one be found"),
        (("zoo", "--pick", "1"), "go with --find"),
        (("zoo", "--origin", "pi"), "go with --find"),
        (("--find", "zebra", "--pick", "50"), "there are only 3 starting points"),
        (("--find", "zebra", "--budget", "much"), "no number of tokens"),
    ],
)
def test_what_does_not_go_together_is_said(talking: Ldg, given: tuple[str, ...], what: str) -> None:
    assert what in talking.text("fork", *given, code=2)
