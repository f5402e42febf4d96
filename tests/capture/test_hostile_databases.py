"""Databases that would cost more than they are worth: a problem each, within limits of time and memory, and no more."""

import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.budget import PATIENCE_S, Budget, TooCostly
from tests.capture.folders import GOLDEN, assert_sound, copy, rows

_CPU_S = 45  # of a whole sync: a hostile database alone is stopped after a few seconds
_MEMORY = 1500 << 20
# 20 MB, and a pattern of 100 KB of which all but the last character is found everywhere
_LONG = "replace(printf(''%.*c'', 20000000, ''x''), printf(''%.*c'', 100000, ''x'') || ''y'', ''z'')"
_SHORT = "lower(77)"  # stands for it until there are rows: SQLite computes it when it writes them
_KEY = "composerData:0f0f0f0f-0000-4000-8000-000000000001"
Make = Callable[[Path], None]


def database(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        made_slow(connection)
    os.utime(path, (1_794_800_000, 1_794_800_000))


def made_slow(connection: sqlite3.Connection) -> None:
    connection.executescript(
        f"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, '{_SHORT}', '{_LONG}');"  # noqa: S608
    )


def cursor(path: Path, columns: str, values: str = "('{key}')") -> None:
    filled = values.replace("{key}", _KEY)
    database(path, f"CREATE TABLE cursorDiskKV ({columns}); INSERT INTO cursorDiskKV VALUES {filled};")  # noqa: S608 - ours


def a_value_of_a_gigabyte_of_zeros(folder: Path) -> None:
    cursor(folder / "state.vscdb", "key TEXT UNIQUE, value AS (zeroblob(1000000000))")


def a_value_that_is_computed(folder: Path) -> None:
    cursor(folder / "state.vscdb", f"key TEXT UNIQUE, value AS ({_SHORT})")


def a_key_that_is_computed(folder: Path) -> None:
    cursor(folder / "state.vscdb", f"key TEXT AS ({_SHORT}), value TEXT", "('x')")


def a_row_number_that_is_computed(folder: Path) -> None:
    cursor(folder / "state.vscdb", f"key TEXT, value TEXT, rowid AS ({_SHORT})", "('{key}', '{}')")


def data_that_are_computed(folder: Path) -> None:
    table = f"CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data AS ({_SHORT}))"
    database(folder / "opencode.db", f"{table}; INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1');")  # noqa: S608


def a_header_of_more_pages_than_there_are(folder: Path) -> None:
    path = folder / "state.vscdb"
    cursor(path, "key TEXT UNIQUE, value TEXT", f"('{{key}}', '{'x' * 50_000}')")
    os.truncate(path, 12_288)
    os.utime(path, (1_794_800_000, 1_794_800_000))


def a_tree_without_end(folder: Path) -> None:
    """Fifteen levels of interior pages; all children of each are the next one: more rows than there are atoms."""
    path = folder / "state.vscdb"
    many = ", ".join(f"('other:{at:030}', '{'x' * 400}')" for at in range(300))
    made = "PRAGMA page_size=512; CREATE TABLE cursorDiskKV (key TEXT, value TEXT)"
    database(path, f"{made}; INSERT INTO cursorDiskKV VALUES {many}")  # noqa: S608 - ours
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18])
    with closing(sqlite3.connect(path)) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_schema").fetchone()[0]
    pages = range(2, len(data) // size + 1)
    interior = next(page for page in pages if data[(page - 1) * size] == 5 and page != root)
    leaf = next(page for page in pages if data[(page - 1) * size] == 13)
    model = bytes(data[(interior - 1) * size : interior * size])
    added = len(data) // size + 1
    for level in range(15):
        data += pointing_at(model, added + level + 1 if level < 14 else leaf)
    data[(root - 1) * size : root * size] = pointing_at(model, added)
    data[28:32] = (len(data) // size).to_bytes(4)
    path.write_bytes(data)
    os.utime(path, (1_794_800_000, 1_794_800_000))


def pointing_at(model: bytes, child: int) -> bytes:
    """An interior page with the same child everywhere."""
    page = bytearray(model)
    for cell in range(int.from_bytes(page[3:5])):
        at = int.from_bytes(page[12 + 2 * cell : 14 + 2 * cell])
        page[at : at + 4] = child.to_bytes(4)
    page[8:12] = child.to_bytes(4)
    return bytes(page)


HOSTILE: tuple[Make, ...] = (
    a_value_of_a_gigabyte_of_zeros,
    a_value_that_is_computed,
    a_key_that_is_computed,
    a_row_number_that_is_computed,
    data_that_are_computed,
    a_header_of_more_pages_than_there_are,
    a_tree_without_end,
)


def neighbours(folder: Path) -> None:
    """Good sources before and behind the hostile one, in the order of their names and in that of reading."""
    copy(GOLDEN / "cursor/new-composers/source", folder / "a-good")
    copy(GOLDEN / "opencode/subagent/source", folder / "z-good")
    copy(GOLDEN / "pi/v3/source", folder / "pi")


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def synced(ledger: Path, folder: Path) -> dict[str, Any]:
    """One `ldg sync` in a child that may use little."""
    run = "from agents_ledger.cli.main import main; main()"
    command = [sys.executable, "-c", run, "--db", str(ledger), "--json", "sync", "--path", str(folder)]
    done = subprocess.run(command, preexec_fn=limited, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr.decode()[-2000:])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def problems_at(ledger: Ledger, path: str) -> list[str]:
    sql = f"SELECT code FROM problems WHERE path = '{path}' AND place = -1"  # noqa: S608 - ours
    return [str(row["code"]) for row in rows(ledger, sql)]


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_a_hostile_database_is_a_problem_and_its_neighbours_are_captured(make: Make, tmp_path: Path) -> None:
    folder, ledger = tmp_path / "all", tmp_path / "ledger.db"
    neighbours(folder)
    make(folder / "hostile")
    (hostile,) = (folder / "hostile").iterdir()
    first = synced(ledger, folder)
    assert first["unreadable"] == [str(hostile)]
    assert first["new_sessions"] >= 4
    again = synced(ledger, folder)
    assert again["unreadable"] == [str(hostile)], "it is tried again the next time"
    assert again["new_turns"] == 0
    with Ledger.open(f"sqlite:///{ledger}") as kept:
        assert problems_at(kept, str(hostile)) == ["unreadable"]
        assert_sound(kept)
        assert {str(row["origin"]) for row in rows(kept, "SELECT DISTINCT origin FROM sessions")} == {
            "cursor",
            "opencode",
            "pi",
        }
    good = GOLDEN / "cursor/old-composers/source/User/globalStorage/state.vscdb"
    hostile.with_name("state.vscdb").write_bytes(good.read_bytes())
    if hostile.name != good.name:
        hostile.unlink()
    assert not synced(ledger, folder)["unreadable"]
    with Ledger.open(f"sqlite:///{ledger}") as kept:
        assert not problems_at(kept, str(hostile))


def sparse(path: Path, *, is_logged: bool) -> None:
    """A sound database in a file of 3 GB, nearly all of it a hole."""
    good = GOLDEN / "cursor/old-composers/source/User/globalStorage/state.vscdb"
    path.parent.mkdir(parents=True)
    path.write_bytes(good.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute("CREATE TABLE more (x)")
        log = path.with_name("state.vscdb-wal").read_bytes()
    if is_logged:
        path.with_name("state.vscdb-wal").write_bytes(log)  # a log without its index: the file must be copied
    os.truncate(path, 3 << 30)
    if not is_logged:
        os.utime(path, (1_794_800_000, 1_794_800_000))


@pytest.mark.parametrize("is_logged", [False, True], ids=["in-place", "copied"])
def test_a_sparse_file_costs_what_it_holds(is_logged: bool, tmp_path: Path) -> None:
    folder, ledger = tmp_path / "all", tmp_path / "ledger.db"
    sparse(folder / "state.vscdb", is_logged=is_logged)
    neighbours(folder / "more")
    done = synced(ledger, folder)
    assert not done["unreadable"]
    with Ledger.open(f"sqlite:///{ledger}") as kept:
        found = rows(kept, f"SELECT 1 FROM captures WHERE bundle = '{folder}/state.vscdb'")  # noqa: S608 - ours
        assert found


def test_views_and_virtual_tables_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    database(
        folder / "state.vscdb",
        f"""CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value TEXT);
        CREATE VIEW ItemTable AS SELECT 'composer.composerData' AS key, {_SHORT} AS value;
        CREATE VIRTUAL TABLE meta USING fts5(key, value);""",
    )
    done = synced(tmp_path / "ledger.db", folder)
    assert not done["unreadable"]


def test_a_computed_column_that_is_not_needed_is_left_out(tmp_path: Path) -> None:
    copy(GOLDEN / "opencode/subagent/source", tmp_path / "all")
    (path,) = (tmp_path / "all").rglob("*.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"ALTER TABLE session ADD COLUMN x AS ({_SHORT})")
        connection.execute("ALTER TABLE session DROP COLUMN time_archived")
        connection.execute(f"ALTER TABLE session ADD COLUMN time_archived AS ({_SHORT})")
        connection.commit()
        made_slow(connection)
    done = synced(tmp_path / "ledger.db", tmp_path / "all")
    assert not done["unreadable"]
    assert done["new_sessions"] == 2


def test_keys_that_are_not_text_cost_themselves_only(tmp_path: Path) -> None:
    copy(GOLDEN / "cursor/old-composers/source", tmp_path / "all")
    (path,) = (tmp_path / "all").rglob("state.vscdb")
    before = synced(tmp_path / "two.db", tmp_path / "all")["turns"]
    odd = "INSERT INTO cursorDiskKV VALUES (CAST(x'62ff' AS TEXT), 'x'), (x'00', 'y'), (NULL, 'z')"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(odd)
        connection.commit()
    assert synced(tmp_path / "one.db", tmp_path / "all")["turns"] == before > 0


def test_a_budget_grows_with_the_file_and_ends() -> None:
    small, large = Budget(1000), Budget(1 << 30)
    assert small.most_bytes < large.most_bytes
    with pytest.raises(TooCostly, match="MiB"):
        small.spend(small.most_bytes + 1)
    ticks = 0
    while not small.tick():
        ticks += 1
    assert ticks < 2000
    assert "steps" in str(small.stopped())


def test_a_database_that_is_silent_for_too_long_is_stopped() -> None:
    now = 0.0
    budget = Budget(1 << 40, lambda: now)
    for _ in range(10):  # each row is progress
        now += PATIENCE_S - 1
        budget.spend(1)
        assert not budget.tick()
    now += PATIENCE_S + 1
    assert budget.tick()
    assert "no row" in str(budget.stopped())
