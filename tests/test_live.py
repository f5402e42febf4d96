"""A turn while it is being written: seen by others, owned by one writer, never lost, never half done in silence."""

from collections.abc import Callable
from hashlib import sha256
from threading import Thread

import pytest

from agents_ledger import CodeBlock, File, Ledger, Lint, LiveCall, LiveTurn, Message, Turn, Usage
from agents_ledger.errors import BadInput, HeadMoved, LeaseLost, SessionArchived, TurnIsSealed, UnresolvedCalls
from agents_ledger.model.filters import Filters
from agents_ledger.model.overview import Live
from agents_ledger.model.rows import LeaseRow
from tests.crash.processes import outcome_of
from tests.support.leases import give_lease

ELSEWHERE = "another-machine|1|1|x"


def say(text: str) -> Turn:
    return Turn(messages=(Message("user", text),))


def test_another_reader_sees_a_turn_as_it_grows(ledger: Ledger, url: str) -> None:
    with Ledger.open(url, readonly=True) as reader:
        turn = ledger.turn("main", "Tell me")
        assert reader.get(turn.id).turn.status == turn.status == "pending"
        turn.stream("Once upon ", thinking="a tale")
        seen = reader.get(turn.id)
        assert (seen.turn.status, seen.messages[1].content, seen.messages[1].thinking) == (
            "streaming",
            "Once upon ",
            "a tale",
        )
        turn.stream("a time" + "." * 9000)  # more than 8 KB is written at once
        assert (reader.get(turn.id).messages[1].content or "").startswith("Once upon a time")
        call = turn.call("Read", {"path": "x"})
        assert [each.status for each in reader.get(turn.id).calls] == ["running"]
        call.complete("text")
        assert reader.session("main").thread_id is None, "the head moves at the end"
        turn.stream(" The end.")
        assert turn.reply() == seen.messages[1].id
        turn.complete()
        done = reader.get(turn.id)
        assert (done.turn.status, reader.head("main")) == ("completed", turn.id)
        assert (done.messages[1].content or "").endswith("... The end.")
        assert done.turn.turn_hash is not None
        assert seen.turn.turn_hash is None
        assert reader.verify().is_good


def test_calls_of_several_threads_run_in_parallel_and_all_are_kept(ledger: Ledger) -> None:
    with ledger.turn("main", "Do much") as turn:

        def work(number: int) -> None:
            call = turn.call("Shell", {"n": number}, id=f"toolu_{number}")
            call.fail("odd") if number % 2 else call.complete(number)

        threads = [Thread(target=work, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        turn.reply("Done")
    record = ledger.get(turn.id)
    assert [call.sequence for call in record.calls] == list(range(12))
    assert {call.native_id for call in record.calls} == {f"toolu_{number}" for number in range(12)}
    assert sorted(call.status for call in record.calls) == ["completed"] * 6 + ["failed"] * 6
    assert record.turn.tool_call_count == 12
    assert ledger.verify().is_good


def test_a_message_keeps_its_files_lints_code_and_context(ledger: Ledger) -> None:
    message = Message(
        "user",
        "Look",
        source="human",
        context={"rules": ["be kind"]},
        metadata={"lang": "de"},
        files=(File("a.py", "read", 1, 5), File("a.py", "read", 1, 5), File("b.py", "attached")),
        lints=(Lint("a.py", "unused", "ruff", 1, 2, 3, 4, "warning"),),
    )
    with ledger.turn("main", message) as turn:
        turn.reply("Try this", codeblocks=(CodeBlock("x = 1", "python", "a.py", 7, 7), CodeBlock("y")))
    record = ledger.get(turn.id)
    assert (record.messages[0].context_json, record.messages[0].source) == ('{"rules":["be kind"]}', "human")
    assert [(row.file_path, row.kind, row.line_end) for row in record.files] == [
        ("a.py", "read", 5),
        ("b.py", "attached", None),
    ]
    assert (record.lints[0].lint_source, record.lints[0].end_col) == ("ruff", 4)
    assert [(block.idx, block.language, block.line_start) for block in record.codeblocks] == [
        (0, "python", 7),
        (1, None, None),
    ]
    assert record.codeblocks[0].message_id == record.turn.response_message_id


def test_toolset_and_permissions_are_snapshots_of_what_was_there_and_what_was_used(ledger: Ledger) -> None:
    granted = {"fs": ["read", "write"]}
    with ledger.turn("main", "x", toolset="worker", tools=["Read"], permissions=granted, role="worker") as turn:
        granted["fs"].append("delete")
        turn.use_permissions({"fs": ["read"]})
        turn.call("Shell", {}).reject("not yours")
    row = ledger.get(turn.id).turn
    assert (row.toolset_name, row.tools_available, row.role) == ("worker", '["Read"]', "worker")
    assert (row.permissions_granted, row.permissions_used) == ('{"fs":["read","write"]}', '{"fs":["read"]}')
    assert [call.tool_name for call in ledger.tools_outside(turn.id)] == ["Shell"]


def test_usage_adds_up_and_what_is_unknown_stays_unknown(ledger: Ledger) -> None:
    with ledger.turn("main", "x") as first:
        first.reply("a", usage=Usage(input=10, output=2, reasoning=1))
        first.reply("b", usage=Usage(input=5, output=3, cached=7))
        first.count(Usage(output=1))
    row = ledger.get(first.id).turn
    counted = (row.input_tokens, row.output_tokens, row.cached_input_tokens, row.cache_write_tokens)
    assert counted == (15, 6, 7, None)
    assert (row.reasoning_tokens, row.total_tokens, row.thread_tokens) == (1, 28, 28)
    with ledger.turn("main", "y") as second:
        second.reply("unknown")
    row = ledger.get(second.id).turn
    assert (row.input_tokens, row.total_tokens, row.thread_tokens) == (None, None, 28)
    with ledger.turn("main", "z") as third:
        third.complete(Usage(total=100))
    assert ledger.get(third.id).turn.thread_tokens == 128


def test_the_system_prompt_stands_first_and_its_hash_is_kept(ledger: Ledger) -> None:
    digest = sha256(b"Be brief.").hexdigest()
    with ledger.turn("main", "Hi", system="Be brief.", system_prompt_hash=digest) as turn:
        turn.reply("Hi.")
    with ledger.turn("main", "Again") as later:
        later.reply("Yes?")
    record = ledger.get(turn.id)
    assert [row.role for row in record.messages] == ["system", "user", "assistant"]
    assert (record.turn.system_prompt_hash, record.turn.system_depth) == (digest, 1)
    assert record.turn.query_message_ids == f'["{record.messages[1].id}"]'
    assert [row.content for row in ledger.context(later.id).system] == ["Be brief."]


@pytest.mark.parametrize(("outcome", "status"), [("complete", "completed"), ("fail", "failed"), ("cancel", "failed")])
def test_a_subagent_is_linked_both_ways_and_its_task_follows_the_call(
    ledger: Ledger, outcome: str, status: str
) -> None:
    with ledger.turn("main", "Delegate") as turn:
        call = turn.call("Task", {"what": "count"})
        label = call.spawn("worker-1", "Count")
        with pytest.raises(TurnIsSealed, match="a subagent already"):
            call.spawn("worker-2")
        child = ledger.session(label)
        assert (child.is_subagent, child.task_status, child.task_description) == (1, "running", "Count")
        assert (child.parent_session_label, child.parent_turn_id, child.spawn_tool_call_id) == (
            "main",
            turn.id,
            call.id,
        )
        with ledger.turn(label, "Count", role="worker") as work:
            work.reply("3")
        if outcome == "complete":
            call.complete(3)
        elif outcome == "fail":
            call.fail("no")
        else:
            call.cancel()
    assert ledger.get(turn.id).calls[0].spawned_session_label == "worker-1"
    assert ledger.session("worker-1").task_status == status
    assert [row.label for row in ledger.subagents("main")] == ["worker-1"]
    assert ledger.verify().is_good


def test_a_subagent_whose_call_is_abandoned_has_failed(ledger: Ledger) -> None:
    turn = ledger.turn("main", "Delegate")
    turn.call("Task").spawn("worker-1")
    turn.fail("out of money")
    assert ledger.get(turn.id).calls[0].status == "abandoned"
    assert ledger.session("worker-1").task_status == "failed"
    assert ledger.verify().is_good


def test_a_living_writer_is_left_alone(ledger: Ledger, url: str) -> None:
    turn = ledger.turn("main", "still here")
    with Ledger.open(url) as other:
        assert other.recovered == []
        assert other.recover() == []
        assert other.get(turn.id).turn.status == "pending"
    turn.reply("yes")
    turn.complete()
    assert ledger.head("main") == turn.id


def die_in_mid_turn(url: str, label: str = "main") -> str:
    def work() -> str:
        turn = Ledger.open(url).turn(label, "Tell me")
        turn.stream("The answer is ")
        turn.call("Shell", {"command": "sleep"})
        return turn.id

    return outcome_of(work)  # the child ends by os._exit: nothing is closed


def test_the_turn_of_a_dead_writer_fails_as_interrupted_and_keeps_what_was_said(url: str) -> None:
    Ledger.open(url).close()
    turn_id = die_in_mid_turn(url)
    with Ledger.open(url, readonly=True) as reader:
        assert reader.get(turn_id).turn.status == "streaming", "reading recovers nothing"
    with Ledger.open(url) as ledger:
        assert ledger.recovered == [turn_id]
        record = ledger.get(turn_id)
        assert record.turn.status == "failed"
        assert (record.turn.error or "").startswith("interrupted: its writer (process ")
        assert [row.content for row in record.messages] == ["Tell me", "The answer is "]
        assert [call.status for call in record.calls] == ["abandoned"]
        assert [move.reason for move in ledger.history("main")] == ["recover"]
        assert ledger.verify().is_good
    with Ledger.open(url) as again:
        assert again.recovered == []


def test_a_dead_writers_turn_is_told_from_one_that_is_being_written(url: str) -> None:
    Ledger.open(url).close()
    turn_id = die_in_mid_turn(url)
    with Ledger.open(url, readonly=True) as reader:
        assert reader.live_turns() == reader.live_turns("main") == [Live(turn_id, "main", is_left_behind=True)]
        assert reader.tree(turn_id).left_behind == [turn_id]
    with Ledger.open(url) as ledger:
        assert ledger.live_turns() == []
        assert ledger.tree(turn_id).left_behind == []
        turn = ledger.turn("other", "still here")
        assert ledger.live_turns() == ledger.live_turns("other") == [Live(turn.id, "other", is_left_behind=False)]
        assert (ledger.live_turns("main"), ledger.tree(turn.id).left_behind) == ([], [])
        report = ledger.verify()
        assert (report.is_good, report.open_turns, report.live_turns) == (True, 1, 1)
        turn.complete()
        assert ledger.live_turns() == []


def test_sessions_are_found_by_the_status_of_their_live_turns(ledger: Ledger) -> None:
    def found(status: str) -> list[str]:
        return sorted(line.session.label for line in ledger.sessions(Filters(status=status)))

    ledger.append("main", say("x"))
    ledger.append("quiet", say("x"))
    first, next_ = ledger.turn("new", "first"), ledger.turn("main", "next")
    assert (found("pending"), found("streaming"), found("completed")) == (["main", "new"], [], ["main", "quiet"])
    first.stream("So")
    next_.stream("So")
    assert (found("pending"), found("streaming"), found("completed")) == ([], ["main", "new"], ["main", "quiet"])
    first.complete()
    next_.complete()
    assert (found("streaming"), found("completed")) == ([], ["main", "new", "quiet"])


def test_a_recovered_turn_stays_a_branch_if_its_session_went_on(url: str) -> None:
    with Ledger.open(url) as ledger:
        root = ledger.append("main", say("root"))
        turn_id = die_in_mid_turn(url)
        went_on = ledger.append("main", say("went on"))
        assert ledger.recover() == [turn_id]
        assert ledger.head("main") == went_on
        assert {row.id for row in ledger.children(root)} == {turn_id, went_on}
        assert [move.reason for move in ledger.history("main")] == ["advance", "advance"]
        assert ledger.verify().is_good


@pytest.mark.parametrize(
    "late",
    [
        lambda turn, _: turn.reply("late"),
        lambda turn, _: turn.call("Late"),
        lambda turn, _: turn.stream("late"),
        lambda turn, _: turn.answer("late"),
        lambda turn, _: turn.complete(),
        lambda _, call: call.complete("late"),
        lambda _, call: call.spawn("late"),
    ],
    ids=["reply", "call", "stream", "answer", "complete", "a call's outcome", "a subagent"],
)
def test_nothing_comes_from_a_writer_that_was_taken_for_dead(
    ledger: Ledger, late: Callable[[LiveTurn, LiveCall], object]
) -> None:
    turn = ledger.turn("main", "far away")
    call = turn.call("Shell")
    ledger.database.write(lambda tx: give_lease(tx, LeaseRow(turn.id, "main", ELSEWHERE, "another", 0)))
    assert ledger.recover() == [turn.id]
    before = ledger.get(turn.id)
    with pytest.raises(LeaseLost, match="begin a new turn"):
        late(turn, call)
    assert turn.status == "failed"
    assert ledger.get(turn.id) == before
    assert ledger.counts()["sessions"] == 1
    with pytest.raises(TurnIsSealed, match="is failed"):
        late(turn, call)
    assert ledger.verify().is_good


def test_a_call_ends_once_and_its_turn_goes_on(ledger: Ledger) -> None:
    with ledger.turn("main", "x") as turn:
        call = turn.call("Shell")
        call.complete("done")
        with pytest.raises(TurnIsSealed, match="has its outcome already"):
            call.fail("no")
        turn.reply("it goes on")
    assert [row.content for row in ledger.get(turn.id).messages] == ["x", "it goes on"]
    assert ledger.get(turn.id).calls[0].status == "completed"


def test_closing_the_ledger_fails_its_open_turns(url: str) -> None:
    ledger = Ledger.open(url)
    first, second = ledger.turn("a", "x"), ledger.turn("b", "y")
    first.stream("partly")
    call = second.call("Shell")
    ledger.close()
    assert (first.status, second.status) == ("failed", "failed")
    with Ledger.open(url) as again:
        assert again.recovered == []
        assert again.get(first.id).turn.error == "interrupted: the ledger was closed"
        assert again.get(first.id).messages[1].content == "partly"
        assert again.get(second.id).calls[0].status == "abandoned"
        assert call.id == again.get(second.id).calls[0].id
        assert again.verify().is_good


def test_a_turn_ends_once(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    turn.complete()
    for use in (turn.complete, lambda: turn.fail("late"), lambda: turn.reply("late"), lambda: turn.call("Late")):
        with pytest.raises(TurnIsSealed, match="begin a new one"):
            use()
    assert len(ledger.history("main")) == 1


def test_a_turn_begins_on_an_alias_and_not_on_an_archived_session(ledger: Ledger) -> None:
    first = ledger.append("main", say("x"))
    ledger.alias("whatsapp:1", "main")
    with ledger.turn("whatsapp:1", "y") as turn:
        assert (turn.session, turn.parent_id) == ("main", first)
    assert ledger.head("main") == turn.id
    ledger.archive("main")
    for label in ("main", "whatsapp:1"):
        with pytest.raises(SessionArchived, match="unarchive it first"):
            ledger.turn(label, "z")
    ledger.unarchive("main")
    with pytest.raises(HeadMoved, match="nothing was written"):
        ledger.turn("main", "z", expect=first)
    assert ledger.counts()["live"] == 0


def test_an_answer_ends_the_turn_in_one_step(ledger: Ledger) -> None:
    with ledger.turn("main", "Why?") as turn:
        turn.call("Read", {"path": "a"}).complete("x")
        assert turn.answer("Because.", thinking="hm", usage=Usage(output=7)) == turn.id
    record = ledger.get(turn.id)
    assert [(row.role, row.content, row.sequence) for row in record.messages] == [
        ("user", "Why?", 0),
        ("assistant", "Because.", 1),
    ]
    assert (record.turn.status, record.turn.output_tokens) == ("completed", 7)
    assert record.turn.response_message_id == record.messages[1].id
    open_call = ledger.turn("main", "And?")
    open_call.call("Read")
    with pytest.raises(UnresolvedCalls):
        open_call.answer("Too early.")
    assert [row.content for row in ledger.get(open_call.id).messages] == ["And?"]
    open_call.fail("gave up")
    assert ledger.verify().is_good


def test_after_a_step_that_was_refused_the_next_one_has_its_number(ledger: Ledger) -> None:
    turn = ledger.turn("main", "Look")
    turn.call("Read", {"path": "a"}).complete("one")
    with pytest.raises(BadInput):
        turn.message(Message("nobody", "?"))
    with pytest.raises(BadInput):
        turn.call("Read", object())
    turn.call("Read", {"path": "b"}).complete("two")
    turn.reply("Both.")
    turn.complete()
    kept = ledger.get(turn.id)
    assert [row.sequence for row in kept.messages] == [0, 1]
    assert [row.sequence for row in kept.calls] == [0, 1]
    assert ledger.verify().is_good


def test_what_hangs_on_the_first_message_is_sealed_with_a_turn_that_is_plain_otherwise(ledger: Ledger) -> None:
    with ledger.turn("main", Message("user", "See", files=(File("/a.py", "attached"),))) as turn:
        turn.reply("Seen.")
    with ledger.turn("main", "And\0this") as odd:
        odd.stream("Strange\ud800")
        odd.stream(" words")
    assert [row.file_path for row in ledger.get(turn.id).files] == ["/a.py"]
    assert len(ledger.get(odd.id).originals) == 2
    assert ledger.verify().is_good
