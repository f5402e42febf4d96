"""`ldg timeline`, as text, as JSON, and live."""

import json
import re
import signal
import subprocess
import sys

from tests.cli.conftest import Ldg


def test_turns_stand_under_their_day_project_and_session(ldg: Ldg) -> None:
    said = ldg.text("timeline")
    assert re.match(r"\d{4}-\d\d-\d\d$", said.splitlines()[0])
    assert next(line for line in said.splitlines() if re.match(r" {4}\S", line)) == "    fix-login"
    assert "The login test fails about once a day" in said
    assert "subagent" in said
    assert said.count("The login test fails about once a day") == 1


def test_pages_lead_from_the_newest_turn_to_the_first(ldg: Ldg) -> None:
    ids: list[str] = []
    cursor: list[str] = []
    while True:
        found = ldg.json("timeline", "--limit", "5", *cursor)
        ids += [turn["id"] for turn in found["turns"]]
        if found["next"] is None:
            break
        cursor = ["--cursor", found["next"]]
    assert len(ids) == len(set(ids)) == 13
    assert ids == sorted(ids, reverse=True)
    assert f"--cursor {ids[4]}" in ldg.text("timeline", "--limit", "5")


def test_nothing_is_said_as_such(empty: Ldg, ldg: Ldg) -> None:
    assert "Nothing has happened yet" in empty.text("timeline")
    assert "No turn fits these filters" in ldg.text("timeline", "--origin", "nobody")
    assert "leave --cursor out" in ldg.text("timeline", "--follow", "--cursor", "x", code=2)


def test_follow_tells_each_turn_on_a_line_of_its_own_until_it_is_interrupted(ldg: Ldg) -> None:
    entry = "from agents_ledger.cli.main import main; main()"
    command = [sys.executable, "-c", entry, "--db", ldg.url, "timeline", "-f", "--json", "--limit", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        first = [json.loads(running.stdout.readline())["turn"] for _ in range(2)]
        assert first[0]["id"] < first[1]["id"]
        with ldg.open() as ledger:
            ledger.turn("fix-login", "Is it live?").answer("Yes.")
            come = json.loads(running.stdout.readline())["turn"]
        assert come["opening"] == "Is it live?"
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=20) == 130
