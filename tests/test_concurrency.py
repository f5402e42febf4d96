"""Many at once: processes, threads, tasks; on one session and on their own; with backups and checkpoints between."""

import asyncio
import gc
import inspect
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from agents_ledger import Call, Ledger, LiveCall, LiveTurn, Message, Turn, Usage
from agents_ledger.errors import BadInput, HeadMoved, NotFound, StoreClosed, StoreError
from agents_ledger.ledger import sessions
from agents_ledger.ledger.aio import AsyncCall, AsyncLedger, AsyncTurn
from agents_ledger.ledger.policy import Policy
from agents_ledger.ledger.records import read_record
from agents_ledger.store import ALL, Tx
from agents_ledger.store.sqlite import SqliteDatabase
from tests.crash.processes import outcome_of, run_all

WRITERS = 16
SHARED = "shared"
Work = Callable[[], None]


class NoCapture(NamedTuple):
    id: int
    state: str


def exchange(text: str) -> Turn:
    return Turn(
        messages=(Message("user", text), Message("assistant", f"answer to {text}")), calls=(Call("Read", text),)
    )


def write_some(url: str, number: int, pipe: int, *, until: Path | None = None) -> None:
    """One process: each line says how a turn ended, after the ledger said so. It goes on until a file is there."""
    with Ledger.open(url) as ledger:
        for turn in range(400):
            if turn >= 4 and (until is None or until.exists()):
                break
            text = f"{number}.{turn}"
            _say(pipe, "kept", ledger.append(f"own-{number}", exchange(text)))
            _say(pipe, "kept", append_to_the_head(ledger, exchange(f"shared {text}")))
            live = ledger.turn(SHARED, f"live {text}")
            live.call("Shell").complete(text)
            live.reply(text)
            try:
                _say(pipe, "kept", live.complete())
            except HeadMoved as conflict:
                _say(pipe, "branch", conflict.turn_id or "lost")


def append_to_the_head(ledger: Ledger, turn: Turn) -> str:
    """Tries until nobody else was faster; whoever loses has written nothing."""
    while True:
        with ledger.database.read() as tx:
            session = sessions.resolve(tx, SHARED)
        try:
            return ledger.append(SHARED, turn, expect=None if session is None else session.thread_id)
        except HeadMoved as conflict:
            if conflict.turn_id is not None:
                raise


def _say(pipe: int, word: str, turn_id: str) -> None:
    os.write(pipe, f"{word} {turn_id}\n".encode())


def check_outcome(ledger: Ledger, lines: list[str]) -> None:
    """Every acknowledged turn exactly once, nothing else, and each session's history one chain."""
    kept = Counter(line.split()[1] for line in lines)
    assert set(kept.values()) == {1}
    _, turns = ledger.database.query("SELECT id, status FROM turns")
    assert sorted(turns) == sorted((turn_id, "completed") for turn_id in kept)
    on_chain: list[str] = []
    for line in ledger.sessions(limit=100):
        moves = ledger.history(line.session.label)
        assert moves[0].from_thread_id is None
        assert all(after.from_thread_id == before.thread_id for before, after in pairwise(moves))
        assert moves[-1].thread_id == line.session.thread_id
        assert ledger.ancestry(moves[-1].thread_id) == [move.thread_id for move in moves]
        on_chain += [move.thread_id for move in moves]
    assert sorted(on_chain) == sorted(line.split()[1] for line in lines if line.startswith("kept"))
    assert [row[0] for row in log_of(ledger)] == list(range(1, len(log_of(ledger)) + 1))
    assert ledger.verify().findings == []


def log_of(ledger: Ledger) -> list[tuple[object, ...]]:
    return ledger.database.query("SELECT seq, kind, ref, leaf FROM log ORDER BY seq")[1]


def test_sixteen_processes_on_one_session_and_on_their_own_lose_nothing(url: str) -> None:
    lines = run_all([partial(write_some, url, number) for number in range(WRITERS)])
    assert len(lines) == WRITERS * 12
    with Ledger.open(url) as ledger:
        check_outcome(ledger, lines)


def test_backups_and_checkpoints_under_load_disturb_nobody_and_each_copy_is_a_prefix(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    copies: list[Path] = []
    numbers = count()
    enough = tmp_path / "enough"

    def back_up_and_checkpoint() -> None:
        if len(copies) >= 2:
            enough.touch()
        if not (tmp_path / "ledger.db").exists() or len(copies) >= 8:
            return
        with Ledger.open(url) as ledger:
            assert isinstance(ledger.database, SqliteDatabase)
            ledger.database.checkpoint()
            copy = tmp_path / f"copy{next(numbers)}.db"
            ledger.database.backup(str(copy))
            copies.append(copy)

    works: list[Callable[[int], None]] = [partial(write_some, url, number, until=enough) for number in range(WRITERS)]
    lines = run_all(works, meanwhile=back_up_and_checkpoint)
    with Ledger.open(url) as ledger:
        check_outcome(ledger, lines)
        whole = log_of(ledger)
    assert len(copies) >= 2
    for copy in copies:
        with Ledger.open(f"sqlite:///{copy}", readonly=True) as saved:
            assert saved.verify().findings == []
            log = log_of(saved)
        assert log == whole[: len(log)]


def run_threads(works: list[Work]) -> None:
    """Runs all of them at once; the first error of any is raised here."""
    errors: list[BaseException] = []

    def guarded(work: Work) -> None:
        try:
            work()
        except BaseException as problem:  # noqa: BLE001 - raised in the test's own thread
            errors.append(problem)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_sixteen_threads_share_commits_and_every_turn_is_there(ledger: Ledger) -> None:
    lines: list[str] = []

    def write(number: int) -> None:
        for turn in range(10):
            lines.append(f"kept {ledger.append(f'own-{number}', exchange(f'{number}.{turn}'))}")
            lines.append(f"kept {ledger.append(SHARED, exchange(f'shared {number}.{turn}'))}")

    run_threads([partial(write, number) for number in range(WRITERS)])
    assert len(lines) == WRITERS * 20
    check_outcome(ledger, lines)


def test_what_was_written_is_let_go_at_once(ledger: Ledger) -> None:
    class Batch(list[int]):
        """What can be watched as it goes."""

    watched: list[weakref.ref[Batch]] = []

    def write() -> None:
        batch = Batch([1, 2, 3])
        watched.append(weakref.ref(batch))
        assert ledger.database.write(lambda _: len(batch)) == len(batch)

    gc.collect()
    gc.disable()  # it would find what stands in a circle, some time: a sync writes 100 MB at a time
    try:
        run_threads([write] * 4)
        write()
        assert [found() for found in watched] == [None] * 5
    finally:
        gc.enable()


def test_a_body_that_raises_does_not_disturb_the_others_of_its_commit(ledger: Ledger) -> None:
    lines: list[str] = []
    waiting = threading.Semaphore(0)

    def hold_the_writer() -> None:
        def body(tx: Tx) -> None:
            for _ in range(WRITERS):
                waiting.acquire()

        ledger.database.write(body)

    def write(number: int) -> None:
        waiting.release()
        for turn in range(5):
            kept = ledger.append(f"own-{number}", exchange(f"{number}.{turn}"))
            lines.append(f"kept {kept}")

    def fail_after_writing(_: int) -> None:
        def body(tx: Tx) -> None:
            tx.run("put_fact", name="never", value="kept")
            raise ZeroDivisionError

        waiting.release()
        for _ in range(5):
            with pytest.raises(ZeroDivisionError):
                ledger.database.write(body)
            with pytest.raises(BadInput, match="not a role"):
                ledger.append("never", Turn(messages=(Message("nonsense", "x"),)))

    works = [partial(fail_after_writing if number % 4 == 0 else write, number) for number in range(WRITERS)]
    run_threads([hold_the_writer, *works])
    check_outcome(ledger, lines)
    assert len(lines) == 12 * 5
    with ledger.database.read() as tx:
        assert tx.first("fact", name="never") is None


@pytest.mark.parametrize("many", [0, 3])
def test_after_a_body_that_the_database_refused_every_statement_still_works(ledger: Ledger, many: int) -> None:
    """A driver that remembers statements must not remember those that a server skipped after an error."""
    together = threading.Barrier(3)

    def keep(tx: Tx, value: str) -> None:
        tx.run("put_fact", name="kept", value=value)
        tx.run_all("set_capture_state", [NoCapture(0, "gone")] * many)

    def be_refused(tx: Tx) -> None:
        tx.run("put_fact", name="never", value=None)  # in a pipeline nobody waits for the answer
        keep(tx, "never")

    def write(number: int) -> None:
        for turn in range(12):
            together.wait(timeout=30)
            if number == 0:
                with pytest.raises(StoreError):
                    ledger.database.write(be_refused)
            else:
                ledger.database.write(partial(keep, value=f"{number}.{turn}"))

    for turn in range(12):
        ledger.database.write(partial(keep, value=f"alone {turn}"))
        with pytest.raises(StoreError):
            ledger.database.write(be_refused)
        with ledger.database.read() as tx:
            assert tx.value("fact", name="kept") == f"alone {turn}"
    run_threads([partial(write, number) for number in range(3)])
    with ledger.database.read() as tx:
        assert tx.value("fact", name="kept") in ("1.11", "2.11")
        assert tx.first("fact", name="never") is None


def test_a_reader_sees_whole_states_only(ledger: Ledger) -> None:
    ledger.append(SHARED, exchange("first"))
    is_over = threading.Event()
    seen: list[int] = []

    def read() -> None:
        while not is_over.is_set() or not seen:
            with ledger.database.read() as tx:
                head = sessions.require(tx, SHARED).thread_id
                last = tx.rows("moves_of", label=SHARED, after=0, limit=ALL)[-1]
                assert last[2] == head
                record = read_record(tx, last[2])
                assert record.turn.seal_seq is not None, "a head is a sealed turn"
                assert len(record.messages) == 2
                seen.append(record.turn.seal_seq)

    def write() -> None:
        try:
            for turn in range(40):
                with ledger.turn(SHARED, f"{turn}") as live:
                    live.reply("answer")
                ledger.append(SHARED, exchange(f"{turn}"))
        finally:
            is_over.set()

    run_threads([read, read, write])
    assert seen
    assert ledger.verify().findings == []


def test_a_ledger_that_was_carried_over_a_fork_says_so_and_the_parent_goes_on(ledger: Ledger, tmp_path: Path) -> None:
    ledger.append("main", exchange("before"))
    live = ledger.turn("main", "alive")
    uses: list[Callable[[], object]] = [
        lambda: ledger.append("main", exchange("child")),
        lambda: ledger.head("main"),
        lambda: ledger.turn("main", "child"),
        lambda: live.reply("child"),
        ledger.verify,
        ledger.database.tables,
        ledger.database.facts,
        lambda: ledger.database.query("SELECT 1"),
    ]
    if isinstance(ledger.database, SqliteDatabase):
        uses += [ledger.database.checkpoint, lambda: ledger.database.backup(str(tmp_path / "copy.db"))]

    def in_child() -> str:
        for use in uses:
            with pytest.raises(StoreClosed, match="open it again in the child"):
                use()
        ledger.close()
        return "all refused"

    assert outcome_of(in_child) == "all refused"
    live.reply("parent")
    assert live.complete() == ledger.head("main")
    assert ledger.verify().findings == []


async def fifty_tasks(url: str) -> None:
    ticks = 0
    is_over = asyncio.Event()

    async def tick() -> None:
        nonlocal ticks
        while not is_over.is_set():
            ticks += 1
            await asyncio.sleep(0)

    async def write(ledger: AsyncLedger, number: int) -> str:
        async with ledger.turn(f"task-{number}", "question") as turn:
            call = await turn.call("Shell", {"n": number})
            await call.complete("done")
            await turn.stream("an ")
            await turn.stream("answer")
            await turn.reply()
        return turn.id

    async with await AsyncLedger.open(url) as ledger:
        ticking = asyncio.create_task(tick())
        ids = await asyncio.gather(*(write(ledger, number) for number in range(50)))
        is_over.set()
        await ticking
        records = await asyncio.gather(*(ledger.get(turn_id) for turn_id in ids))
        assert [record.messages[1].content for record in records] == ["an answer"] * 50
        assert (await ledger.do(Ledger.verify)).findings == []
    assert ticks > 50


def test_fifty_tasks_write_at_once_and_the_loop_is_never_blocked(url: str) -> None:
    asyncio.run(fifty_tasks(url))


def test_every_verb_of_a_ledger_is_awaited_with_the_same_arguments() -> None:
    called_by_turns = {"watch", "unwatch", "remind"}
    verbs = {name for name, verb in vars(Ledger).items() if callable(verb) or isinstance(verb, classmethod)}
    public = {name for name in verbs if not name.startswith("_")} - called_by_turns
    assert public <= vars(AsyncLedger).keys(), "missing"
    for name in sorted(public):
        assert arguments_of(Ledger, name) == arguments_of(AsyncLedger, name), name


@pytest.mark.parametrize(
    ("kind", "awaited", "called_by_others"),
    [(LiveTurn, AsyncTurn, {"write_due", "finish_call", "spawn"}), (LiveCall, AsyncCall, set())],
)
def test_a_live_turn_and_its_calls_have_the_same_when_they_are_awaited(
    kind: type, awaited: type, called_by_others: set[str]
) -> None:
    public = {name for name in vars(kind) if not name.startswith("_")} - called_by_others
    assert public <= vars(awaited).keys(), "missing"
    for name in sorted(public):
        if isinstance(vars(kind)[name], property):
            assert isinstance(vars(awaited)[name], property), name
        else:
            assert arguments_of(kind, name) == arguments_of(awaited, name), name


def arguments_of(kind: type, verb: str) -> list[tuple[object, ...]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(getattr(kind, verb)).parameters.values()]


async def told_of_itself(url: str) -> None:
    async with await AsyncLedger.open(url) as ledger:
        first = await ledger.append("main", exchange("first"))
        async with ledger.turn("main", "question") as turn:
            assert (turn.session, turn.parent_id, turn.status) == ("main", first, "pending")
            call = await turn.call("Shell", {}, id="toolu_1", status="running")
            assert (call.tool, turn.status) == ("Shell", "streaming")
            await call.complete()
            await turn.answer("done", thinking="hm", usage=Usage(input=3), source="llm")
            assert turn.status == "completed"
        record = await ledger.get(turn.id)
        assert (record.messages[-1].thinking, record.messages[-1].source, record.turn.input_tokens) == ("hm", "llm", 3)
        failing = await ledger.turn("other")
        assert failing.parent_id is None
        await failing.fail(ValueError("odd"))
        assert failing.status == "failed"


def test_an_awaited_turn_tells_its_session_its_parent_and_its_status(url: str) -> None:
    asyncio.run(told_of_itself(url))


async def awaited(url: str) -> None:
    async with await AsyncLedger.open(url) as ledger:
        ids = [await ledger.append("main", Turn((Message("user", f"walrus {number}"),))) for number in range(4)]
        assert await ledger.head("main") == ids[-1]
        await ledger.rewind("main", turns=2)
        assert (await ledger.forward("main")).thread_id == ids[-1]
        assert [move.reason for move in await ledger.history("main")][-2:] == ["rewind", "replay"]
        await ledger.alias("other", "main")
        assert (await ledger.session("other")).label == "main"
        assert (await ledger.search("walrus")).hits
        assert [event.kind async for event in await ledger.replay(ids[1])].count("message") == 2
        assert await ledger.compact_by(policy=Policy(keep=1)).run("main", None) is None
        made = await ledger.compact_by(policy=Policy(keep=1)).run("main", "manual")
        assert made is not None
        assert made.turns_kept == 1
        await ledger.compact("main", "walruses", keep=1)
        assert (await ledger.verify()).findings == []
        with pytest.raises(NotFound):
            await ledger.head("nobody")


def test_reading_moving_and_compacting_are_awaited(url: str) -> None:
    asyncio.run(awaited(url))


async def cancelled_inside(url: str) -> None:
    async with await AsyncLedger.open(url) as ledger:
        begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def work() -> None:
            async with ledger.turn("main", "question") as turn:
                await turn.call("Shell", "never ends")
                begun.set_result(turn.id)
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        turn_id = await begun
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        record = await ledger.get(turn_id)
        assert (record.turn.status, record.turn.error) == ("failed", "CancelledError")
        assert [call.status for call in record.calls] == ["abandoned"]
        assert (await ledger.do(Ledger.counts))["live"] == 0


def test_a_task_that_is_cancelled_inside_its_turn_leaves_a_failed_turn(url: str) -> None:
    asyncio.run(cancelled_inside(url))


async def cancelled_at_the_beginning(url: str) -> None:
    async with await AsyncLedger.open(url) as ledger:
        is_held, may_go = threading.Event(), threading.Event()

        def hold_the_writer(held: Ledger) -> None:
            def body(tx: Tx) -> None:
                is_held.set()
                may_go.wait()

            held.database.write(body)

        async def work() -> None:
            async with ledger.turn("main", "question"):
                pytest.fail("it was cancelled before it began")

        holding = asyncio.create_task(ledger.do(hold_the_writer))
        await asyncio.to_thread(is_held.wait)
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_go.set()
        await holding
        deadline = time.monotonic() + 60
        while True:
            found = await ledger.do(Ledger.counts)
            if (found["turns"] and not found["live"]) or time.monotonic() > deadline:
                break
        assert (found["turns"], found["live"]) == (1, 0), "the turn that nobody waits for is left live"
        head = await ledger.do(Ledger.head, "main")
        assert head is not None
        assert (await ledger.get(head)).turn.status == "failed"


def test_a_task_that_is_cancelled_while_its_turn_begins_leaves_no_live_turn(url: str) -> None:
    asyncio.run(cancelled_at_the_beginning(url))
