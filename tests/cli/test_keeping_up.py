"""A sync that is interrupted, and one that follows live sessions: the real command, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pytest

from agents_ledger import Ledger
from agents_ledger.cli.sync import Asked
from agents_ledger.ledger.digest import digest
from tests.cli.conftest import Ldg
from tests.cli.test_capture import FORK, MAIN, asked
from tests.support.homes import SAMPLES, go_home

_MAIN = "from agents_ledger.cli.main import main; main()"
_FILES = 240


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """More sessions than a moment is enough for."""
    folder = tmp_path / "many"
    folder.mkdir()
    sample = (SAMPLES / f"claude-code/{MAIN}.jsonl").read_text()
    uuids = {json.loads(line).get("uuid") for line in sample.splitlines()} - {None}
    for number in range(_FILES):
        text = sample.replace(MAIN, f"{number:08x}{MAIN[8:]}")
        for uuid in uuids:
            text = text.replace(uuid, f"{number:08x}{uuid[8:]}")
        (folder / f"{number:08x}{MAIN[8:]}.jsonl").write_text(text)
    return folder


def test_ctrl_c_at_any_moment_leaves_everything_sound_and_the_next_sync_goes_on(many: Path, tmp_path: Path) -> None:
    ldg = Ldg(f"sqlite:///{tmp_path / 'cut.db'}")
    interrupted = kept = 0
    again = f"`ldg --db {ldg.url} sync --path {many}`"
    for more_bytes in (1, 100_000, 100_000):
        enough_bytes = size_of(tmp_path / "cut.db") + more_bytes
        with started("--db", ldg.url, "sync", "--path", str(many)) as process:
            until_so_much_is_written(tmp_path / "cut.db", process, enough_bytes)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        interrupted += process.returncode == 130
        assert process.returncode in (0, 130), said
        before, kept = kept, ldg.json("verify")["sessions"]
        how = f"what was read is kept, {again} goes on from there"
        how = how if kept > before else f"nothing is kept yet, {again} begins again"
        assert process.returncode == 0 or said == f"ldg: interrupted; {how}\n"
        assert ldg.json("verify")["good"]
    assert interrupted, "it was too fast to be interrupted: make more files"
    assert ldg.json("sync", "--path", str(many))["sessions"] == _FILES
    assert ldg.json("sync", "--path", str(many))["unchanged"] == _FILES
    assert ldg.json("verify")["good"]
    whole = Ldg(f"sqlite:///{tmp_path / 'whole.db'}")
    whole.text("sync", "--path", str(many))
    assert said_by(ldg) == said_by(whole)


def test_who_is_interrupted_is_told_all_that_was_asked_for() -> None:
    told = Asked(("/some of them",), ("pi", "codex"))
    assert told.options == " --source pi --source codex --path '/some of them'"
    told.are_samples = True  # a folder of ours, that nobody named
    assert told.options == " --source pi --source codex"


def test_watch_follows_a_session_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_home(tmp_path / "home", monkeypatch)
    folder = tmp_path / "home/.claude/projects/weather"
    folder.mkdir(parents=True)
    sample = (SAMPLES / f"claude-code/{MAIN}.jsonl").read_bytes()
    path = folder / f"{MAIN}.jsonl"
    path.write_bytes(sample)
    with started("--db", str(tmp_path / "live.db"), "sync", "--watch", "--json") as process:
        assert process.stdout is not None
        first = next_round(process.stdout)
        assert first["new_sessions"] == 1
        asked(path, "And the day after?")
        second = next_round(process.stdout)
        assert (second["labels"], second["new_turns"]) == ([f"claude-code:{MAIN}"], 1)
        (folder / f"{FORK}.jsonl").write_bytes((SAMPLES / f"claude-code/{FORK}.jsonl").read_bytes())
        third = next_round(process.stdout)
        assert third["labels"] == [f"claude-code:{FORK}"]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert Ldg(str(tmp_path / "live.db")).json("verify")["good"]


def test_watch_says_a_line_for_each_round(tmp_path: Path) -> None:
    path = tmp_path / "some" / f"{MAIN}.jsonl"
    path.parent.mkdir()
    path.write_bytes((SAMPLES / f"claude-code/{MAIN}.jsonl").read_bytes())
    with started("--db", str(tmp_path / "live.db"), "sync", "--watch", "--path", str(path.parent)) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(4)]
        assert said[-1] == "watching; Ctrl-C ends it\n"
        asked(path, "And the day after?")
        line = process.stdout.readline()
        assert f"  claude-code:{MAIN}  1 new turn, " in line
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


def started(*args: str) -> "subprocess.Popen[str]":
    """`ldg` in a process of its own, in a pipe as anybody has it."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", _MAIN, *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def until_so_much_is_written(path: Path, process: "subprocess.Popen[str]", size_bytes: int) -> None:
    """Waits for some bytes of the ledger (or the end), so that there is something to interrupt."""
    for _ in range(6000):
        if size_of(path) >= size_bytes:
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.005)
            return
    raise AssertionError("nothing was written")


def size_of(path: Path) -> int:
    """The bytes of a ledger, with what is on the way into it."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def next_round(stdout: IO[str]) -> Any:
    """The next line of JSON."""
    return json.loads(stdout.readline())


def said_by(ldg: Ldg) -> str:
    """What a ledger says, whatever the way in which it came."""
    with Ledger.open(ldg.url, readonly=True) as ledger:
        return digest(ledger.database)
