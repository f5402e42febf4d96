"""What a shell offers: commands, sessions, turns, values of options."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Ldg

_MAIN = "from agents_ledger.cli.main import main; main()"
BREAKS = " \t\n\"'><=;|&(:"


def offers(line: str) -> list[str]:
    """What bash is offered for a line."""
    env = {**os.environ, "_LDG_COMPLETE": "bash_complete", "LDG_LINE": line, "LDG_BREAKS": BREAKS}
    done = subprocess.run([sys.executable, "-c", _MAIN], env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [each.partition(",")[2] for each in done.stdout.splitlines() if each]


def test_commands_options_and_their_values() -> None:
    assert offers("ldg re") == ["rebuild", "replay", "rewind", "restore"]
    assert offers("ldg sessions --st") == ["--status"]
    assert offers("ldg sessions --status ar") == ["archived"]
    assert offers("ldg sync --source c") == ["claude-code", "codex", "cursor"]


def test_names_that_a_command_takes() -> None:
    assert offers("ldg stats --by m") == ["month", "model"]
    assert offers("ldg stats --by day,m") == ["day,month", "day,model"]
    assert "model" not in offers("ldg stats --by model,")
    assert offers("ldg face aix_t") == ["aix_turns", "aix_tool_calls"]
    assert offers("ldg ability ldg:task:") == ["save", "get", "query", "history", "recover"]


def test_sessions_and_turns(ldg: Ldg) -> None:
    at = f"ldg --db {ldg.url}"
    head = ldg.json("head", "fix-login")["turn_id"]
    assert offers(f"{at} show fix") == ["fix-login", "fix-login/search"]
    assert offers(f"{at} rewind ") == ["fix-login", "another-way", "fix-login/search"]
    assert offers(f"{at} show {head[:-2]}") == [head]
    assert offers(f"{at} show {head[-8:-2].lower()}") == [head[-8:]]
    assert offers(f"{at} show zzzzz") == []


def test_labels_with_colons_are_completed_after_the_last_one(empty: Ldg) -> None:
    with empty.open() as ledger:
        ledger.create_session("codex:01a1:x")
        ledger.create_session("codex:02b2")
    assert offers(f"ldg --db {empty.url} show codex:0") == ["01a1:x", "02b2"]
    assert offers(f"ldg --db {empty.url} show codex:01a1:") == ["x"]


def test_a_ledger_that_is_not_there_offers_nothing_and_says_nothing(tmp_path: Path) -> None:
    assert offers(f"ldg --db {tmp_path}/none.db show x") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_takes_the_script_and_completes(ldg: Ldg, tmp_path: Path) -> None:
    program = tmp_path / "ldg"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{_MAIN}' \"$@\"\n")
    program.chmod(0o755)
    script = f"""
        {ldg.text("completion", "bash")}
        COMP_LINE="ldg --db {ldg.url} show fix-login/"; COMP_POINT=${{#COMP_LINE}}
        _ldg_completion {program}; echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "fix-login/search"
