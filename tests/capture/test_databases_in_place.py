"""Other programs' databases are read where they are, or from a private copy; nothing changes, nothing stays behind."""

import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.databases import NotInPlace, copied, in_place
from agents_ledger.capture.discover import SCRATCH as PREFIX
from agents_ledger.capture.scratch import place_for, remove_leftovers, scratch_folder
from agents_ledger.ledger import evidence
from agents_ledger.model.formats import Machine
from agents_ledger.model.frames import unframed
from tests.capture.folders import GOLDEN, assert_sound, opened, rows, sync

_TOKEN = b"crsr_eyJhbGciOi-access-token-of-somebody"
_OLD_S = 1_794_800_000
_RUN = "from agents_ledger.cli.main import main; main()"
_OWNER = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.pragma("journal_mode", sys.argv[2])
connection.pragma("wal_autocheckpoint", 0)
connection.execute("CREATE TABLE IF NOT EXISTS owned (a)")
for name in ("one", "two"):
    connection.execute("INSERT INTO owned VALUES (?)", (name,))
print("ready", flush=True)
sys.stdin.read()
"""
_WRITER = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(60_000)
connection.pragma("synchronous", "off")
at = 0
while True:
    at += 1
    with connection:
        for name in ("first", "last"):
            sql = "UPDATE cursorDiskKV SET value = ? WHERE key = ?"
            connection.execute(sql, (f"{at:020}" * 100, f"bubbleId:both:{name}"))
    if at == 3:
        print("ready", flush=True)
"""


@contextmanager
def process(script: str, *args: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process that says when it is ready, and is killed at the end."""
    command = [sys.executable, "-c", script, *map(str, args)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        try:
            yield running
        finally:
            running.kill()


def cursor(folder: Path) -> Path:
    """Cursor's database, with a token in it that nobody else may have."""
    path = folder / "User" / "globalStorage" / "state.vscdb"
    path.parent.mkdir(parents=True)
    path.write_bytes((GOLDEN / "cursor/old-composers/source/User/globalStorage/state.vscdb").read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', ?)", (_TOKEN.decode(),))
        connection.commit()
    return path


def aged(path: Path) -> Path:
    os.utime(path, (_OLD_S, _OLD_S))
    return path


def picture(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder: mode, time and bytes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (stat.S_IMODE(facts.st_mode), facts.st_mtime_ns, content)
    return found


# each makes a state in which a database may be found; those with a living owner give its process


@contextmanager
def at_rest(path: Path) -> Iterator[None]:
    aged(path)
    yield


@contextmanager
def at_rest_with_wal_mode(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    aged(path)
    yield


@contextmanager
def just_written(path: Path) -> Iterator[None]:
    path.touch()
    yield


@contextmanager
def with_a_living_owner(path: Path) -> Iterator[None]:
    with process(_OWNER, path, "wal"):
        yield


@contextmanager
def with_a_dead_owner(path: Path) -> Iterator[None]:
    with process(_OWNER, path, "wal"):
        pass
    yield


@contextmanager
def with_a_log_and_no_index(path: Path) -> Iterator[None]:
    with process(_OWNER, path, "wal"):
        pass
    path.with_name(f"{path.name}-shm").unlink()
    yield


@contextmanager
def with_a_journal_that_stays(path: Path) -> Iterator[None]:
    with process(_OWNER, path, "persist"):
        pass
    aged(path)
    yield


STATES: tuple[Callable[[Path], object], ...] = (
    at_rest,
    at_rest_with_wal_mode,
    just_written,
    with_a_living_owner,
    with_a_dead_owner,
    with_a_log_and_no_index,
    with_a_journal_that_stays,
)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_reading_changes_nothing_and_leaves_nothing(
    state: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "home").mkdir()
    path = cursor(tmp_path / "all")
    with opened(tmp_path / "home" / "ledger.db") as ledger, state(path):  # type: ignore[attr-defined]
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
        before = picture(tmp_path / "all")
        done = sync(ledger, tmp_path / "all")
        assert not done.unreadable
        assert done.new_sessions > 0
        assert picture(tmp_path / "all") == before
        assert not list((tmp_path / "tmp").iterdir())
        assert not list((tmp_path / "home").glob(f"{PREFIX}*"))
        assert_sound(ledger)


def test_it_is_known_where_reading_in_place_is_safe(tmp_path: Path) -> None:
    ways = {}
    for state in STATES:
        path = cursor(tmp_path / state.__name__)
        with state(path):  # type: ignore[attr-defined]
            try:
                with in_place(str(path)) as source:
                    source.confirm()
                    ways[state.__name__] = "in place"
            except NotInPlace:
                ways[state.__name__] = "copied"
    assert ways == {
        "at_rest": "in place",
        "at_rest_with_wal_mode": "in place",
        "just_written": "copied",
        "with_a_living_owner": "in place",
        "with_a_dead_owner": "in place",
        "with_a_log_and_no_index": "copied",
        "with_a_journal_that_stays": "copied",
    }


@pytest.mark.parametrize("state", [with_a_living_owner, with_a_dead_owner, with_a_log_and_no_index])
def test_what_is_only_in_the_log_is_read(state: Callable[[Path], object], tmp_path: Path) -> None:
    path = cursor(tmp_path)
    sql = "SELECT count(*) FROM owned"
    with state(path):  # type: ignore[attr-defined]
        with copied(str(path), str(tmp_path)) as source:
            assert source.connection.execute(sql).get == 2
        if state is not with_a_log_and_no_index:
            with in_place(str(path)) as source:
                assert source.connection.execute(sql).get == 2


def test_what_changes_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    path = aged(cursor(tmp_path))
    with in_place(str(path)) as source:
        source.confirm()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("INSERT INTO ItemTable VALUES ('x', 'y')")
            connection.commit()
        with pytest.raises(NotInPlace):
            source.confirm()


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_what_is_kept_of_a_database_that_is_being_written_is_one_state(mode: str, tmp_path: Path) -> None:
    path = cursor(tmp_path / "all")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        for name in ("first", "last"):
            connection.execute("INSERT INTO cursorDiskKV VALUES (?, '')", (f"bubbleId:both:{name}",))
        connection.commit()
    with opened(tmp_path / "ledger.db") as ledger, process(_WRITER, path):
        for _ in range(10):
            sync(ledger, path)
        sql = f"SELECT id FROM captures WHERE path = '{path}#both'"  # noqa: S608 - ours
        captures = [int(str(row["id"])) for row in rows(ledger, sql)]
        assert len(captures) > 1
        for capture_id in captures:
            first, last = values(ledger, capture_id)
            assert first == last


def values(ledger: Ledger, capture_id: int) -> list[bytes]:
    with ledger.database.read() as tx:
        return [row.value for _, _, row in unframed(evidence.read(tx, capture_id))]


# copies


def test_a_copy_is_private_and_has_no_name_while_it_is_read(tmp_path: Path) -> None:
    path = cursor(tmp_path / "all")
    with copied(str(path), str(tmp_path / "home")) as source:
        (folder,) = (tmp_path / "home").glob(f"{PREFIX}*")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert not list((folder / "files").iterdir())
        assert source.connection.execute("SELECT count(*) FROM ItemTable").get
    assert not list((tmp_path / "home").iterdir())


def large(folder: Path) -> Path:
    """A database whose copy takes a moment."""
    path = cursor(folder)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE large (x)")
        for _ in range(40):
            connection.execute("INSERT INTO large VALUES (randomblob(4000000))")
        connection.commit()
    return path


def killed_while_copying(command: list[str], home: Path, environ: dict[str, str]) -> list[Path]:
    """Starts a sync, kills it as soon as something is in its copy, and gives what it leaves."""
    until = time.monotonic() + 60
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=environ, umask=0o022, stdout=quiet, stderr=quiet) as running:
        while running.poll() is None and time.monotonic() < until:
            found = [path for path in home.glob(f"{PREFIX}*/files/copy.db") if path.stat().st_size]
            if found:
                running.kill()
                break
        running.wait()
    return list(home.glob(f"{PREFIX}*/files/*"))


def test_a_copy_that_a_killed_sync_left_is_private_and_goes_with_the_next(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    path = large(tmp_path / "all")
    with process(_OWNER, path, "wal"):
        pass
    path.with_name(f"{path.name}-shm").unlink()  # a log without its index: it is always copied
    command = [sys.executable, "-c", _RUN, "--db", str(home / "ledger.db"), "sync", "--path", str(path)]
    environ = {**os.environ, "TMPDIR": str(temporary)}
    left: list[Path] = []
    for _ in range(40):
        left = killed_while_copying(command, home, environ)
        if left:
            break
    assert left, "no sync was caught while it copied"
    assert {stat.S_IMODE(each.stat().st_mode) for each in left} == {0o600}
    assert {stat.S_IMODE(each.parent.stat().st_mode) for each in left} == {0o700}
    subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL)
    assert not list(home.glob(f"{PREFIX}*"))
    assert not list(temporary.iterdir())
    assert not [each for each in (*home.rglob("*"), *temporary.rglob("*")) if _TOKEN in each.read_bytes()]


def test_what_a_living_process_has_is_not_removed(tmp_path: Path) -> None:
    with scratch_folder(str(tmp_path)) as folder:
        remove_leftovers(str(tmp_path))
        assert folder.is_dir()
    dead = tmp_path / f"{PREFIX}dead"
    dead.mkdir()
    (dead / "copy.db").write_bytes(_TOKEN)
    (tmp_path / "other").mkdir()
    remove_leftovers(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_link_that_is_called_like_a_leftover_leads_nowhere(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / f"{PREFIX}x").symlink_to(kept)
    remove_leftovers(str(tmp_path / "home"))
    assert (kept / "file").exists()


def test_copies_lie_beside_the_ledger_or_in_the_users_own_folder(ledger: Ledger, tmp_path: Path) -> None:
    place = place_for(ledger, Machine(home=str(tmp_path), environ={}, platform="linux"))
    if ledger.database.dialect == "sqlite":
        assert place == str(Path(ledger.database.url.removeprefix("sqlite:///")).parent)
        return
    assert place == f"{tmp_path}/.local/state/agents-ledger"
    named = Machine(home="/nowhere", environ={"XDG_STATE_HOME": str(tmp_path / "state")}, platform="linux")
    assert place_for(ledger, named) == f"{tmp_path}/state/agents-ledger"
    with scratch_folder(place_for(ledger, named)) as folder:
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
