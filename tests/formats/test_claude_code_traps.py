"""Claude Code: one trap of its lines each."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from agents_ledger.model.steps import Answered, Facts, Noted, Problem, Said, Step
from tests.formats.claude_stories import line, of, only, read, said, user


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("fix it", "human"),
        ("<b>bold</b> words", "human"),
        ("<command-message>init</command-message>\n<command-name>/init</command-name>", "human"),
        ("<command-name>/init</command-name>\n<command-message>init</command-message>", "human"),
        ("<command-name>/clear</command-name>\n            <command-message>clear</command-message>", "context"),
        ("<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>\n", "context"),
        ("<system-reminder>a</system-reminder>\nand my question", "human"),
        ("<system-reminder>never closed", "human"),
        ("<ide_selection>lines 1 to 2</ide_selection>", "context"),
        ("<ide_selection>lines 1 to 2</ide_selection>\nwhat is this?", "human"),
        ("<task-notification>\n<task-id>b1</task-id></task-notification>", "event"),
        ("[Request interrupted by user]", "event"),
        ('<teammate-message teammate_id="a">hi</teammate-message>', "agent"),
        ('<channel source="telegram">hi</channel>', "channel"),
        ("<bash-input>ls</bash-input>", "context"),
    ],
)
def test_whose_words_a_text_holds(text: str, source: str) -> None:
    message = only(read(user(text)))
    assert message.source == source
    assert message.starts_turn == (source in {"human", "agent", "channel"})


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({"isMeta": True}, "context"),
        ({"promptSource": "typed", "origin": {"kind": "human"}}, "human"),
        ({"promptSource": "system"}, "event"),
        ({"origin": {"kind": "task-notification"}}, "event"),
        ({"origin": {"kind": "scheduled-task"}}, "cron"),
        ({"origin": {"kind": 7}}, "human"),
    ],
)
def test_what_a_line_declares_counts_more(fields: dict[str, Any], source: str) -> None:
    assert only(read(user("the same words", **fields))).source == source


def test_steps_of_one_line_are_a_chain_that_ends_with_its_id() -> None:
    results = [{"type": "tool_result", "tool_use_id": call, "content": call} for call in ("c1", "c2")]
    events = read(user([*results, {"type": "text", "text": "and?"}], "u9", "a1"))
    steps = [event for event in events if isinstance(event, Step)]
    assert [(step.native_id, step.parent) for step in steps] == [("u9:0", "a1"), ("u9:1", "u9:0"), ("u9", "u9:1")]
    assert [type(step) for step in steps] == [Answered, Answered, Said]


def test_the_order_of_blocks_is_told_where_it_is_not_the_common_one() -> None:
    text, call = {"type": "text", "text": "one"}, {"type": "tool_use", "id": "c", "name": "Bash", "input": {}}
    assert only(read(said({"type": "thinking", "thinking": "hm"}, text, call))).blocks is None
    assert only(read(said(text, call, {"type": "text", "text": "three"}))).blocks == (
        {"type": "text", "from": 0, "to": 3},
        {"type": "call", "at": 0},
        {"type": "text", "from": 4, "to": 9},
    )


def test_hidden_thinking_is_told_by_its_size() -> None:
    message = only(read(said({"type": "redacted_thinking", "data": "abcd"})))
    assert message.blocks == ({"type": "redacted_thinking", "size_bytes": 4},)


def test_a_server_tool_answers_in_the_same_message() -> None:
    call = {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "x"}}
    result = {
        "type": "web_search_tool_result",
        "tool_use_id": "w",
        "content": [{"type": "web_search_result", "url": "y"}],
    }
    events = read(said(call, result))
    assert [call.tool for call in only(events).calls] == ["web_search"]
    assert [answer.result for answer in of(Answered, events)] == [[{"type": "web_search_result", "url": "y"}]]


def test_interleaved_sidechains_are_told_apart() -> None:
    task = {"type": "tool_use", "name": "Task"}
    lines = [user("main"), said(*({**task, "id": f"t{n}", "input": {"prompt": f"job {n}"}} for n in range(3)))]
    lines += [{**user(f"job {n}", f"r{n}"), "isSidechain": True} for n in range(3)]
    for step in range(6):
        for n in range(3):
            parent = f"r{n}" if step == 0 else f"s{n}.{step - 1}"
            lines.append(
                {**said({"type": "text", "text": "x"}, uuid=f"s{n}.{step}", parent=parent), "isSidechain": True}
            )
    events = read(*lines)
    sides = Counter(event.session for event in of(Said, events) if event.role == "assistant")
    assert sides == {"s": 1, **{f"s/agent-r{n}": 6 for n in range(3)}}
    links = {(facts.session, facts.parent_call) for facts in of(Facts, events) if facts.parent_call}
    assert links == {(f"s/agent-r{n}", f"t{n}") for n in range(3)}


def test_a_task_notification_ends_its_subagent() -> None:
    task = {"type": "tool_use", "id": "t", "name": "Agent", "input": {"prompt": "go", "description": "d"}}
    launched = [{"type": "tool_result", "tool_use_id": "t", "content": "launched"}]
    notice = "<task-notification>\n<task-id>a7</task-id>\n<status>completed</status>\n</task-notification>"
    events = read(
        user("x"),
        said(task),
        user(launched, "u2", "a1", toolUseResult={"status": "async_launched", "agentId": "a7"}),
        user(notice, "u3", "u2"),
    )
    assert [facts.task_status for facts in of(Facts, events) if facts.session == "s/agent-a7"] == [None, "completed"]


def test_a_title_by_a_person_outlives_those_of_the_program() -> None:
    states = [("ai-title", "aiTitle", "a"), ("custom-title", "customTitle", "b"), ("ai-title", "aiTitle", "c")]
    events = read(*({"type": kind, field: title, "sessionId": "s"} for kind, field, title in states))
    assert [facts.title for facts in of(Facts, events)] == ["a", "b"]


def test_an_unknown_type_is_named_once_and_stays_a_node() -> None:
    events = read(line("hologram", "h1", "u0"), line("hologram", "h2", "h1"))
    assert of(Problem, events) == [Problem("unknown-entry", "hologram")]
    assert [(step.native_id, step.parent) for step in of(Noted, events)] == [("h1", "u0"), ("h2", "h1")]


def test_the_mirror_of_a_result_is_never_told() -> None:
    result = [{"type": "tool_result", "tool_use_id": "c", "content": "short"}]
    events = read(user(result, toolUseResult={"originalFile": "long " * 1000}))
    assert b"long" not in msgspec.msgpack.encode(events)


def test_a_queued_prompt_of_a_person_begins_a_turn() -> None:
    queued = {"type": "queued_command", "prompt": [{"type": "text", "text": "and this"}], "commandMode": "prompt"}
    message = only(read(line("attachment", "q", "a1", attachment=queued)))
    assert (message.content, message.source, message.starts_turn) == ("and this", "human", True)


def test_a_decision_against_a_call_rejects_it() -> None:
    result = [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}]
    for decision, status in (("reject", "rejected"), ("accept", "failed")):
        (answer,) = of(Answered, read(user(result, permissionDecision={"decision": decision})))
        assert answer.status == status


def test_a_line_with_nothing_in_it_is_only_a_node() -> None:
    for content in ([], [{"type": "tool_result", "content": "whose?"}]):
        (step,) = [event for event in read(user(content)) if isinstance(event, Step)]
        assert isinstance(step, Noted)
