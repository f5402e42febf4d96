"""Whatever a story holds, the APIs take it: calls are answered once, roles are in turn, ids are theirs."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger.exports.targets import REQUESTS
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Role, Story, Summary, Text, Thinking
from agents_ledger.model.writing import Losses
from tests.exports.schemas import assert_valid

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

words = st.text(st.characters(codec="utf-8"), max_size=12)
names = st.one_of(st.sampled_from(["a", "b", "call|1\n", "x" * 70, ""]), words)
pictures = st.sampled_from(
    [
        Image("image/png", PNG),
        Image("image/svg+xml", "PHN2Zz48L3N2Zz4="),
        Image("image/png", "not base64"),
        Image(None, None, "https://example.org/a.png"),
        Image(None, None, "file:///etc/passwd"),
        Image(),
    ]
)
thoughts = st.builds(
    Thinking,
    words,
    signature=st.one_of(st.none(), st.just("c2ln")),
    api=st.sampled_from([None, "anthropic", "openai"]),
    is_hidden=st.booleans(),
)
calls = st.builds(
    Call,
    names,
    st.sampled_from(["Bash", "mcp.x/y", "1st", ""]),
    st.sampled_from([None, {}, "text", [1], {"a": "\x00"}]),
)
results = st.builds(
    Result,
    names,
    st.just("Bash"),
    st.lists(st.one_of(st.builds(Text, words), pictures), max_size=2).map(tuple),
    st.booleans(),
    st.sampled_from(["completed", "failed", "abandoned"]),
)
blocks: st.SearchStrategy[Block] = st.one_of(st.builds(Text, words), thoughts, pictures, calls, results)
entries = st.builds(
    Entry,
    role=st.sampled_from(["user", "assistant", "tool", "system"]),
    blocks=st.lists(blocks, max_size=4).map(tuple),
    turn_id=st.just("T"),
    at=st.just(0),
)


def told(target: str, said: list[Entry], **facts: Any) -> tuple[Any, Losses]:
    losses = Losses()
    story = Story(turn_id="T", at=0, entries=said, **facts)
    return json.loads("".join(REQUESTS[target].write(story, losses))), losses


def entry(role: Role, *said: Block) -> Entry:
    return Entry(role=role, blocks=said, turn_id="T", at=0)


@pytest.mark.parametrize("target", REQUESTS)
@settings(max_examples=100, deadline=None)
@given(said=st.lists(entries, max_size=8))
def test_any_story_is_a_request_that_the_api_takes(target: str, said: list[Entry]) -> None:
    assert_valid(target, told(target, said)[0])


@pytest.mark.parametrize("target", REQUESTS)
def test_the_system_prompt_and_the_summary_come_first(target: str) -> None:
    summary = Summary("what was before", "T", 0)
    body, _ = told(target, [entry("user", Text("go on"))], system="be kind", summary=summary)
    assert_valid(target, body)
    text = json.dumps(body)
    assert text.index("be kind") < text.index("what was before") < text.index("go on")


def test_thinking_goes_back_only_to_whom_it_is_sealed_for() -> None:
    said = [
        entry("user", Text("hi")),
        entry("assistant", Thinking("claude's", "s1", api="anthropic"), Thinking("plain"), Text("hello")),
        entry("user", Text("again")),
        entry("assistant", Thinking("", "s2", "rs_1", "openai", is_hidden=True), Text("yes")),
    ]
    body, losses = told("anthropic", said)
    assert body["messages"][1]["content"][0] == {"type": "thinking", "thinking": "claude's", "signature": "s1"}
    assert [block["type"] for block in body["messages"][3]["content"]] == ["text"]
    assert [(loss.code, loss.count) for loss in losses.listed()] == [("thinking-left-out", 2)]
    body, _ = told("openai-responses", said)
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "s2"}
    assert [item for item in body["input"] if item["type"] == "reasoning"] == [sealed]
    assert "claude's" not in json.dumps(told("openai", said)[0])


def test_parallel_calls_are_answered_together_and_pictures_follow() -> None:
    said = [
        entry("user", Text("look")),
        entry("assistant", Call("1", "Read", {"path": "a"}), Call("2", "Bash", {"command": "x"})),
        entry("tool", Result("1", "Read", (Image("image/png", PNG),))),
        entry("tool", Result("2", "Bash", (Text("no"),), is_error=True, status="failed")),
        entry("user", Text("and?")),
    ]
    for target in REQUESTS:
        assert_valid(target, told(target, said)[0])
    anthropic = told("anthropic", said)[0]["messages"][2]["content"]
    assert [block["type"] for block in anthropic] == ["tool_result", "tool_result", "text"]
    assert anthropic[0]["content"][0]["source"]["media_type"] == "image/png"
    assert anthropic[1]["is_error"] is True
    roles = [message["role"] for message in told("openai", said)[0]["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user", "user"]
    gemini = told("gemini-api", said)[0]["contents"][2]["parts"]
    assert [next(iter(part)) for part in gemini] == ["functionResponse", "inlineData", "functionResponse", "text"]
    assert gemini[2]["functionResponse"]["response"] == {"error": "no"}


def test_a_model_that_the_api_has_is_kept() -> None:
    said = [entry("user", Text("hi"))]
    assert told("anthropic", said, model="claude-opus-4-1")[0]["model"] == "claude-opus-4-1"
    assert told("anthropic", said, model="gpt-5.2-codex")[0]["model"].startswith("claude-")
    assert told("openai", said, model="gpt-5.2-codex")[0]["model"] == "gpt-5.2-codex"


@pytest.mark.parametrize("target", REQUESTS)
def test_half_a_character_is_told_as_an_escape(target: str) -> None:
    half = "a\ud800b"
    said = [entry("user", Text(half)), entry("assistant", Call("1", "Bash", {half: half}))]
    assert_valid(target, told(target, said, system=half)[0])


def test_messages_are_told_as_they_are_read() -> None:
    """A story of any length takes the memory of a message."""
    read = 0

    def reading() -> Any:
        nonlocal read
        for _ in range(1000):
            read += 1
            yield entry("user", Text("hi"))
            yield entry("assistant", Text("hello"))

    story = Story(turn_id="T", at=0, entries=reading())
    for at, _ in enumerate(REQUESTS["anthropic"].write(story, Losses())):
        assert read <= at + 2
