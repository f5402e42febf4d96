"""The command line on a ledger with the demo in it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agents_ledger import Ledger
from agents_ledger.cli.main import cli
from tests.support.homes import go_home, settle


class Ldg:
    """`ldg` on one ledger."""

    def __init__(self, url: str) -> None:
        self.url = url

    def run(self, *args: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(cli, ["--db", self.url, *args], input=stdin)

    def apart(self, *args: str) -> subprocess.CompletedProcess[str]:
        """The same in a process of its own."""
        command = [str(Path(sys.executable).parent / "ldg"), "--db", self.url, *args]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def text(self, *args: str, code: int = 0, stdin: str | None = None) -> str:
        done = self.run(*args, stdin=stdin)
        assert done.exit_code == code, done.output
        assert code != 2 or done.stdout == ""
        return done.stdout if code != 2 else done.stderr

    def json(self, *args: str, code: int = 0, stdin: str | None = None) -> Any:
        done = self.run(*args, "--json", stdin=stdin)
        assert done.exit_code == code, done.output
        assert done.stderr == ""
        return json.loads(done.stdout)

    def open(self) -> Ledger:
        return Ledger.open(self.url)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which every agent has worked."""
    folder = tmp_path / "home"
    go_home(folder, monkeypatch)
    settle(folder)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder of the tests' own, the same for all."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, told once."""
    path = tmp_path_factory.mktemp("told") / "told.db"
    assert Ldg(str(path)).json("demo")["added"] == 13
    return path


@pytest.fixture
def ldg(told: Path, tmp_path: Path) -> Ldg:
    """The demo in a file of its own."""
    path = tmp_path / "ledger.db"
    shutil.copy(told, path)
    return Ldg(f"sqlite:///{path}")


@pytest.fixture
def empty(tmp_path: Path) -> Ldg:
    """A ledger without anything in it."""
    found = Ldg(f"sqlite:///{tmp_path / 'empty.db'}")
    found.open().close()
    return found
