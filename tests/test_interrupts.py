"""What is interrupted, forked or cut off leaves the rest as it should be."""

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from agents_ledger import AsyncLedger, Ledger, Message, Turn
from agents_ledger.errors import StoreClosed
from agents_ledger.store import forking
from agents_ledger.store.database import Tx
from agents_ledger.store.group import GroupCommit, Job
from agents_ledger.store.postgres import PostgresDatabase
from agents_ledger.store.sqlite_tx import SqliteReadTx, SqliteTx
from tests.crash.processes import outcome_of, run_all
from tests.support.databases import PostgresServer

_LONG_S = 60


def say(text: str) -> Turn:
    return Turn(messages=(Message("user", text), Message("assistant", f"re: {text}")))


@pytest.fixture
def file(tmp_path: Path) -> str:
    """The URL of a new ledger in a file."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


# A process that forks


def test_a_child_and_its_parent_write_to_the_same_file_and_nothing_is_lost(file: str) -> None:
    parent = Ledger.open(file)
    kept = [parent.append("parent", say("before"))]
    may_close, child_is_there = os.pipe()
    may_go_on, parent_has_closed = os.pipe()

    def in_child(pipe: int) -> None:
        with Ledger.open(file) as mine:
            ids = [mine.append("child", say("first"))]
            os.write(child_is_there, b"!")
            os.read(may_go_on, 1)  # the parent has closed its ledger by now: that was not the last one
            ids += [mine.append("child", say(f"{number}")) for number in range(20)]
        os.write(pipe, "\n".join(ids).encode())

    def in_parent() -> None:
        if len(kept) > 1:
            return
        os.read(may_close, 1)
        kept.append(parent.append("parent", say("after")))
        parent.close()
        os.write(parent_has_closed, b"!")
        with Ledger.open(file) as again:
            kept.extend(again.append("parent", say(f"{number}")) for number in range(20))

    theirs = run_all([in_child], in_parent)
    assert (len(theirs), len(kept)) == (21, 22)
    with Ledger.open(file) as ledger:
        assert [ledger.get(turn_id).turn.id for turn_id in kept + theirs] == kept + theirs
        assert ledger.database.check() == []
        assert ledger.verify().is_good


def test_a_fork_waits_for_the_commit_that_is_under_way(file: str) -> None:
    with Ledger.open(file) as ledger:
        ledger.append("main", say("before"))
        is_inside, may_end = threading.Event(), threading.Event()

        def body(_: Tx) -> None:
            is_inside.set()
            may_end.wait(_LONG_S)

        writer = threading.Thread(target=ledger.database.write, args=(body,))
        writer.start()
        is_inside.wait(_LONG_S)
        threading.Timer(0.05, may_end.set).start()
        assert outcome_of(lambda: _written(file)) == "written"
        writer.join()
        ledger.append("main", say("after"))
        assert ledger.verify().is_good


@pytest.mark.parametrize("use", ["read", "write"])
def test_a_file_that_is_in_use_at_the_fork_is_refused_in_the_child(
    file: str, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    monkeypatch.setattr(forking, "PATIENCE_S", 0.01)
    with Ledger.open(file) as ledger:
        turn_id = ledger.append("main", say("before"))
        is_inside, may_end = threading.Event(), threading.Event()

        def stay() -> None:
            is_inside.set()
            may_end.wait(_LONG_S)

        def read() -> None:
            with ledger.database.read() as tx:
                tx.first("turn_by_id", id=turn_id)
                stay()

        user = threading.Thread(target=read if use == "read" else lambda: ledger.database.write(lambda _: stay()))
        user.start()
        is_inside.wait(_LONG_S)
        try:
            with pytest.raises(AssertionError, match="was in use when this process was forked"):
                outcome_of(lambda: _written(file))
        finally:
            may_end.set()
            user.join()
        ledger.append("main", say("after"))
        assert ledger.verify().is_good


def test_a_child_closes_what_it_was_given_though_the_parent_is_in_the_middle_of_a_step(ledger: Ledger) -> None:
    live = ledger.turn("main", "hello")
    with live._lock:  # noqa: SLF001 - as by a thread of the parent's, which the child does not have

        def in_child() -> str:
            closer = threading.Thread(target=ledger.close, daemon=True)
            closer.start()
            closer.join(_LONG_S)
            return "hangs" if closer.is_alive() else "closed"

        assert outcome_of(in_child) == "closed"
    assert live.complete() == ledger.head("main")


def test_whoever_asks_whether_something_happened_hears_of_it_over_a_fork(file: str) -> None:
    with Ledger.open(file) as ledger, Ledger.open(file) as other:
        before = ledger.database.pulse()
        other.append("main", say("hello"))
        assert outcome_of(lambda: "nothing") == "nothing"
        assert ledger.database.pulse() != before


def _written(file: str) -> str:
    with Ledger.open(file) as mine:
        mine.append("child", say("hello"))
    return "written"


# Ctrl-C


class Stopped:
    """What a statement of SQLite gives when Ctrl-C comes right after it has begun."""

    def __init__(self, cursor: object) -> None:
        self._cursor = cursor

    def fetchall(self) -> None:
        raise KeyboardInterrupt


def interrupted(
    monkeypatch: pytest.MonkeyPatch, tx: type[SqliteTx], name: str, work: Callable[[], object]
) -> BaseException:
    """The exception that Ctrl-C leaves, as long as somebody looks at it: it keeps all that was under way."""
    known = tx.rows

    def rows(self: SqliteTx, asked: str, /, **params: object) -> list[tuple[object, ...]]:
        if asked == name:
            statement = self._known[asked]
            Stopped(self._cursor.execute(statement.sql, statement.bind(params))).fetchall()
        return known(self, asked, **params)

    with monkeypatch.context() as patch:
        patch.setattr(tx, "rows", rows)
        with pytest.raises(KeyboardInterrupt) as caught:
            work()
    return caught.value


def test_ctrl_c_while_something_is_read_does_not_keep_old_answers(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(file) as ledger:
        first = ledger.append("main", say("first"))
        kept = interrupted(monkeypatch, SqliteReadTx, "turn_by_id", lambda: ledger.get(first))
        second = ledger.append("main", say("second"))
        assert ledger.head("main") == second
        assert ledger.get(second).turn.id == second
        assert kept.__traceback__ is not None


def test_ctrl_c_in_the_middle_of_a_write_does_not_keep_others_from_writing(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(file) as ledger:
        ledger.append("main", say("first"))
        kept = interrupted(monkeypatch, SqliteTx, "point_session", lambda: ledger.append("main", say("second")))
        third = ledger.append("main", say("third"))
        assert ledger.head("main") == third
        assert ledger.counts()["turns"] == 2
        assert kept.__traceback__ is not None
        assert ledger.verify().is_good


@pytest.mark.parametrize("step", ["_take_part", "_take", "_work", "_hand_over", "_wake", "_wait_for_company"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_ctrl_c_between_any_two_steps_of_a_shared_commit_leaves_somebody_to_lead(
    monkeypatch: pytest.MonkeyPatch, step: str, when: str
) -> None:
    group = GroupCommit(_run)
    group._expected = 2  # noqa: SLF001 - so that it waits for company, too
    known = getattr(GroupCommit, step)

    def once(self: GroupCommit, *given: object) -> None:
        monkeypatch.undo()
        if when == "after":
            known(self, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(GroupCommit, step, once)
    with pytest.raises(KeyboardInterrupt):
        group.submit(lambda _: "lost")
    done: list[str] = []
    others = [threading.Thread(target=lambda: done.append(group.submit(lambda _: "kept")), daemon=True) for _ in "ab"]
    for other in others:
        other.start()
    for other in others:
        other.join(_LONG_S)
    assert done == ["kept", "kept"]


def test_nobody_is_told_that_something_is_kept_while_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a shared commit, and once more while the others are told of it."""
    is_there, may_end, said = threading.Semaphore(0), threading.Event(), dict[str, str]()
    wait = Job.wait

    def waiting(job: Job) -> None:
        is_there.release()
        wait(job)

    def run(jobs: list[Job]) -> None:
        if len(jobs) > 1:
            monkeypatch.setattr("agents_ledger.store.group._interrupted", once_more)
            raise KeyboardInterrupt
        is_there.release()
        may_end.wait(_LONG_S)

    def once_more() -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    def submit() -> None:
        try:
            group.submit(lambda _: None)
        except BaseException as problem:  # noqa: BLE001 - looked at below
            said[threading.current_thread().name] = type(problem).__name__

    group = GroupCommit(run)
    monkeypatch.setattr(Job, "wait", waiting)
    threads = [threading.Thread(target=submit, name=name) for name in ("alone", "leader", "follower")]
    for thread in threads:  # the first commits alone; the second leads for the third then
        thread.start()
        is_there.acquire(timeout=_LONG_S)
    may_end.set()
    for thread in threads:
        thread.join(_LONG_S)
    assert said == {"leader": "KeyboardInterrupt", "follower": "StoreError"}


def _run(jobs: list[Job]) -> None:
    for job in jobs:
        job.result = job.body(None)  # type: ignore[arg-type]


# A server that ends connections


def test_reads_and_writes_go_on_after_the_server_has_ended_idle_connections(server: PostgresServer) -> None:
    url = server.new_url()
    with Ledger.open(url) as ledger:
        ledger.append("main", say("first"))
        with ledger.database.read(), ledger.database.read():
            pass  # two readers wait now
        _end_connections(url)
        assert ledger.database.facts()["engine"] == "PostgreSQL"
        assert ledger.head("main") is not None
        last = ledger.append("main", say("second"))
        _end_connections(url)
        assert [ledger.head("main"), ledger.get(last).turn.id] == [last, last]
        assert ledger.verify().is_good


def test_a_writer_that_was_interrupted_in_the_middle_is_replaced(server: PostgresServer) -> None:
    with Ledger.open(server.new_url()) as ledger:
        assert isinstance(ledger.database, PostgresDatabase)
        ledger.append("main", say("first"))
        ledger.database._writer.execute("BEGIN")  # noqa: SLF001 - as two Ctrl-C, one right after the other, leave it
        second = ledger.append("main", say("second"))
        assert ledger.head("main") == second


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_the_servers_own_isolation_does_not_matter(server: PostgresServer, level: str) -> None:
    url = server.new_url()
    with psycopg.connect(url, autocommit=True) as plain:
        name = plain.execute("SELECT current_database()").fetchone()
        plain.execute(f"ALTER DATABASE {name[0] if name else ''} SET default_transaction_isolation = '{level}'")
    Ledger.open(url).close()

    def write(pipe: int) -> None:
        with Ledger.open(url) as ledger:
            for number in range(15):
                os.write(pipe, f"{ledger.append('shared', say(str(number)))}\n".encode())

    kept = run_all([write] * 3)
    with Ledger.open(url) as ledger:
        assert ledger.counts()["turns"] == len(kept) == 45
        assert ledger.verify().is_good


def test_a_ledger_that_is_closed_while_others_write_says_so(url: str) -> None:
    ledger = Ledger.open(url)
    has_begun, said = threading.Semaphore(0), list[str]()

    def write(number: int) -> None:
        try:
            while True:
                ledger.append(f"session-{number}", say("hello"))
                has_begun.release()
        except StoreClosed as problem:
            said.append(str(problem))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(8):
        has_begun.acquire(timeout=_LONG_S)
    ledger.close()
    for thread in threads:
        thread.join()
    assert len(said) == 4


def _end_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as plain:
        plain.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )


# asyncio


def test_an_async_ledger_that_is_closed_says_so_and_keeps_what_its_users_raise(url: str) -> None:
    async def close_inside(ledger: AsyncLedger) -> None:
        async with ledger.turn("main", "hello"):
            await ledger.close()
            raise ValueError("mine")

    async def use() -> None:
        ledger = await AsyncLedger.open(url)
        with pytest.raises(ValueError, match="mine"):
            await close_inside(ledger)
        await ledger.close()
        for late in (lambda: ledger.append("main", say("late")), lambda: ledger.head("main"), lambda: ledger.turn("a")):
            with pytest.raises(StoreClosed, match="open it again"):
                await late()

    asyncio.run(use())
    with Ledger.open(url) as ledger:
        assert ledger.counts()["live"] == 0
        assert ledger.verify().is_good
