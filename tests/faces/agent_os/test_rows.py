"""Tasks, calls and messages are sessions, tool calls and messages: everything the ledger does, it does with them."""

import json

import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.errors import BadInput, SessionArchived, TurnIsSealed, UnresolvedCalls
from agents_ledger.ledger import growing, search, sessions
from agents_ledger.model.rows import Record
from agents_ledger.store import Tx
from tests.faces.agent_os.conversation import AT, Speaker


def thread(ledger: Ledger, label: str = "t") -> list[Record]:
    return ledger.thread(ledger.head(label) or "")


def said(record: Record) -> list[str | None]:
    return [message.content for message in record.messages]


def exchange(speaker: Speaker, number: int) -> None:
    """A question with its answer."""
    speaker.message(f"q{number}", content=f"question {number}", timestamp=AT + 10 * number)
    speaker.message(f"a{number}", "assistant", f"answer {number}", timestamp=AT + 10 * number + 5)


def test_a_task_is_a_session_that_opens_with_its_system_prompt(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task(parentTaskId=None)
    session = ledger.session("t")
    assert (session.origin, session.origin_session_id, session.created_at) == ("agent-os", "t", AT)
    assert [message.content for message in ledger.context(ledger.head("t") or "").system] == ["Be kind."]
    assert speaker.messages() == []


def test_what_is_said_after_an_answer_begins_a_turn(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    exchange(speaker, 1)
    speaker.message("more", "assistant", "and more")
    exchange(speaker, 2)
    first, second = thread(ledger)
    assert said(first) == ["Be kind.", "question 1", "answer 1", "and more"]
    assert said(second) == ["question 2", "answer 2"]
    assert (first.turn.query_message_ids, first.turn.response_message_id) == ('["q1"]', "more")
    assert first.turn.seal_seq
    assert second.turn.seal_seq == 0
    assert [move.reason for move in ledger.history("t")] == ["advance", "advance"]
    assert ledger.verify().findings == []


def test_several_questions_before_an_answer_are_one_turn(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task(systemPrompt="")
    for number in range(3):
        speaker.message(f"q{number}")
    [record] = thread(ledger)
    assert record.turn.query_message_ids == '["q0","q1","q2"]'


def test_a_system_message_after_a_call_that_began_a_turn_is_its_prompt(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task(systemPrompt="")
    speaker.message("m1")
    speaker.task(systemPrompt="", completionStatus="success")
    speaker.call("c", "completed")
    speaker.message("m2", "system", "From now on, whisper.")
    speaker.task(systemPrompt="", completionStatus="failed")
    assert [message.content for message in ledger.context(ledger.head("t") or "").system] == ["From now on, whisper."]
    assert speaker.ask("ldg:task:get", taskId="t")["task"]["systemPrompt"] == ""
    assert ledger.verify().findings == []


def test_an_endless_turn_is_cut(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task(systemPrompt="")

    def say(tx: Tx) -> None:
        for number in range(growing.LARGEST_TURN + 3):
            session = sessions.require(tx, "t")
            growing.add_message(tx, ledger.env, session, Message("user", "and", created_at=AT + number))

    ledger.database.write(say)
    assert [len(record.messages) for record in thread(ledger)] == [growing.LARGEST_TURN, 3]
    assert ledger.verify().findings == []


def test_the_end_of_a_task_seals_its_last_turn(ledger: Ledger, speaker: Speaker) -> None:
    for label, status in (("t", "success"), ("u", "cancelled")):
        speaker.task(label)
        speaker.message(f"{label}1", taskId=label)
        speaker.task(label, completionStatus=status, updatedAt=AT + 9)
    [good], [bad] = thread(ledger, "t"), thread(ledger, "u")
    assert (good.turn.status, good.turn.error, bool(good.turn.seal_seq)) == ("completed", None, True)
    assert (bad.turn.status, bad.turn.error, bool(bad.turn.seal_seq)) == ("failed", "the task ended: cancelled", True)
    assert ledger.verify().findings == []


def test_a_call_hangs_on_the_message_that_announces_it(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    speaker.message("m1")
    speaker.message("m2", "assistant", "I look")
    speaker.call("c", startMessageId="m2", parameters='{"a": 1}')
    speaker.call(
        "c", "failed", startMessageId="m2", parameters='{"a": 1}', details='{"error":"away"}', updatedAt=AT + 9
    )
    [call] = thread(ledger)[0].calls
    assert (call.tool_name, call.message_id, call.params_json) == ("mem:retrieve", "m2", '{"a": 1}')
    assert (call.status, call.error, call.result_json) == ("failed", "away", '{"error":"away"}')
    assert (call.started_at, call.completed_at) == (AT + 2, AT + 9)


def test_the_conversation_goes_on_while_a_call_runs_and_is_sealed_when_it_ends(
    ledger: Ledger, speaker: Speaker
) -> None:
    speaker.task()
    exchange(speaker, 1)
    speaker.call("slow", "in_progress", startMessageId="a1")
    for number in (2, 3, 4):
        exchange(speaker, number)
    assert [record.turn.seal_seq for record in thread(ledger)] == [0, 0, 0, 0]
    assert ledger.verify().findings == []
    with pytest.raises(UnresolvedCalls, match="complete or fail each call first"):
        ledger.fork(ledger.head("t") or "")
    speaker.call("slow", "completed", startMessageId="a1", updatedAt=AT + 99)
    assert [bool(record.turn.seal_seq) for record in thread(ledger)] == [True, True, True, False]
    assert ledger.verify().findings == []


def test_a_call_that_ends_after_its_task_ends_its_last_turn(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    exchange(speaker, 1)
    speaker.call("slow", startMessageId="a1")
    speaker.task(completionStatus="error", updatedAt=AT + 50)
    assert thread(ledger)[-1].turn.seal_seq == 0
    speaker.call("slow", "completed", startMessageId="a1", updatedAt=AT + 99)
    assert (thread(ledger)[-1].turn.status, bool(thread(ledger)[-1].turn.seal_seq)) == ("failed", True)
    assert ledger.verify().findings == []


def test_a_call_of_a_sealed_turn_keeps_its_outcome_but_may_name_its_end(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    exchange(speaker, 1)
    speaker.call("c", "completed", startMessageId="a1")
    exchange(speaker, 2)
    speaker.call("c", "completed", startMessageId="a1", endMessageId="a2", updatedAt=AT + 90)
    with pytest.raises(TurnIsSealed, match="make another call"):
        speaker.call("c", "failed", startMessageId="a1", endMessageId="a2", updatedAt=AT + 91)
    [call] = speaker.ask("ldg:call:list", taskId="t")["calls"]
    assert (call["status"], call["endMessageId"], call["updatedAt"]) == ("completed", "a2", AT + 90)


def test_a_call_announced_by_a_sealed_turn_is_part_of_the_last_one(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    exchange(speaker, 1)
    exchange(speaker, 2)
    speaker.call("late", startMessageId="a1")
    [call] = thread(ledger)[-1].calls
    assert (call.id, call.message_id) == ("late", None)
    assert speaker.ask("ldg:call:list", taskId="t")["calls"][0]["startMessageId"] == "a1"
    speaker.call("late", "completed", startMessageId="a1")
    speaker.task(completionStatus="success", updatedAt=AT + 9)
    speaker.call("later", startMessageId="a1")
    assert [len(record.calls) for record in thread(ledger)] == [0, 1, 1]
    assert ledger.verify().findings == []


def test_what_was_saved_is_found_by_search_at_once_and_once(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task(systemPrompt="You grow quinces.")
    exchange(speaker, 1)
    speaker.call("c", "in_progress", startMessageId="a1", details='{"seen":"medlar"}')

    def found(words: str) -> int:
        ledger.index()
        with ledger.database.read() as tx:
            return len(search.matching(tx, words))

    assert [found(word) for word in ("quinces", "question", "medlar")] == [1, 1, 1]
    speaker.call("c", "completed", startMessageId="a1", details='{"seen":"rowan"}', updatedAt=AT + 5)
    assert [found(word) for word in ("medlar", "rowan")] == [0, 1]
    exchange(speaker, 2)
    speaker.task(systemPrompt="You grow quinces.", completionStatus="success", updatedAt=AT + 60)
    assert [found(word) for word in ("quinces", "question", "rowan", "answer")] == [1, 2, 1, 2]


def test_scripts_without_spaces_and_emoji_are_found_in_what_was_saved(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task(systemPrompt="你是园丁")
    speaker.message("m1", content="梨树什么时候开花 orchard 🍐")
    speaker.call("c", "in_progress", details='{"seen":"山楂"}')

    def found(*words: str) -> list[int]:
        return [len(ledger.search(word).groups) for word in words]

    assert found("园丁", "梨树", "🍐", "orchard", "山楂") == [1, 1, 1, 1, 1]
    speaker.call("c", "completed", details='{"seen":"枇杷"}', updatedAt=AT + 5)
    assert found("山楂", "枇杷") == [0, 1]
    speaker.message("m2", "assistant", "四月")
    speaker.task(systemPrompt="你是园丁", completionStatus="success", updatedAt=AT + 60)
    assert found("园丁", "梨树", "🍐", "枇杷", "四月") == [1, 1, 1, 1, 1]


def test_a_fork_goes_on_from_what_it_inherited(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    exchange(speaker, 1)
    exchange(speaker, 2)
    ledger.fork(thread(ledger)[0].turn.id, "other")
    speaker.message("q9", content="another way", taskId="other", timestamp=AT + 90)
    assert speaker.messages("other") == ["q1", "a1", "q9"]
    assert speaker.messages() == ["q1", "a1", "q2", "a2"]
    task = speaker.ask("ldg:task:get", taskId="other")["task"]
    assert task["systemPrompt"] == "Be kind."
    speaker.task("other", createdAt=task["createdAt"], completionStatus="success", updatedAt=task["updatedAt"])
    assert speaker.ask("ldg:task:get", taskId="other")["task"]["completionStatus"] == "success"
    assert ledger.verify().findings == []


def test_a_rewound_task_goes_on_from_there_and_can_go_forward_again(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    for number in (1, 2, 3):
        exchange(speaker, number)
    ledger.rewind("t", turns=2)
    assert speaker.messages() == ["q1", "a1"]
    ledger.forward("t")
    assert len(speaker.messages()) == 6
    ledger.rewind("t", turns=1)
    exchange(speaker, 4)
    assert speaker.messages() == ["q1", "a1", "q2", "a2", "q4", "a4"]
    assert ledger.verify().findings == []


def test_other_writers_may_add_turns_between(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    exchange(speaker, 1)
    ledger.append("t", Turn(messages=(Message("user", "by hand"), Message("assistant", "so it is"))))
    with ledger.turn("t", "live") as turn:
        turn.reply("and done")
    exchange(speaker, 2)
    assert [said(record)[-1] for record in thread(ledger)] == ["answer 1", "so it is", "and done", "answer 2"]
    assert speaker.ask("ldg:msg:list", taskId="t")["total"] == 8
    assert ledger.verify().findings == []


def test_a_subtask_is_a_subagent(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    speaker.task("t/1", parentTaskId="t")
    speaker.task("t/2", parentTaskId="t", completionStatus="failed")
    assert [(row.label, row.task_status) for row in ledger.subagents("t")] == [("t/1", "running"), ("t/2", "failed")]
    speaker.task("t/1", parentTaskId="t", completionStatus="success", updatedAt=AT + 1)
    assert ledger.session("t/1").task_status == "completed"
    assert [task["id"] for task in speaker.ask("ldg:task:query", parentTaskId="t")["tasks"]] == ["t/2", "t/1"]
    assert ledger.verify().findings == []


def test_an_archived_task_takes_nothing_and_an_alias_leads_to_it(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    ledger.alias("nickname", "t")
    speaker.message("m1", taskId="nickname")
    assert speaker.messages("nickname") == speaker.messages() == ["m1"]
    with pytest.raises(BadInput, match="another name of 't'"):
        speaker.task("child", parentTaskId="nickname")
    ledger.archive("t")
    with pytest.raises(SessionArchived, match="unarchive it first"):
        speaker.message("m2")


def test_sessions_of_others_are_tasks_too(ledger: Ledger, speaker: Speaker) -> None:
    ledger.append("good", Turn(messages=(Message("system", "Be brief."), Message("user", "Hi"))))
    ledger.append("bad", Turn(messages=(Message("user", "Hi"),), status="failed", error="away"))
    with ledger.turn("busy", "Hi"):
        found = {task["id"]: task for task in speaker.ask("ldg:task:query")["tasks"]}
        assert [found[name]["completionStatus"] for name in ("good", "bad", "busy")] == ["success", "failed", None]
    assert found["good"]["systemPrompt"] == "Be brief."
    assert speaker.unfinished() == ([], [])
    speaker.message("more", taskId="good", content="go on")
    assert speaker.ask("ldg:msg:list", taskId="good")["total"] == 3


def test_a_task_that_failed_while_a_call_ran_can_go_on(ledger: Ledger, speaker: Speaker) -> None:
    speaker.task()
    exchange(speaker, 1)
    speaker.call("slow", startMessageId="a1")
    exchange(speaker, 2)
    speaker.task(completionStatus="failed", updatedAt=AT + 50)
    speaker.task(updatedAt=AT + 60)
    speaker.call("slow", "completed", startMessageId="a1", updatedAt=AT + 70)
    exchange(speaker, 3)
    assert [record.turn.status for record in thread(ledger)] == ["completed"] * 3
    assert ledger.verify().findings == []


def test_each_state_is_given_back_with_its_own_fields(speaker: Speaker) -> None:
    speaker.task()
    speaker.task(updatedAt=AT + 1, title="Pears")
    speaker.task(updatedAt=AT + 2, completionStatus="success", score=3)
    states = speaker.ask("ldg:task:history", taskId="t")["states"]
    assert [(state.get("title"), state.get("score")) for state in states] == [(None, None), ("Pears", None), (None, 3)]
    assert speaker.ask("ldg:task:history", taskId="t", limit=1, offset=1)["states"] == [states[1]]


def test_any_text_comes_back_as_it_was(ledger: Ledger, speaker: Speaker) -> None:
    odd = 'NUL \x00, lone \ud800, \u202e, 🍐, "quotes"'
    speaker.task(systemPrompt=odd, note=odd)
    speaker.task(systemPrompt=odd, note=odd, updatedAt=AT + 1)
    speaker.message("m1", content=odd, extra={"deep": [odd, None, 1.5]})
    for status, details in (("pending", ""), ("in_progress", odd), ("completed", "[1, 2.50]")):
        speaker.call("c", status, parameters="no JSON at all", details=details, abilityName="a b")
        [call] = speaker.ask("ldg:call:list", taskId="t")["calls"]
        assert (call["parameters"], call["details"], call["abilityName"]) == ("no JSON at all", details, "a b")
    assert [state["details"] for state in speaker.ask("ldg:call:history", callId="c")["states"]] == [
        "",
        odd,
        "[1, 2.50]",
    ]
    task = speaker.ask("ldg:task:get", taskId="t")["task"]
    assert (task["systemPrompt"], task["note"], task["updatedAt"]) == (odd, odd, AT + 1)
    [message] = speaker.ask("ldg:msg:list", taskId="t")["messages"]
    assert (message["content"], message["extra"]) == (odd, {"deep": [odd, None, 1.5]})
    speaker.task(systemPrompt=odd, completionStatus="success", updatedAt=AT + 2)
    assert ledger.verify().findings == []


def test_names_that_no_column_holds_are_refused_or_not_found(speaker: Speaker) -> None:
    for ability in ("ldg:task:get", "ldg:msg:list", "ldg:call:list", "ldg:task:history"):
        assert not any(speaker.ask(ability, taskId="a\x00b").get(name) for name in ("task", "messages", "calls"))
    assert speaker.ask("ldg:task:query", completionStatus="\ud800", parentTaskId="\x00")["total"] == 0
    assert speaker.ask("ldg:call:history", callId="\x00") == {"states": []}


def test_times_may_be_written_with_a_point(speaker: Speaker) -> None:
    speaker.bus.invoke("ldg:task:save")('{"task":{"id":"t","systemPrompt":"","createdAt":1.0e3,"updatedAt":1000.0}}')
    assert speaker.ask("ldg:task:query", fromTime=999.5, toTime=1000.5, limit=10.0)["total"] == 1
    assert json.loads(speaker.bus.invoke("ldg:task:query")('{"toTime": 1e300}'))["total"] == 1
