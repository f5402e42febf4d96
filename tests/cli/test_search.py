"""`ldg search` and `ldg index`, as people and scripts see them."""

import json
import shlex

import pytest

from agents_ledger import Ledger
from agents_ledger.ledger import embedding
from tests.cli.conftest import Ldg
from tests.search.conftest import fill, said


@pytest.fixture
def talking(url: str) -> Ldg:
    with fill(url) as ledger:
        ledger.append("evil", said("okapi \x1b]52;c;AAAA\x07 \u202e here", "fine"))
    return Ldg(url)


def test_hits_are_grouped_by_session_with_their_words(talking: Ldg) -> None:
    shown = talking.text("search", "zebra", "stripes").splitlines()
    assert shown[0].startswith("zoo  Stripes of the okapi  pi · zoo")
    assert "zebra has stripes" in shown[1]


def test_nothing_found_is_said_and_is_the_answer_no(talking: Ldg) -> None:
    assert "Nothing found" in talking.text("search", "tomatoes", code=1)
    assert talking.json("search", "tomatoes", code=1)["groups"] == []


def test_json_has_ranges_and_no_escape_codes(talking: Ldg) -> None:
    page = talking.json("search", "zebra", "--origin", "pi")
    (hit,) = page["groups"][0]["hits"]
    text, marks = hit["snippet"]["text"], hit["snippet"]["marks"]
    assert {text[start:end] for start, end in marks} == {"zebra"}
    assert page["by"] == "words"


def test_text_of_others_can_not_act_on_the_terminal(talking: Ldg) -> None:
    shown = talking.text("search", "okapi")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "␛]52" in shown


def test_an_exclusion_is_no_option(talking: Ldg) -> None:
    assert "engine" in talking.text("search", "zebra")
    assert "engine" not in talking.text("search", "zebra", "-thought", "--limit", "5")


def test_pages_are_turned_by_cursor(talking: Ldg) -> None:
    first = talking.json("search", "zebra", "--limit", "1")
    second = talking.json("search", "zebra", "--limit", "1", "--cursor", first["next"])
    assert first["groups"][0]["session"] != second["groups"][0]["session"]
    assert f"--cursor {first['next']}" in talking.text("search", "zebra", "--limit", "1")
    assert "not a cursor" in talking.text("search", "zebra", "--cursor", "x", code=2)


@pytest.mark.parametrize(
    "args",
    [
        ("zebra", "--limit", "1", "--words"),
        ("origin:pi", "--limit", "1", "--since", "2020-01-01"),
        ("--limit", "1", "--", "-hello -role:user"),  # `-h` would be a call for help
    ],
)
def test_the_command_for_more_gives_all_pages_one_by_one(talking: Ldg, args: tuple[str, ...]) -> None:
    shown: list[str] = []
    while True:
        lines = talking.text("search", *args).splitlines()
        shown.append(lines[0])
        if not lines[-1].startswith("more: "):
            break
        command = shlex.split(lines[-1])
        assert ("--words" in command) == ("--words" in args)
        assert command[command.index("--limit") + 1] == "1"
        args = tuple(command[command.index("search") + 1 :])
    assert len(shown) == len(set(shown)) > 1


def test_words_ask_more_loosely_than_options_which_ask_as_in_every_list(talking: Ldg) -> None:
    for option in (["--project", "dev"], ["--model", "opus"]):
        assert "Nothing found" in talking.text("search", *option, code=1)
        assert talking.json("timeline", *option)["turns"] == []
    for option in (["--project", "zoo"], ["--project", "/home/dev"], ["--model", "*opus*"]):
        assert talking.json("search", *option)["groups"]
        assert talking.json("timeline", *option)["turns"]
    assert "zoo" in talking.text("search", "zebra project:dev")
    assert "engine" in talking.text("search", "compiles model:opus")
    helped = " ".join(talking.text("search", "--help").split())
    assert "by models with this in their name" in helped
    assert "--model for the whole name ('*opus*' for a part of it)" in helped


def test_a_slip_in_a_query_is_answered_and_noted(talking: Ldg) -> None:
    done = talking.run("search", "zebra", "since:2026-13-40", "role:asistant")
    assert (done.exit_code, done.stdout) == (1, talking.text("search", "tomatoes", code=1))
    assert [line.split(":")[:3] for line in done.stderr.splitlines()] == [
        ["ldg", " since", "2026-13-40 was taken as words"],
        ["ldg", " role", "asistant is nobody's"],
    ]
    assert len(talking.json("search", "zebra since:2026-13-40 role:asistant", code=1)["notes"]) == 2
    assert talking.json("search", "zebra")["notes"] == []


def test_a_search_takes_up_what_is_not_indexed_yet(talking: Ldg) -> None:
    with Ledger.open(talking.url) as ledger:
        ledger.append("late", said("a quokka", "yes"))
    assert "late" in talking.text("search", "quokka")


def test_the_index_is_made_anew(talking: Ldg) -> None:
    assert "up to date" in talking.text("index", "--words", "--again")
    assert "asia" in talking.text("search", "数据库")
    assert json.loads(talking.text("index", "--words", "--json")) == {"semantic": False, "turns": 0}


def test_meaning_asks_for_what_it_needs(talking: Ldg) -> None:
    wanted = f"`ldg --db {shlex.quote(talking.url)} index --semantic`" if embedding.is_installed() else "pip install"
    assert wanted in talking.text("search", "--semantic", "who has stripes there", code=2)
