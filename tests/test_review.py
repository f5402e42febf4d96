"""Cases that once went wrong, one test each."""

import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Call, Compaction, Ledger, Message, Origin, Settings, Turn
from agents_ledger.errors import (
    BadInput,
    Conflict,
    ContentDiffers,
    LabelTaken,
    LedgerError,
    NotFound,
    SessionArchived,
    StoreBusy,
    TurnIsSealed,
)
from agents_ledger.model.entries import Spawn
from agents_ledger.store.database import Tx
from agents_ledger.store.group import GroupCommit, Job
from agents_ledger.store.sqlite import SqliteDatabase


def say(text: str, turn_id: str | None = None) -> Turn:
    return Turn(messages=(Message("user", text), Message("assistant", f"re: {text}")), id=turn_id)


def test_a_conflict_in_one_thread_is_that_threads_alone(ledger: Ledger) -> None:
    """An id of a message that is taken fails its own turn, and nobody else's in the same commit."""
    ledger.append("main", Turn(messages=(Message("user", "first", id="taken"),)))
    outcomes: list[str] = []

    def write(number: int) -> None:
        for turn in range(8):
            message = Message("user", f"{number}.{turn}", id="taken" if number % 3 == 0 else None)
            try:
                ledger.append(f"s{number}", Turn(messages=(message,)))
                outcomes.append("kept")
            except Conflict:
                outcomes.append("conflict")

    threads = [threading.Thread(target=partial(write, number)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(outcomes)) == ["conflict", "kept"]
    assert (outcomes.count("kept"), outcomes.count("conflict")) == (32, 16)
    assert ledger.verify().is_good


def test_ctrl_c_after_the_commit_leaves_the_others_acknowledged() -> None:
    def run(jobs: list[Job]) -> None:
        for job in jobs:
            job.result = "kept"
            job.is_kept = True
        raise KeyboardInterrupt

    group = GroupCommit(run)
    other = Job(lambda _: None)
    group._waiting.append(other)  # noqa: SLF001 - somebody who waits already
    with pytest.raises(KeyboardInterrupt):
        group.submit(lambda _: None)
    assert (other.is_done, other.error, other.result) == (True, None, "kept")


def test_ctrl_c_while_waiting_for_company_leaves_nobody_hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    group = GroupCommit(lambda jobs: done.append(len(jobs)))

    def interrupted(_: float) -> bool:
        raise KeyboardInterrupt

    group._expected = 5  # noqa: SLF001 - as after a busy moment
    with monkeypatch.context() as patch:
        patch.setattr(group._is_complete, "wait", interrupted)  # noqa: SLF001
        with pytest.raises(KeyboardInterrupt):
            group.submit(lambda _: None)
    group.submit(lambda _: None)
    assert done == [1]


@pytest.mark.parametrize("is_woken", [False, True])
def test_ctrl_c_in_a_row_of_waiting_threads_leaves_nobody_behind_it_hanging(
    monkeypatch: pytest.MonkeyPatch, *, is_woken: bool
) -> None:
    all_are_here, may_leave, has_come = threading.Event(), threading.Event(), threading.Semaphore(0)
    wait = Job.wait
    got: list[str] = []

    def interrupted(job: Job) -> None:
        has_come.release()
        is_impatient = threading.current_thread().name == "impatient"
        if is_impatient and not is_woken:
            may_leave.wait()  # the signal comes while the leader is at work
        else:
            wait(job)
        if is_impatient:
            raise KeyboardInterrupt

    def run(jobs: list[Job]) -> None:
        has_come.release()
        all_are_here.wait()
        if len(jobs) > 1 and not is_woken:
            may_leave.set()
            threads[2].join()

    def submit() -> None:
        with suppress(KeyboardInterrupt):
            group.submit(lambda _: None)
            got.append(threading.current_thread().name)

    group = GroupCommit(run)
    monkeypatch.setattr(Job, "wait", interrupted)
    names = ("alone", "leader", "impatient", "patient", "last")
    threads = [threading.Thread(target=submit, name=name, daemon=True) for name in names]
    for thread in threads:  # the first leads, then the second; the others wait in this order
        thread.start()
        assert has_come.acquire(timeout=20)
    all_are_here.set()
    for thread in threads:
        thread.join(timeout=20)
    assert sorted(got) == ["alone", "last", "leader", "patient"]


def test_a_signal_handler_that_writes_while_its_thread_waits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its job would stand behind the one of its own thread, which goes on when the handler has ended."""
    leads, may_end = threading.Event(), threading.Event()
    wait = Job.wait
    refused: list[Job] = []

    def run(_: list[Job]) -> None:
        leads.set()
        may_end.wait()

    def interrupted(job: Job) -> None:
        with pytest.raises(StoreBusy, match="in the middle of a commit"):
            group.submit(lambda _: None)
        refused.append(job)
        may_end.set()
        wait(job)

    group = GroupCommit(run)
    leader = threading.Thread(target=lambda: group.submit(lambda _: None), daemon=True)
    leader.start()
    assert leads.wait(timeout=20)
    monkeypatch.setattr(Job, "wait", interrupted)
    group.submit(lambda _: None)
    leader.join(timeout=20)
    assert len(refused) == 1
    group.submit(lambda _: None)  # and it may write again


def test_a_write_from_inside_a_commit_is_refused_instead_of_waiting_for_itself(ledger: Ledger) -> None:
    def body(_: Tx) -> None:
        ledger.append("main", say("from a signal handler"))

    with pytest.raises(StoreBusy, match="in the middle of a commit"):
        ledger.database.write(body)
    ledger.append("main", say("afterwards"))


def test_a_compaction_without_a_first_kept_turn_keeps_everything_after_it(ledger: Ledger) -> None:
    ids = [ledger.append("main", say(f"q{number}")) for number in range(5)]
    done = ledger.compact("main", "so far", through=ids[2])
    assert [turn.turn_id for turn in ledger.context(done).turns] == ids[3:]


def test_a_known_turn_is_not_acknowledged_for_a_session_that_never_had_it(ledger: Ledger) -> None:
    kept = ledger.append("a", say("x", "turn-x"))
    assert ledger.append("a", say("x", "turn-x")) == kept
    with pytest.raises(ContentDiffers, match="not in session 'b'"):
        ledger.append("b", say("x", "turn-x"))
    assert [line.session.label for line in ledger.sessions()] == ["a"]


def test_the_same_compaction_with_another_cut_is_another_turn(ledger: Ledger) -> None:
    ids = [ledger.append("main", say(f"q{number}")) for number in range(3)]
    ledger.append("main", Turn(compaction=Compaction("s", through=ids[0], first_kept=ids[1]), id="cut"))
    with pytest.raises(ContentDiffers):
        ledger.append("main", Turn(compaction=Compaction("s", through=ids[1], first_kept=ids[2]), id="cut"))


def test_a_backup_ends_while_others_write(tmp_path: Path) -> None:
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        assert isinstance(ledger.database, SqliteDatabase)
        for number in range(40):
            ledger.append("main", say(f"{number} " + "x" * 300_000))
        steps: list[int] = []

        def write_meanwhile(_: int, __: int) -> None:
            steps.append(1)
            ledger.append("main", say("meanwhile"))
            assert len(steps) < 100, "it begins again and again"

        ledger.database.backup(str(tmp_path / "copy.db"), write_meanwhile)
    with Ledger.open(f"sqlite:///{tmp_path / 'copy.db'}") as copy:
        assert copy.counts()["turns"] == 40
        assert copy.verify().is_good


def test_lone_surrogates_in_json_can_be_read_again(ledger: Ledger) -> None:
    odd = "lone \ud800"
    settings = Settings(tools=(odd, "Read"))
    first = ledger.append("main", Turn(messages=(Message("user", "x"),), calls=(Call("Read"),), settings=settings))
    ledger.append("main", Turn(compaction=Compaction("s", through=first, replacement=[odd])))
    head = ledger.head("main")
    assert head is not None
    assert ledger.context(head).replacement == [odd]
    assert ledger.tools_outside() == []


def test_a_turn_that_could_not_be_failed_is_closed_by_the_next_opener_of_the_same_process(url: str) -> None:
    ledger = Ledger.open(url)
    turn = ledger.turn("main", "x")
    ledger.database.close()  # the store is gone: close() can't fail the turn
    ledger.close()
    with Ledger.open(url) as again:
        assert again.recovered == [turn.id]
        assert again.get(turn.id).turn.status == "failed"


def test_a_live_turn_on_a_session_that_was_put_away_is_kept_as_a_branch(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    ledger.archive("main")
    with pytest.raises(SessionArchived, match="kept as a branch"):
        turn.answer("y")
    assert ledger.get(turn.id).turn.status == "completed"
    assert ledger.session("main").thread_id is None
    assert ledger.verify().is_good


def test_ids_with_quotes_have_an_ancestry(ledger: Ledger) -> None:
    ids = [ledger.append("main", say("x", 'a"b')), ledger.append("main", say("y", "c\\d"))]
    assert ledger.ancestry(ids[1]) == ids


def test_a_subagent_needs_an_open_call(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    call = turn.call("Task")
    call.complete("done")
    with pytest.raises(TurnIsSealed, match="open call"):
        call.spawn("late")
    with pytest.raises(LedgerError):
        ledger.create_session("sub", Origin(spawn=Spawn("main", turn.id, "no such call")))
    with pytest.raises(NotFound, match="no turn 'no such turn'"):
        ledger.create_session("sub", Origin(spawn=Spawn("main", "no such turn")))
    turn.complete()
    assert ledger.counts()["sessions"] == 1
    assert ledger.verify().is_good


def delegating(label: str, **given: Any) -> Turn:
    return Turn(messages=(Message("user", "do it"),), calls=(Call("Task", spawned=label, **given),))


def test_the_subagent_that_a_finished_call_names_is_linked_both_ways(ledger: Ledger) -> None:
    ledger.append("ran-before", say("x"))
    made = delegating("made-now"), delegating("ran-before", status="failed", error="no")
    ids = [ledger.append("main", turn) for turn in made]
    for label, turn_id, status in (("made-now", ids[0], "completed"), ("ran-before", ids[1], "failed")):
        row, call = ledger.session(label), ledger.get(turn_id).calls[0]
        assert (row.is_subagent, row.parent_session_label, row.parent_turn_id) == (1, "main", turn_id)
        assert (row.spawn_tool_call_id, call.spawned_session_label, row.task_status) == (call.id, label, status)
    assert {row.label for row in ledger.subagents("main")} == {"made-now", "ran-before"}
    ledger.append("made-now", say("at work"))
    again = ledger.append("twice", Turn(made[0].messages, (Call("Task", spawned="once"),), id="mine"))
    assert ledger.append("twice", Turn(made[0].messages, (Call("Task", spawned="once"),), id="mine")) == again
    assert ledger.verify().findings == []


def test_a_call_names_no_session_that_is_not_free_to_be_its_subagent(ledger: Ledger) -> None:
    ledger.append("main", delegating("sub"))
    first = ledger.append("sub", delegating("below"))
    ledger.append("other", say("x"))
    ledger.alias("known-as", "other")
    before = ledger.counts()
    for label, taken in (("other", "sub"), ("main", "main"), ("below", "main"), ("new", "new")):
        with pytest.raises(BadInput, match="leave out `spawned`"):
            ledger.append(label, delegating(taken))
    with pytest.raises(BadInput, match="leave out `spawned`"):
        ledger.append("other", Turn(calls=(Call("Task", spawned="twice"), Call("Task", spawned="twice"))))
    with pytest.raises(BadInput, match="in no session"):
        ledger.branch(first, delegating("else"))
    with pytest.raises(LabelTaken, match="is an alias"):
        ledger.append("main", delegating("known-as"))
    assert ledger.counts() == before
    assert ledger.verify().findings == []


def test_a_stream_that_could_not_be_written_is_said_again_by_its_speaker(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    turn.stream("a")
    write = ledger.database.write
    ledger.database.write = lambda _: (_ for _ in ()).throw(StoreBusy("busy"))  # type: ignore[method-assign,assignment]
    with pytest.raises(StoreBusy):
        turn.stream("b" * 10_000)
    ledger.database.write = write  # type: ignore[method-assign]
    turn.stream("b" * 10_000)
    turn.reply()
    turn.complete()
    assert ledger.get(turn.id).messages[1].content == "a" + "b" * 10_000
