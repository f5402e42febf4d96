"""Exports of a thread that was written here, on both engines."""

import json
from pathlib import Path

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.forking import fork_into
from agents_ledger.exports.targets import REQUESTS, TARGETS
from agents_ledger.model.formats import Machine
from tests.cli.conftest import Ldg
from tests.exports.schemas import assert_valid


def test_every_session_of_the_demo_is_exported(url: str) -> None:
    ldg = Ldg(url)
    labels = ldg.json("demo")["sessions"]
    for target in TARGETS:
        for label in labels:
            said = ldg.text("export", label, "--format", target)
            if target in REQUESTS:
                assert_valid(target, json.loads(said))
            else:
                assert ldg.json("head", label)["turn_id"] in said


@pytest.mark.parametrize("target", TARGETS)
def test_a_call_stands_before_the_answer_that_came_after_it(url: str, target: str) -> None:
    with Ledger.open(url) as ledger:
        live_exchange(ledger)
    assert_sorted(Ldg(url).text("export", "main", "--format", target))


@pytest.mark.parametrize("agent", ["claude-code", "codex", "pi", "openclaw"])
def test_so_it_does_in_the_files_of_another_agent(ledger: Ledger, agent: str, tmp_path: Path) -> None:
    turn_id = live_exchange(ledger)
    made = fork_into(ledger, Machine(str(tmp_path / "home"), {}, "linux"), turn_id, agent)
    assert_sorted(Path(made.path).read_text(encoding="utf-8"))


def live_exchange(ledger: Ledger) -> str:
    with ledger.turn("main", query="Rename the module") as turn:
        turn.call("Bash", {"command": "git mv"}).complete({"exit": 0})
        turn.reply("Done with it.")
    return turn.id


def assert_sorted(text: str) -> None:
    places = [text.rindex(words) for words in ("Rename the module", "git mv", "exit", "Done with it.")]
    assert places == sorted(places)
