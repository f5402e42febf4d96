"""Formats of other packages: found by their entry point."""

import os
import subprocess
import sys
from pathlib import Path

ASK = "from agents_ledger.formats import formats; print(*(form.name for form in formats()))"


def names(extra: Path) -> list[str]:
    env = os.environ | {"PYTHONPATH": f"{extra}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_package_adds_its_format_by_an_entry_point(tmp_path: Path) -> None:
    ours = names(tmp_path)
    info = tmp_path / "their_agent-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-agent\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[agents_ledger.formats]\ntheirs = their_agent:FORMAT\n")
    (tmp_path / "their_agent.py").write_text(
        "from msgspec.structs import replace\n"
        "from agents_ledger.formats.codex import FORMAT as CODEX\n"
        "FORMAT = replace(CODEX, name='theirs')\n"
    )
    assert names(tmp_path) == [*ours, "theirs"]
    assert "codex" in ours
