"""Files and databases that are not what they should be: foreign, newer, older, damaged, out of reach."""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from click.testing import CliRunner

from agents_ledger import Ledger, Message, Turn, config
from agents_ledger.cli.main import cli
from agents_ledger.errors import (
    BadInput,
    LedgerError,
    NeedsMigration,
    NewerLedger,
    NotALedger,
    NotFound,
    ReadOnlyStore,
    StoreError,
    StoreUnreachable,
)
from tests.cli.conftest import Ldg
from tests.crash.processes import outcome_of
from tests.support.databases import PostgresServer

NOBODY = 65534


def say(text: str) -> Turn:
    return Turn(messages=(Message("user", text),))


def change(url: str, sql: str) -> None:
    """Changes a database behind the ledger's back, with a plain client."""
    if url.startswith("postgresql"):
        with psycopg.connect(url) as server:
            server.execute(sql)
    else:
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file, file:
            file.executescript(sql)


@pytest.fixture
def bare_url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database without a table."""
    if engine == "sqlite":
        (tmp_path / "empty.db").touch()
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return str(request.getfixturevalue("server").bare_url())


def tables_of(url: str) -> int:
    if url.startswith("postgresql"):
        with psycopg.connect(url) as server:
            row = server.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
            assert row is not None
            return int(row[0])
    return Path(url.removeprefix("sqlite:///")).stat().st_size


def test_a_database_with_other_tables_is_left_alone(bare_url: str) -> None:
    change(bare_url, "CREATE TABLE recipes (id INTEGER PRIMARY KEY)")
    before = tables_of(bare_url)
    for readonly in (False, True):
        with pytest.raises(NotALedger, match=r"other tables \(recipes\).*name an empty database"):
            Ledger.open(bare_url, readonly=readonly)
    assert tables_of(bare_url) == before


def test_an_empty_database_opened_read_only_stays_empty_and_opened_for_writing_becomes_a_ledger(bare_url: str) -> None:
    with pytest.raises(NotALedger, match="is empty: `ldg migrate`"):
        Ledger.open(bare_url, readonly=True)
    assert tables_of(bare_url) == 0
    with Ledger.open(bare_url) as ledger:
        ledger.append("main", say("hello"))
        assert ledger.verify().findings == []
        assert ledger.database.facts().get("journal_mode", "wal") == "wal"


def test_an_older_ledger_opened_read_only_says_what_to_run_and_is_unchanged(url: str) -> None:
    Ledger.open(url).close()
    change(url, "DELETE FROM ledger_migrations")
    for _ in range(2):
        with pytest.raises(NeedsMigration, match=r"older version.*ldg migrate"):
            Ledger.open(url, readonly=True)


def test_a_ledger_of_a_newer_version_is_refused_by_name(url: str) -> None:
    with Ledger.open(url) as ledger:
        ledger.append("main", say("hello"))
    change(url, "INSERT INTO ledger_migrations (name, checksum, applied_at) VALUES ('29990101_wings', 'x', 1)")
    for readonly in (False, True):
        with pytest.raises(NewerLedger, match=r"29990101_wings.*pip install -U agents-ledger"):
            Ledger.open(url, readonly=readonly)


def test_a_ledger_of_a_modified_program_is_refused(url: str) -> None:
    Ledger.open(url).close()
    change(url, "UPDATE ledger_migrations SET checksum = 'other'")
    with pytest.raises(StoreError, match=r"differs from this program's.*restore a backup"):
        Ledger.open(url)


def test_a_ledger_opened_read_only_refuses_to_write_and_can_be_read(url: str) -> None:
    with Ledger.open(url) as ledger:
        turn_id = ledger.append("main", say("hello"))
    with Ledger.open(url, readonly=True) as ledger:
        assert ledger.head("main") == turn_id
        assert ledger.verify().findings == []
        for use in (lambda: ledger.append("main", say("x")), lambda: ledger.turn("main", "x"), ledger.index):
            with pytest.raises(ReadOnlyStore, match="open it for writing"):
                use()


@pytest.mark.parametrize("content", [b"Dear diary,\n" * 500, b"xy", os.urandom(8192), b"SQLite format 3\x00" * 300])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "diary.txt"
    path.write_bytes(content)
    for readonly in (False, True):
        with pytest.raises(StoreError, match=r"diary\.txt.*restore a backup"):
            Ledger.open(f"sqlite:///{path}", readonly=readonly)
    assert path.read_bytes() == content


def test_there_is_no_ledger_to_read_and_none_is_made(tmp_path: Path) -> None:
    for readonly, create in ((True, True), (False, False)):
        with pytest.raises(NotFound, match="there is no ledger at"):
            Ledger.open(f"sqlite:///{tmp_path / 'none.db'}", readonly=readonly, create=create)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_can_not_hold_a_ledger_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "ledger.db", Path("/proc/version/ledger.db")):
        with pytest.raises(StoreUnreachable, match="is not a folder: create it first"):
            Ledger.open(f"sqlite:///{path}")
    for readonly in (False, True):
        with pytest.raises(StoreUnreachable, match=r"is a folder, .* --db .*/ledger\.db"):
            Ledger.open(f"sqlite:///{tmp_path}", readonly=readonly)
    with pytest.raises(StoreUnreachable, match=r"can't (open|create)"):
        Ledger.open(f"sqlite:///{tmp_path / ('x' * 300)}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["mysql://host/name", "sqlite://ledger.db", ":memory:", "", "sqlite:///", "a\x00b"])
def test_a_url_that_names_no_ledger_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(BadInput, match="sqlite:///"):
        Ledger.open(url)


@pytest.mark.parametrize(
    "url",
    [
        *(" ", "\t\n", "sqlite:///%20", "sqlite:", "sqlite:ledger.db", "SQLite:/ledger.db"),
        *("file:", "file:ledger.db", "file:ledger.db?mode=ro", "FILE:ledger.db", "file:///ledger.db"),
        *("postgresql:ledger", "postgres:", "http:ledger"),
    ],
)
def test_what_is_neither_a_path_nor_a_url_makes_no_file(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for readonly in (False, True):
        with pytest.raises(BadInput, match=r"sqlite:///.*ledger\.db"):
            Ledger.open(url, readonly=readonly)
    monkeypatch.setenv("AGENTS_LEDGER_DB", url)
    for args in (["sync"], ["sessions"], ["backup", "copy.db"], ["restore", "copy.db"]):
        done = CliRunner().invoke(cli, args)
        assert done.exit_code == 2, args
        assert done.stderr.startswith("ldg: ")
        assert "bug" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_blank_variable_is_named_and_an_empty_one_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTS_LEDGER_DB", " ")
    assert "AGENTS_LEDGER_DB is blank" in CliRunner().invoke(cli, ["sessions"]).stderr
    assert config.ledger_url(str(tmp_path / "a.db")) == str(tmp_path / "a.db"), "--db is taken all the same"
    monkeypatch.setenv("AGENTS_LEDGER_DB", "")
    assert config.ledger_url().endswith("/ledger.db")


def test_a_file_may_be_called_like_a_url_below_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Ledger.open("./file:ledger.db").close()
    assert (tmp_path / "file:ledger.db").exists()


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="is the server running"):
        Ledger.open(f"postgresql:///ledger?host={tmp_path}")


def test_a_server_that_answers_says_what_is_missing(server: PostgresServer) -> None:
    whole = urlsplit(server.new_url())
    with pytest.raises(StoreUnreachable, match=r'database "nothing" does not exist.*createdb'):
        Ledger.open(urlunsplit(whole._replace(path="/nothing")))
    with pytest.raises(StoreUnreachable, match="look at the user"):
        Ledger.open(urlunsplit(whole._replace(netloc="nobody-of-this-name:@")))


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that an ordinary user can reach (pytest's own belongs to whoever runs the tests)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)


def as_nobody(work: Callable[[], object]) -> str:
    """The error of something that an ordinary user does. Permissions don't bind root: root's child becomes nobody."""

    def in_child() -> str:
        if os.getuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        try:
            work()
        except LedgerError as problem:
            return f"{type(problem).__name__}: {problem}"
        return "no error"

    return outcome_of(in_child)


def test_a_folder_without_permission_to_write_is_named(shared_folder: Path) -> None:
    shared_folder.chmod(0o555)
    said = as_nobody(lambda: Ledger.open(f"sqlite:///{shared_folder / 'ledger.db'}"))
    assert said.startswith("StoreUnreachable: can't create")
    assert "choose a folder that you may write to" in said


def test_a_folder_that_may_not_be_entered_is_named(shared_folder: Path) -> None:
    Ledger.open(f"sqlite:///{shared_folder / 'ledger.db'}").close()
    shared_folder.chmod(0o700 if os.getuid() == 0 else 0o000)
    for readonly in (False, True):
        said = as_nobody(lambda: Ledger.open(f"sqlite:///{shared_folder / 'ledger.db'}", readonly=readonly))  # noqa: B023
        assert said.startswith("StoreUnreachable: can't open")


def test_a_file_without_permission_to_write_says_so_and_can_be_read(shared_folder: Path) -> None:
    path = shared_folder / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        ledger.append("main", say("hello"))
    shared_folder.chmod(0o777)
    path.chmod(0o444)

    def write() -> None:
        with Ledger.open(f"sqlite:///{path}") as ledger:
            ledger.append("main", say("x"))

    def read() -> None:
        with Ledger.open(f"sqlite:///{path}", readonly=True) as ledger:
            assert ledger.verify().findings == []

    said = as_nobody(write)
    assert said.startswith("ReadOnlyStore")
    assert "or open it read-only" in said
    assert as_nobody(read) == "no error"


def test_a_search_finds_what_is_indexed_where_nothing_can_be_written(shared_folder: Path) -> None:
    path = shared_folder / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        ledger.append("main", say("early needle"))
        ledger.index()
        ledger.append("main", say("late needle"))
    shared_folder.chmod(0o777)
    path.chmod(0o444)

    def search() -> None:
        found = Ldg(str(path)).run("search", "needle")
        assert found.exit_code == 0
        assert "early" in found.stdout
        assert "late" not in found.stdout
        assert "the newest turns are not found" in found.stderr

    assert as_nobody(search) == "no error"


def test_a_ledger_on_a_medium_that_can_not_be_written_is_read(
    shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shared_folder / "a 100% ?#.db"
    with Ledger.open(f"sqlite:///{path}".replace("%", "%25")) as ledger:
        ledger.append("main", say("hello"))
    plain = os.statvfs(shared_folder)

    def sealed(_: object) -> os.statvfs_result:
        return os.statvfs_result([*plain[:8], plain.f_flag | os.ST_RDONLY, plain.f_namemax])

    def read() -> None:
        with Ledger.open(str(path), readonly=True) as ledger:
            assert ledger.verify().findings == []

    path.chmod(0o444)
    shared_folder.chmod(0o555)
    assert as_nobody(read).startswith("ReadOnlyStore")  # whoever may write there may do so now
    monkeypatch.setattr(os, "statvfs", sealed)
    assert as_nobody(read) == "no error"
