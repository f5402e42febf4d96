"""`ldg fork --into` and `ldg open`: what they write, say and refuse."""

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Ldg

SESSION = "claude-code:4e65a7eb-2593-43a3-a404-86e8e2737229"


@pytest.fixture
def ldg(tmp_path: Path, home: Path) -> Ldg:
    made = Ldg(str(tmp_path / "ledger.db"))
    assert home.is_dir()
    made.text("sync")
    return made


@pytest.mark.parametrize(
    ("agent", "program"),
    [
        ("claude-code", "claude --resume"),
        ("codex", "codex resume"),
        ("pi", "pi --session"),
        ("openclaw", "openclaw agent"),
    ],
)
def test_a_fork_says_where_it_is_and_how_to_resume_it(ldg: Ldg, home: Path, agent: str, program: str) -> None:
    said = ldg.text("fork", SESSION, "--into", agent)
    assert f"forked: {agent}:" in said
    assert f"&& {program} " in said
    written = Path(said.split("written: ")[1].split(" (")[0])
    assert written.is_relative_to(home)
    assert written.stat().st_mode & 0o077 == 0
    made = ldg.json("fork", SESSION, "--into", agent)["fork"]
    assert made["session"] == f"{agent}:{made['agent_session']}"
    assert made["turn_id"] == ldg.json("head", SESSION)["turn_id"] == ldg.json("head", made["session"])["turn_id"]
    assert (made["is_copy"], made["is_in_place"]) == (agent == "claude-code", True)


def test_a_fork_for_openclaw_is_in_its_list_beside_what_was_there(ldg: Ldg, home: Path, tmp_path: Path) -> None:
    sessions = home / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    index = sessions / "sessions.json"
    index.write_text('{"agent:main:main": {"sessionId": "a", "own": 1}, /* kept by hand */}')
    made = ldg.json("fork", SESSION, "--into", "openclaw")["fork"]
    key = f"agent:main:explicit:{made['agent_session']}"
    listed = json.loads(index.read_text())
    assert listed.keys() == {"agent:main:main", key}
    assert listed["agent:main:main"] == {"sessionId": "a", "own": 1}
    assert (listed[key]["sessionId"], listed[key]["sessionFile"]) == (made["agent_session"], made["path"])
    ldg.json("fork", SESSION, "--into", "openclaw", "--to", str(tmp_path))
    assert json.loads(index.read_text()) == listed


def test_a_list_that_cannot_be_read_is_not_lost_and_nothing_is_forked(ldg: Ldg, home: Path) -> None:
    sessions = home / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "sessions.json").write_text("{half")
    before = ldg.json("sessions")["sessions"]
    assert "repair it" in ldg.text("fork", SESSION, "--into", "openclaw", code=2)
    assert [path.name for path in sessions.iterdir()] == ["sessions.json"]
    assert (sessions / "sessions.json").read_text() == "{half"
    assert ldg.json("sessions")["sessions"] == before


def test_the_report_names_what_was_not_carried_over(ldg: Ldg) -> None:
    said = ldg.text("fork", SESSION, "--into", "codex", "--report")
    assert "thinking-as-text" in said
    assert "tool-as-text" in said
    assert "--report" in ldg.text("fork", SESSION, "--into", "codex")
    assert "everything was carried over" in ldg.text("fork", SESSION, "--into", "claude-code", "--report")


def test_a_fork_can_be_put_elsewhere(ldg: Ldg, tmp_path: Path) -> None:
    said = ldg.text("fork", SESSION, "--into", "pi", "--to", str(tmp_path / "new" / "folder"))
    (file,) = (tmp_path / "new" / "folder").iterdir()
    assert str(file) in said
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0])["type"] == "session"


def test_what_can_not_be_written_leaves_nothing_behind(ldg: Ldg, tmp_path: Path) -> None:
    before = ldg.json("sessions", "--limit", "500")
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    assert "--to" in ldg.text("fork", SESSION, "--into", "pi", "--to", str(tmp_path / "taken"), code=2)
    assert "claude-code, codex, gemini, openclaw, opencode, pi, qwen" in ldg.text(
        "fork", SESSION, "--into", "emacs", code=2
    )
    assert "--into" in ldg.text("fork", SESSION, "--report", code=2)
    assert "--label" in ldg.text("fork", SESSION, "--into", "pi", "--label", "x", code=2)
    assert ldg.json("sessions", "--limit", "500") == before
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "a file"


def test_open_says_what_resumes_a_session(ldg: Ldg) -> None:
    found = ldg.json("open", SESSION)["open"]
    assert found["command"] == ["claude", "--resume", SESSION.partition(":")[2]]
    typed = f"cd {shlex.quote(found['folder'])} && claude --resume {found['agent_session']}\n"
    head = ldg.json("head", SESSION)["turn_id"]
    assert {ldg.text("open", name) for name in (SESSION, found["agent_session"], head)} == {typed}
    ldg.text("rewind", SESSION)
    assert "--into claude-code" in ldg.text("open", SESSION)


def test_open_runs_the_program_in_the_sessions_folder(
    ldg: Ldg, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no program" in ldg.run("open", SESSION, "--run").stderr
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\necho "$PWD $*" > {tmp_path}/said\nexit 3\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert "no longer there" in ldg.run("open", SESSION, "--run").stderr
    mine = {"type": "user", "uuid": "u" * 36, "parentUuid": None, "sessionId": "my-own", "cwd": str(tmp_path)}
    line = {**mine, "timestamp": "2026-11-20T10:00:00.000Z", "message": {"role": "user", "content": "Hello"}}
    (home / ".claude" / "projects" / "-home-dev-weather" / "my-own.jsonl").write_text(json.dumps(line) + "\n")
    ldg.text("sync")
    assert ldg.run("open", "my-own", "--run").exit_code == 3
    assert (tmp_path / "said").read_text(encoding="utf-8") == f"{tmp_path} --resume my-own\n"


def test_open_refuses_what_no_agent_resumes(ldg: Ldg, home: Path) -> None:
    ldg.text("fork", SESSION, "--label", "only here")
    assert "written here" in ldg.text("open", "only here", code=2)
    subagent = next(
        line["label"] for line in ldg.json("sessions", "--limit", "500")["sessions"] if "/agent-" in line["label"]
    )
    assert "--into" in ldg.text("open", subagent, code=2)
    next(home.glob(f".claude/projects/*/{SESSION.partition(':')[2]}.jsonl")).unlink()
    assert "no longer there" in ldg.text("open", SESSION, code=2)
    assert "no turn or session" in ldg.text("open", "nobody", code=2)
