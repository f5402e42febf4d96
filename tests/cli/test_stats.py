"""`ldg stats` and `ldg audit`, as text, JSON and CSV."""

import csv
import io
import re
from pathlib import Path

import pytest

from agents_ledger import Call, Message, Settings, Turn, Usage
from tests.cli.conftest import Ldg
from tests.support.planted import KEY
from tests.support.terminals import COLOURS, on_a_terminal

HEAD = ["DAY", "CALLS", "INPUT", "CACHED", "CACHE", "WRITE", "OUTPUT", "REASONING", "TOTAL", "COST"]


@pytest.fixture
def used(ldg: Ldg) -> Ldg:
    """The demo, and a model that nobody knows."""
    with ldg.open() as ledger:
        settings = Settings(model="=cmd|x", tools=("Read",), workspace_path="/w")
        ledger.append("odd", Turn(messages=(Message("user", "Hi."),), usage=Usage(input=7), settings=settings))
    return ldg


def test_tokens_and_cost_stand_in_columns(used: Ldg) -> None:
    said = used.text("stats")
    assert said.splitlines()[0].split() == HEAD
    assert "cost: list prices of genai-prices" in said
    assert "without a known price, and not in the cost: =cmd|x (7 tokens)" in said
    assert "total" in said


def test_what_is_new_in_the_sessions_counts_if_it_is_to_be_taken_first(ldg: Ldg, home: Path) -> None:
    assert (home / ".claude").is_dir()
    before = ldg.json("stats")["total"]["calls"]
    fresh = ldg.json("stats", "--sync")["total"]["calls"]
    assert fresh > before
    assert ldg.json("sync")["new_turns"] == 0
    assert ldg.json("stats")["total"]["calls"] == fresh


def test_json_and_csv_have_the_same_lines(used: Ldg) -> None:
    found = used.json("stats", "--by", "model,session")
    rows = list(csv.DictReader(io.StringIO(used.text("stats", "--by", "model", "--by", "session", "--csv"))))
    assert [row["total_tokens"] for row in rows] == [str(line["total_tokens"]) for line in found["lines"]]
    assert sum(line["total_tokens"] for line in found["lines"]) == found["total"]["total_tokens"]
    assert [row for row in rows if row["model"] == "'=cmd|x"]
    assert found["by"] == ["model", "session"]
    assert found["unpriced"] == {"=cmd|x": 7}


def test_the_other_statistics(used: Ldg) -> None:
    assert used.text("stats", "tools").splitlines()[0].split()[:4] == ["TOOL", "CALLS", "FAILED", "RATE"]
    assert used.json("stats", "tools")["tools"][0]["failure_rate"] >= 0
    assert "EDITS" in used.text("stats", "files")
    assert used.json("stats", "turns")["turns"]
    assert used.text("stats", "turns", "--limit", "1").count("\n") == 2
    assert isinstance(used.json("stats", "contexts")["contexts"], list)
    assert used.text("stats", "tools", "--csv").startswith("tool,calls,failed,rejected")


def test_what_can_not_be_asked_is_said(used: Ldg, empty: Ldg) -> None:
    assert "'colour' is none of day, week" in used.text("stats", "--by", "colour", code=2)
    assert "choose one of them" in used.run("stats", "--csv", "--json").stdout
    assert "--by is for tokens" in used.text("stats", "tools", "--by", "day", code=2)
    assert "No tokens are known here" in empty.text("stats")
    assert empty.json("stats")["lines"] == []
    for what, said in (("tools", "No tool"), ("files", "No file"), ("turns", "No turn"), ("contexts", "No tokens")):
        assert said in empty.text("stats", what)


def test_filters_that_nothing_fits_are_named_and_the_hint_leads_to_the_same_ledger(used: Ldg, empty: Ldg) -> None:
    hint = f"`ldg --db {used.url} sync` captures the agents' sessions.\n"
    for given in (("--origin", "nope"), ("--since", "2127")):
        assert used.text("stats", *given) == f"No tokens fit these filters. {hint}"
    assert used.text("stats", "tools", "--origin", "nope") == f"No tool call fits these filters. {hint}"
    assert used.text("stats", "files", "--origin", "nope") == f"No edited file fits these filters. {hint}"
    assert used.text("stats", "turns", "--origin", "nope") == f"No turn fits these filters. {hint}"
    assert used.text("stats", "contexts", "--origin", "nope") == f"No tokens fit these filters. {hint}"
    assert f"known here. `ldg --db {empty.url} sync`" in empty.text("stats")


def test_an_audit_says_what_it_found_and_ends_with_1(used: Ldg, empty: Ldg) -> None:
    assert empty.json("audit") == {
        "findings": [],
        "counts": dict.fromkeys(("tool", "permission", "outside", "failed", "secret"), 0),
        "more": False,
    }
    with used.open() as ledger:
        settings = Settings(tools=("Read",), workspace_path="/w")
        calls = (Call("Write", {"file_path": "/etc/x"}), Call("Bash", {"command": f"echo {KEY}"}, status="failed"))
        ledger.append("odd", Turn(calls=calls, settings=settings))
    found = used.json("audit", "--project", "/w", code=1)
    assert found["counts"] == {"tool": 2, "permission": 0, "outside": 1, "failed": 1, "secret": 1}
    assert KEY not in str(found)
    assert not found["more"]
    said = used.text("audit", "--rule", "outside", "--project", "/w", code=1)
    assert "/etc/x" in said
    assert "1  files written outside the workspace" in said
    assert used.json("audit", "--project", "/w", "--limit", "1", code=1)["more"]
    assert (
        used.text("audit", "--rule", "permission") == "       0  permissions used but not granted --rule permission\n"
    )


def test_a_small_terminal_is_told_which_columns_have_no_room(used: Ldg, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    with used.open() as ledger:
        ledger.append("odd", Turn(calls=(Call("Bash", {"command": "false"}, status="failed", error="exit 1"),)))
    for args, elsewhere in (
        (("stats", "--by", "session"), "--csv"),
        (("stats", "tools"), "--csv"),
        (("stats", "turns"), "--csv"),
        (("audit",), "--json"),
    ):
        said = " ".join(COLOURS.sub("", on_a_terminal("--db", used.url, *args)[0]).split())
        [count] = re.findall(rf"(\d) columns? left out \(.*?\): a wider terminal or {elsewhere} has (?:them|it)", said)
        assert int(count) >= 1
    monkeypatch.setenv("COLUMNS", "200")
    assert "left out" not in on_a_terminal("--db", used.url, "stats", "--by", "session")[0]
