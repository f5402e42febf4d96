"""`verify`, `doctor`, `sql`: looking closely, never touching."""

import csv
import io
import time
from pathlib import Path

import apsw
import pytest

from agents_ledger.cli.health import examine, problems_of, warnings_of
from tests.cli.conftest import Ldg


def test_verify_names_the_first_bad_row(ldg: Ldg) -> None:
    message_id, turn_id = _changed_behind_its_back(ldg)
    report = ldg.json("verify", code=1)
    assert not report["good"]
    assert any(finding["row"] in (message_id, turn_id) for finding in report["findings"])
    said = ldg.text("verify", code=1)
    assert said.startswith(f"not good: the first bad row is {report['findings'][0]['place']}")


def _changed_behind_its_back(ldg: Ldg) -> tuple[str, str]:
    connection = apsw.Connection(ldg.url.removeprefix("sqlite:///"))
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    message_id, turn_id = connection.execute("SELECT id, turn_id FROM messages WHERE role = 'user' LIMIT 1").get
    connection.execute("UPDATE messages SET content = 'I never said this' WHERE id = ?", (message_id,))
    connection.close()
    return message_id, turn_id


def test_doctor_is_content_with_a_new_ledger(ldg: Ldg) -> None:
    found = ldg.json("doctor")
    assert found["good"]
    assert found["facts"]["engine"] == "SQLite"
    assert found["facts"]["wal_reset_bug"] is False
    assert found["migrations"]
    assert found["counts"]["live"] == 0
    said = ldg.text("doctor")
    assert "journal mode   wal" in said
    assert "healthy" in said


def test_doctor_warns_of_network_folders_and_unsafe_settings(ldg: Ldg) -> None:
    facts = {"filesystem": "fuse.sshfs", "wal_reset_bug": True, "journal_mode": "wal", "version": "3.50.0"}
    assert "network file system (fuse.sshfs)" in warnings_of(facts)[0]
    assert "can lose data" in problems_of(facts)[0]
    assert "power failure" in problems_of({"synchronous": "off"})[0]
    with ldg.open() as ledger:
        assert examine(ledger).problems == []


def test_damage_is_an_answer_of_verify_and_doctor(ldg: Ldg) -> None:
    path = Path(ldg.url.removeprefix("sqlite:///"))
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xa5" * 16384)
    assert not ldg.json("verify", code=1)["good"]
    assert "not good" in ldg.text("verify", code=1)
    assert ldg.json("doctor", code=1)["problems"]
    assert "wrong: " in ldg.text("doctor", code=1)


def test_sql_as_table_csv_and_json(ldg: Ldg) -> None:
    query = "SELECT tool_name, count(*) AS n FROM tool_calls GROUP BY 1 ORDER BY 1"
    assert ldg.text("sql", query).splitlines()[0].split() == ["tool_name", "n"]
    assert list(csv.reader(io.StringIO(ldg.text("sql", query, "--csv"))))[1] == ["Edit", "4"]
    assert ldg.json("sql", query)["rows"][0] == ["Edit", 4]
    assert ldg.json("sql", "-", stdin="SELECT 1 AS one") == {"columns": ["one"], "rows": [[1]], "more": False}
    assert ldg.json("sql", "SELECT x'00ff' AS b, NULL AS n")["rows"] == [["00ff", None]]
    assert ldg.text("sql", "SELECT 1 WHERE 0") == "no rows\n"


def test_sql_has_a_limit_and_says_so(ldg: Ldg) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    done = ldg.run("sql", endless, "--limit", "5")
    assert done.stdout.split() == ["i", "1", "2", "3", "4", "5"]
    assert "only the first 5 rows" in done.stderr
    assert ldg.json("sql", endless, "--limit", "5")["more"] is True


def test_sql_stops_in_time(ldg: Ldg) -> None:
    began = time.monotonic()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    assert "took too long" in ldg.text("sql", endless, "--timeout", "0.1", code=2)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM turns",
        "UPDATE sessions SET label = 'x'",
        "INSERT INTO log VALUES (1)",
        "DROP TABLE turns",
        "CREATE TABLE mine (a)",
        "CREATE TEMP TABLE mine (a)",
        "ATTACH 'other.db' AS other",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "VACUUM INTO 'copy.db'",
        "SELECT load_extension('evil')",
        "SELECT 1; DELETE FROM turns",
        "BEGIN",
    ],
)
def test_sql_can_only_read(ldg: Ldg, query: str) -> None:
    assert ldg.json("sql", query, code=2)["error"]["kind"] in ("ReadOnlyStore", "BadInput")
    assert ldg.text("sql", query, code=2).startswith("ldg: ")
    assert ldg.json()["counts"]["turns"] == 13


def test_sql_mistakes_are_answered_in_the_engines_words(ldg: Ldg) -> None:
    assert "no such table" in ldg.text("sql", "SELECT * FROM nowhere", code=2)
    assert "no query" in ldg.text("sql", " ", code=2)
