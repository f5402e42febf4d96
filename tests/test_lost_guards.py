"""A trigger or view of the schema that is gone, switched off or another one is found, and said what it means."""

from contextlib import closing

import apsw
import psycopg
import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.cli.health import examine
from agents_ledger.store.guards import made
from agents_ledger.store.statements import Dialect
from tests.cli.conftest import Ldg

Named = set[tuple[str, str]]


@pytest.fixture
def told(url: str) -> str:
    """A ledger with two turns."""
    with Ledger.open(url) as ledger:
        for text in ("one", "two"):
            ledger.append("main", Turn(messages=(Message("user", text),)))
    return url


def run(url: str, *statements: str) -> None:
    """Plain SQL, by nobody of ours."""
    if url.startswith("postgresql"):
        with psycopg.connect(url, autocommit=True) as server:
            for sql in statements:
                server.execute(sql.encode())
        return
    with closing(apsw.Connection(url.removeprefix("sqlite:///"))) as file:
        for sql in statements:
            file.execute(sql)


def named(url: str) -> Named:
    with Ledger.open(url, readonly=True) as ledger:
        return {(finding.place, finding.row) for finding in ledger.verify(limit=1000).findings}


def examined(url: str) -> list[str]:
    with Ledger.open(url, readonly=True) as ledger:
        return examine(ledger).problems


def dropping(url: str, kind: str, name: str, table: str) -> str:
    if not url.startswith("postgresql"):
        return f"DROP {kind} {name}"
    return f"DROP VIEW {name} CASCADE" if kind == "view" else f"DROP TRIGGER {name} ON {table}"


def dialect_of(url: str) -> Dialect:
    return "postgres" if url.startswith("postgresql") else "sqlite"


def test_a_report_without_room_for_findings_does_not_say_that_all_is_good(told: str) -> None:
    trigger = "log_fixed"
    run(told, dropping(told, "trigger", trigger, "log"))
    with Ledger.open(told, readonly=True) as ledger:
        assert not ledger.verify(limit=0).is_good


def test_each_trigger_that_is_gone_is_named(told: str) -> None:
    gone: Named = set()
    for kind, name, table in made(dialect_of(told)):
        if kind == "trigger":
            run(told, dropping(told, kind, name, table))
            gone.add((kind, name))
            assert named(told) == gone
    assert len(gone) > 50


def test_each_view_that_is_gone_is_named_and_verify_still_answers(told: str) -> None:
    with Ledger.open(told) as ledger:
        for kind, name, table in sorted(made(dialect_of(told)), reverse=True):
            if kind != "view" or (kind, name) in named(told):
                continue  # (on PostgreSQL it has gone with another one)
            run(told, dropping(told, kind, name, table))
            assert (kind, name) in named(told)
        assert {kind for kind, _ in named(told)} == {"view", "storage"}
        stopped = [each.what for each in ledger.verify(limit=1000).findings if each.place == "storage"]
        assert len(stopped) == 1
        assert "it needs what is lost" in stopped[0]
        assert "session_names" in stopped[0]


def test_doctor_and_verify_say_what_it_means_and_what_to_do(told: str) -> None:
    ldg = Ldg(told)
    before = examined(told)  # (the tests' server has no fsync)
    run(told, dropping(told, "trigger", "log_kept", "log"), dropping(told, "trigger", "segments_path", "segments"))
    run(told, dropping(told, "view", "threads", ""))
    guard, keeper, view = ldg.json("verify", code=1)["findings"]
    assert (guard["row"], keeper["row"], view["row"]) == ("log_kept", "segments_path", "threads")
    assert "plain SQL can change log where the ledger refuses it" in guard["what"]
    assert "what is looked up by is not kept up with segments" in keeper["what"]
    assert "questions that use it fail" in view["what"]
    remedy = "restore a backup (`ldg restore BACKUP`), or `ldg rebuild`"
    assert all(remedy in each["what"] for each in (guard, keeper, view))
    assert ldg.text("verify", code=1).startswith("not good: the trigger log_kept is not as the schema makes it\n")
    said = [f"{each['place']} {each['row']} {each['what']}" for each in (guard, keeper, view)]
    assert ldg.json("doctor", code=1)["problems"] == said + before


def test_a_row_that_was_changed_is_named_before_all_triggers_that_are_gone(told: str) -> None:
    drops = [dropping(told, *key) for key in made(dialect_of(told)) if key[0] == "trigger"]
    run(told, *drops, "UPDATE messages SET content = 'never said' WHERE content = 'two'")
    with Ledger.open(told, readonly=True) as ledger:
        places = [finding.place for finding in ledger.verify().findings]
    assert places == ["turns"] + ["trigger"] * 19


def test_what_others_have_added_is_theirs(told: str) -> None:
    run(told, "CREATE VIEW mine AS SELECT id FROM turns")
    assert named(told) == set()


def test_a_trigger_of_the_same_name_on_another_table_is_none(told: str) -> None:
    where = dropping(told, "trigger", "log_fixed", "log")
    body = (
        "FOR EACH ROW EXECUTE FUNCTION ledger_refuse('x')"
        if told.startswith("postgresql")
        else "BEGIN SELECT RAISE(ABORT, 'ledger: the log never changes'); END"
    )
    run(told, where, f"CREATE TRIGGER log_fixed BEFORE UPDATE ON ledger_facts {body}")
    assert named(told) == {("trigger", "log_fixed")}


@pytest.mark.parametrize("how", ["DISABLE TRIGGER log_fixed", "ENABLE REPLICA TRIGGER log_fixed"])
def test_a_trigger_that_is_switched_off_on_a_server_is_named(told: str, how: str) -> None:
    if not told.startswith("postgresql"):
        return  # SQLite switches them off for a connection, never in the file
    run(told, f"ALTER TABLE log {how}")
    assert named(told) == {("trigger", "log_fixed")}
    run(told, "ALTER TABLE log ENABLE TRIGGER log_fixed")
    assert named(told) == set()


@pytest.mark.parametrize(
    ("kind", "name", "old", "new", "is_found"),
    [
        ("trigger", "turns_sealed", "OLD.seal_seq > 0", "OLD.seal_seq > 9999", True),
        ("trigger", "turns_sealed", "WHEN OLD.", "WHEN FALSE AND OLD.", True),
        ("trigger", "turns_sealed", "model, provider,", "provider,", True),
        ("trigger", "log_fixed", "'ledger: the log never changes'", "'ledger:  the log never changes'", True),
        ("trigger", "log_fixed", "BEGIN", "-- why\nBEGIN /* and how */ ", False),
        ("trigger", "turns_sealed", "WHEN OLD.", "\n  WHEN\tOLD.", False),
        ("view", "threads", "t.thread_tokens AS", "0 AS", True),
        ("view", "threads", "FROM turns t", "FROM turns t WHERE t.depth < 2", True),
        ("view", "threads", "FROM turns t", "FROM   turns\nt -- all of them\n", False),
    ],
)
def test_another_text_is_found_in_a_file_and_another_look_of_it_is_not(
    told: str, kind: str, name: str, old: str, new: str, is_found: bool
) -> None:
    if told.startswith("postgresql"):
        return  # a server keeps no texts
    [text] = [sql for key, sql in made("sqlite").items() if key[:2] == (kind, name)]
    assert old in text
    run(told, f"DROP {kind} {name}", text.replace(old, new))
    assert named(told) == ({(kind, name)} if is_found else set())
