"""Conversations are private: every file and folder that is made is its owner's alone, whatever the umask is."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from agents_ledger import Ledger, Message, Turn
from agents_ledger.cli.main import cli
from tests.cli.conftest import Ldg


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest, home: Path) -> Iterator[int]:
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """The rights of everything below a folder, and of the folder."""
    return {str(path): stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.rglob("*"))}


def assert_private(folder: Path, *, at_least: int) -> None:
    found = modes(folder)
    assert len(found) >= at_least, found
    wrong = {path: oct(mode) for path, mode in found.items() if mode != (0o700 if Path(path).is_dir() else 0o600)}
    assert wrong == {}


def made(folder: Path) -> Path:
    """A folder to write into, which is the reader's own."""
    folder.mkdir()
    folder.chmod(0o700)
    return folder


def test_a_ledger_its_log_and_its_backups(tmp_path: Path, umask: int) -> None:
    folder = made(tmp_path / "ledgers")
    path = folder / "a.db"
    with Ledger.open(str(path)) as ledger:
        ledger.append("main", Turn(messages=(Message("user", "private"),)))
        assert_private(folder, at_least=4)  # -wal and -shm are there
    ldg = Ldg(str(path))
    ldg.text("backup", str(folder / "b.db"))
    ldg.text("restore", str(folder / "b.db"))
    Ldg(str(folder / "new.db")).text("restore", str(folder / "b.db"))
    ldg.text("rebuild", str(folder / "rebuilt.db"), code=1)  # (what was written here has no evidence)
    assert_private(folder, at_least=6)


def test_the_data_folder(home: Path, umask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    place = made(home / "data") / "of" / "mine"
    monkeypatch.setenv("XDG_DATA_HOME", str(place))
    done = CliRunner().invoke(cli, ["sync"])
    assert done.exit_code == 0, done.output
    assert (place / "agents-ledger" / "ledger.db").exists()
    assert_private(home / "data", at_least=5)


def test_exports(tmp_path: Path, home: Path, umask: int) -> None:
    ldg = Ldg(str(made(tmp_path / "ledgers") / "a.db"))
    ldg.text("sync")
    folder = made(tmp_path / "exports")
    captures = ldg.json("captures", "--limit", "500")["captures"]
    database = next(each for each in captures if each["shape"] == "database")
    lines = next(each for each in captures if each["shape"] == "lines")
    session = ldg.json("sessions", "--origin", "claude-code")["sessions"][0]["label"]
    message = ldg.json("sql", "SELECT m.id FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.role = 'user'")
    ldg.text("export", str(database["id"]), "--output", str(folder / "rows.db"))
    ldg.text("export", str(lines["id"]), "--output", str(folder / "lines"))
    ldg.text("export", str(message["rows"][0][0]), "--output", str(folder / "record"))
    many = ldg.json("sql", "SELECT session_label FROM session_captures GROUP BY 1 HAVING count(*) > 1 LIMIT 1")["rows"]
    assert many
    ldg.text("export", many[0][0], "--output", str(folder / "several"))
    for form in ("markdown", "html", "jsonl", "openai"):
        ldg.text("export", session, "--format", form, "--output", str(folder / form))
    ldg.text("fork", session, "--into", "markdown", "--to", str(folder / "told" / "here"))
    assert_private(folder, at_least=10)


def test_forks_into_an_agents_files(tmp_path: Path, home: Path, umask: int) -> None:
    ldg = Ldg(str(made(tmp_path / "ledgers") / "a.db"))
    ldg.text("sync")
    session = ldg.json("sessions", "--origin", "claude-code")["sessions"][0]["label"]
    for agent in ("claude-code", "agentuse"):
        if umask == 0o777 and os.geteuid():
            pytest.skip("the agent's own folders follow the umask: nobody but root could write there")
        fork = ldg.json("fork", session, "--into", agent, "--to", str(made(tmp_path / agent)))["fork"]
        path = Path(fork["path"])
        files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
        assert files
        assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
