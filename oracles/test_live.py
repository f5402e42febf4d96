"""The real agents, headless, in a closed room: what they write is what the model was asked and what it said."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracles.box import Box, Request
from oracles.conversation import Json
from oracles.live import Claude, Codex, LiveAgent, Pi, PiEarendil
from oracles.readers import Message, Tokens, ccusage_totals, claude_sessions, pi_sessions

AGENTS = [Claude, Codex, Pi, PiEarendil]
STEPS: list[Json] = [
    {"think": "let me look", "text": "I will run a command.", "shell": "echo hi-from-tool"},
    {"tools": [{"shell": "echo second"}, {"shell": "ls /nonexistent-folder"}]},
    {"text": "Done."},
]


@pytest.fixture(params=AGENTS, ids=lambda kind: kind.__name__)
def agent(request: pytest.FixtureRequest, box: Box) -> LiveAgent:
    made: LiveAgent = request.param(box)
    return made


def lines(file: Path) -> list[Any]:
    """The records of a session file, which all must be whole."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def texts(request: Request, role: str) -> list[str]:
    """What one role said in a request, without what the agent put around it."""
    return [item.text for item in request.history if item.role == role and item.kind == "text"]


def spent(box: Box) -> Tokens:
    """What the model says to have cost so far, as ccusage counts it: input without cache."""
    total = Tokens()
    for request in box.requests():
        said = request.reply
        written = said["cache_write"] if request.api == "anthropic" else 0
        fresh = said["input"] - said["cached"] - written
        total += Tokens(fresh, said["output"], written, said["cached"])
    return total


def test_an_agent_works_and_goes_on_where_it_was(agent: LiveAgent) -> None:
    first = agent.ask("Hello one.", *STEPS)
    assert agent.ask("Second?") == first
    last = agent.box.requests()[-1]
    assert texts(last, "assistant") == ["I will run a command.", "Done."]
    assert [text.split(" FAKE:")[0] for text in texts(last, "user") if "Hello" in text] == ["Hello one."]
    assert texts(last, "user")[-1].strip() == "Second?"
    results = {item.id: item.text for item in last.history if item.kind == "result"}
    asked = [results[item.id] for item in last.history if item.kind == "call"]
    assert all(word in result for word, result in zip(["hi-from-tool", "second", "No such file"], asked, strict=True))
    assert len(lines(first)) > 8


def test_a_fork_is_a_file_of_its_own_with_the_same_past(agent: LiveAgent) -> None:
    parent = agent.ask("Hello one.", *STEPS)
    before = parent.read_bytes()
    child = agent.fork().ask("In the fork?")
    assert child != parent
    assert parent.read_bytes() == before
    assert texts(agent.box.requests()[-1], "assistant") == ["I will run a command.", "Done."]


def test_an_agent_killed_in_a_tool_call_leaves_the_call_without_a_result(agent: LiveAgent) -> None:
    file = agent.ask_and_kill("Kill me.", {"text": "Working on it.", "shell": "echo one"}, agent.box.held_in_tool)
    first, held = (request.reply["calls"][0]["id"] for request in agent.box.requests())
    written = file.read_text(encoding="utf-8")
    assert len(lines(file)) > 4
    assert written.count(f'{first}"') > written.count(f'{held}"') > 0  # as a value, and not in the command
    assert "Hello again." in texts_after_resume(agent)


def texts_after_resume(agent: LiveAgent) -> str:
    """What the killed session puts in front of the model when it is taken up again."""
    agent.ask("Hello again.")
    return "\n".join(texts(agent.box.requests()[-1], "user"))


def test_an_agent_killed_in_an_answer_does_not_write_half_of_it(agent: LiveAgent) -> None:
    half = agent.box.held_in_answer("This will be cut in the middle.")
    file = agent.ask_and_kill("Kill me.", agent.box.noted("Working on it."), half)
    said = [line for line in lines(file) if "Working on it." in json.dumps(line) and "Kill me." not in json.dumps(line)]
    assert said
    assert not any("cut in" in json.dumps(line) and "Kill me." not in json.dumps(line) for line in lines(file))


@pytest.mark.parametrize("api", ["anthropic", "responses", "chat"])
def test_pi_reads_back_what_pi_sent_over_any_api(box: Box, api: str) -> None:
    agent = Pi(box, api=api)
    file = agent.ask("Hello one.", *STEPS)
    assert {request.api for request in box.requests()} == {api}
    for judge in ("pi", "pi-earendil"):
        (session,) = pi_sessions([file], judge)
        _check_messages(session.messages)
        assert session.model == "fake-model"
        assert session.thinking_level == "low"


def test_the_sdk_reads_back_what_claude_code_sent(box: Box) -> None:
    (session,) = claude_sessions([Claude(box).ask("Hello one.", *STEPS)])
    _check_messages(session.messages)


def _check_messages(messages: tuple[Message, ...]) -> None:
    assert [text for text in (one.text for one in messages) if text][1:] == ["I will run a command.", "Done."]
    assert [one.thinking for one in messages if one.thinking] == ["let me look"]
    calls = [call for one in messages for call in one.calls]
    failed = {result.call_id: result.is_error for one in messages for result in one.results}
    assert [call.arguments["command"] for call in calls][:2] == ["echo hi-from-tool", "echo second"]
    assert [failed[call.id] for call in calls] == [False, False, True]


def test_the_sdk_finds_a_subagent_of_claude_code(box: Box) -> None:
    inner = 'Sub job. FAKE:[{"shell": "echo in-sub"}, {"text": "Sub result 42"}]'
    (session,) = claude_sessions([Claude(box).ask("Use a subagent.", {"task": inner}, {"text": "Sub said 42."})])
    assert "Sub said 42." in [one.text for one in session.messages]
    (subagent,) = session.subagents.values()
    assert subagent[-1].text == "Sub result 42"


def test_codex_has_a_file_for_a_subagent(box: Box) -> None:
    inner = 'Sub job. FAKE:[{"shell": "echo in-sub"}, {"text": "Sub result 42"}]'
    wait = {"tool": "wait_agent", "args": {"timeout_ms": 10_000}}
    file = Codex(box).ask("Use a subagent.", {"task": inner}, wait, {"text": "Sub said 42."})
    others = [one for one in (box.home / ".codex" / "sessions").rglob("*.jsonl") if one != file]
    assert len(others) == 1
    assert "Sub result 42" in others[0].read_text(encoding="utf-8")


def test_claude_code_compacts_when_it_is_told_to(box: Box) -> None:
    agent = Claude(box)
    agent.ask("Hello one.", *STEPS)
    agent.ask("/compact")
    (session,) = claude_sessions([agent.ask("After?")])
    assert "FAKE SUMMARY" in session.messages[0].text
    assert session.messages[-1].text.endswith("After?")


def test_codex_compacts_when_its_window_is_full(box: Box) -> None:
    agent = Codex(box)
    agent.ask("Hello one.", {"text": "Much was read.", "usage": {"input": 400_000}})
    file = agent.ask("After?")
    assert [line for line in lines(file) if line["type"] == "compacted"]


@pytest.mark.parametrize(("kind", "folder"), [(Claude, ".claude"), (Codex, ".codex/sessions"), (Pi, ".pi")])
def test_ccusage_counts_what_the_model_said(box: Box, kind: type[LiveAgent], folder: str) -> None:
    agent = kind(box)
    agent.ask("Hello one.", *STEPS)
    agent.ask("Second?")
    (counted,) = ccusage_totals(**{f"{kind.__name__.lower()}_dir": box.home / folder}).values()
    assert counted == spent(box)
