"""`ldg replay`: by keys, by time, at once, as JSON lines."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import pytest

from agents_ledger import Call, Message, Turn
from agents_ledger.cli.stepping import Walk, asking
from agents_ledger.cli.words import span
from tests.cli.conftest import Ldg
from tests.support.terminals import COLOURS

GOLDEN = Path(__file__).parents[1] / "golden"


def test_a_session_once_more(ldg: Ldg) -> None:
    said = ldg.text("replay", "fix-login")
    assert said.index("▸ Read") < said.index("✓ Read") < said.index("▸ Shell") < said.index("✗ Shell")
    assert "      - date.today()\n      + datetime.now(UTC).date()\n" in said
    assert "  +3 min\n" in said
    assert "summary of 4 turns" in said
    assert "HTTP 529" in said
    assert said.count("— completed") == 6
    assert ldg.text("replay", "telegram:4711") == said


def test_what_the_model_saw(ldg: Ldg) -> None:
    said = ldg.text("replay", "fix-login", "--context")
    assert "saw system prompt 69 B · 1 message · 0 calls · 60 B" in said
    assert re.search(r"summary \d+ B \(\w{8}\) · 1 earlier turn", said)
    whole = ldg.text("replay", "fix-login", "--context", "--full")
    assert whole.count("what the model saw when this turn began:") == 6
    assert "[summary of earlier turns]" in whole


def test_events_are_lines_of_json_with_their_times(ldg: Ldg) -> None:
    events = _events(ldg, "fix-login", "--context")
    assert [event["n"] for event in events] == list(range(1, len(events) + 1))
    assert {event["kind"] for event in events} == {"turn", "message", "call", "result", "end"}
    assert all(event["after_ms"] >= 0 and event["at"] > 0 for event in events)
    call = next(event for event in events if event["kind"] == "call")
    assert "result_json" not in call["call"]
    changed = [change for event in events if event["kind"] == "call" for change in event["changes"]]
    assert [change["path"] for change in changed] == ["tests/test_login.py", "tests/test_cart.py"]
    assert [line["sign"] for line in changed[0]["lines"]] == ["-", "+"]
    assert next(event for event in events if event["kind"] == "result")["call_id"] == call["call"]["id"]
    seen = [event["seen"] for event in events if event.get("seen")]
    assert seen[0]["turns"] == 0
    assert "context" not in events[0]
    full = _events(ldg, "fix-login", "--context", "--full")
    assert [len(event["context"]["turns"]) for event in full if event.get("context")] == [1, 2, 3, 4, 5, 1]


def test_one_turn_or_the_last_ones(ldg: Ldg) -> None:
    head = ldg.json("head", "fix-login")["turn_id"]
    assert {event["turn_id"] for event in _events(ldg, head[-8:])} == {head}
    assert {event["depth"] for event in _events(ldg, "fix-login", "--last", "2")} == {6, 7}
    assert {event["depth"] for event in _events(ldg, "fix-login", "--last", "99")} == set(range(1, 8))


def test_pauses_are_scaled_and_capped(empty: Ldg) -> None:
    with empty.open() as ledger:
        for start in (0, 7_200_000):
            ledger.append("slow", Turn((Message("user", "x", created_at=start),), started_at=start, completed_at=start))
    began = time.monotonic()
    empty.text("replay", "slow", "--speed", "36000")  # two hours in 0.2 s
    assert time.monotonic() - began >= 0.2
    began = time.monotonic()
    assert len(_events(empty, "slow", "--max-pause", "0.1")) == 6
    assert 0.1 <= time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("nowhere",), "no turn or session"),
        (("fix-login", "--no-pause", "--speed", "2"), "--no-pause leaves nothing"),
        (("fix-login", "--speed", "0"), "--speed"),
    ],
)
def test_what_can_not_be_replayed_is_said(ldg: Ldg, args: tuple[str, ...], words: str) -> None:
    assert words in ldg.text("replay", *args, code=2)


def test_a_session_without_turns_has_nothing_to_replay(empty: Ldg) -> None:
    with empty.open() as ledger:
        ledger.create_session("new")
    assert "nothing to replay" in empty.text("replay", "new", code=2)


def test_keys_go_forward_back_and_from_turn_to_turn(ldg: Ldg) -> None:
    with ldg.open() as ledger:
        walk = Walk(ledger.replay(ledger.head("fix-login") or ""))
        places = [walk.place()]
        for step in (walk.next, walk.next_turn, walk.previous, walk.turn_before, walk.turn_before, walk.previous):
            step()
            places.append(walk.place())
        assert places == [
            "turn 1 of 7, step 1 of 12",
            "turn 1 of 7, step 2 of 12",
            "turn 2 of 7, step 1 of 4",
            "turn 1 of 7, step 12 of 12",
            "turn 1 of 7, step 12 of 12",
            "turn 1 of 7, step 12 of 12",
            "turn 1 of 7, step 11 of 12",
        ]
        steps = 1
        while walk.next():
            steps += 1
        assert walk.is_last
        assert not walk.next_turn()


def test_a_reader_at_a_terminal_steps_by_keys(ldg: Ldg) -> None:
    with Keys("--db", ldg.url, "replay", "fix-login") as keys:
        assert "turn 1 of 7, step 1 of 12" in keys.until("quit")
        keys.press(" ")
        assert "careful engineer" in keys.until("step 2 of 12")
        keys.press("t")
        assert "+3 min" in keys.until("turn 2 of 7, step 1 of")
        keys.press("c")
        assert "The login test fails" in keys.until("end of what it saw")
        keys.until("turn 2 of 7")
        keys.press("p")
        assert "turn 1 · " in keys.until("step 12 of 12")
        keys.press("a")
        assert "time zone" in keys.until("— completed · 658 tokens")
    assert keys.code == 0


@pytest.mark.parametrize("width", [39, 60, 79, 159])
def test_the_line_that_asks_for_a_key_names_whole_keys_and_always_how_to_quit(width: int) -> None:
    line = asking(["— turn 12 of 34, step 5 of 67", "the end"], width)
    assert len(line) <= width
    assert line.rstrip().endswith(" · q quit")
    assert ("space next · p back · t turn · c context" in line) == (width == 159)


def test_ctrl_c_ends_a_replay_by_keys_with_130(ldg: Ldg) -> None:
    with Keys("--db", ldg.url, "replay", "fix-login") as keys:
        keys.until("quit")
        keys.interrupt()
    assert keys.code == 130


def test_diffs_come_from_what_agents_kept_beside_their_results(empty: Ldg, tmp_path: Path) -> None:
    (tmp_path / "claude.jsonl").write_text(_edited())
    assert empty.json("sync", "--path", str(tmp_path / "claude.jsonl"))["new_turns"] == 1
    label = empty.json("sessions")["sessions"][0]["label"]
    diff = "changed /a.txt  +1  -1\n      ⋯ -7,2 +7,2\n        kept\n      - old\n      + new\n"
    for command in ("show", "replay"):
        assert diff in empty.text(command, label)
    with empty.open() as ledger:
        ledger.append("own", Turn(calls=(Call("Write", {"file_path": "a.txt", "content": "one\ntwo"}, "ok"),)))
    assert "added a.txt  +2\n      + one\n      + two\n" in empty.text("replay", "own")


@pytest.mark.parametrize("format_name", ["claude-code", "codex", "pi"])
def test_what_real_agents_did_is_shown_and_replayed(empty: Ldg, format_name: str) -> None:
    empty.json("sync", "--path", str(GOLDEN / format_name))
    labels = [line["label"] for line in empty.json("sessions", "--limit", "500")["sessions"] if line["depth"]]
    assert len(labels) > 3
    for label in labels[:8]:
        assert empty.text("replay", label, "--context").startswith(("○", "●", "✗", "◆", "◌"))
        assert empty.text("show", label)


def test_spans_as_people_say_them() -> None:
    said = [span(ms) for ms in (340, 1_200, 60_000, 200_000, 3_600_000, 18_720_000, 273_600_000)]
    assert said == ["340 ms", "1.2 s", "1 min", "3 min 20 s", "1 h", "5 h 12 min", "3 d 4 h"]


class Keys:
    """A person at a terminal: reads, and presses keys."""

    def __init__(self, *args: str) -> None:
        self._ours, theirs = pty.openpty()
        command = [sys.executable, "-c", "from agents_ledger.cli.main import main; main()", *args]
        env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
        self._process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)
        self.code: int | None = None
        self._unread = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._process.kill()
        self.code = self._process.wait(timeout=60)
        os.close(self._ours)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def until(self, words: str) -> str:
        """What is written until some words appear."""
        while words not in self._unread:
            ready, _, _ = select.select([self._ours], [], [], 60)
            assert ready, self._unread
            self._unread += COLOURS.sub("", os.read(self._ours, 65536).decode("utf-8", "replace"))
        said, found, self._unread = self._unread.partition(words)
        return said + found


def _events(ldg: Ldg, *args: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ldg.text("replay", *args, "--json").splitlines()]


def _edited() -> str:
    """A file of Claude Code's with one call that wrote over a file."""
    common = {"sessionId": "00000000-1111-4222-8333-0000000000ed", "cwd": "/w", "version": "2.1.50"}
    at = "2026-11-14T11:00:0{}.000Z"
    asked = {"type": "user", "uuid": "u1", "parentUuid": None, "timestamp": at.format(1), **common}
    used = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "/a.txt", "content": "kept\nnew\n"}}
    done = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    hunk = {"oldStart": 7, "oldLines": 2, "newStart": 7, "newLines": 2, "lines": [" kept", "-old", "+new"]}
    lines = [
        asked | {"message": {"role": "user", "content": "Write it."}},
        asked
        | {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "timestamp": at.format(2)}
        | {"message": {"role": "assistant", "id": "m1", "model": "claude", "content": [used]}},
        asked
        | {"uuid": "u3", "parentUuid": "u2", "timestamp": at.format(3)}
        | {"message": {"role": "user", "content": [done]}}
        | {"toolUseResult": {"filePath": "/a.txt", "structuredPatch": [hunk]}},
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)
