"""Stories as sessions of agents that are only written: their chains, ids, pairs, and what they look like as a whole."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from agents_ledger.exports.agents.table import NATIVES
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Role, Story, Summary, Text, Thinking
from agents_ledger.model.writing import Fork, Losses
from tests.exports.test_requests import PNG

AT = 1_794_800_000_000


def entry(role: Role, *said: Block) -> Entry:
    return Entry(role=role, blocks=said, turn_id="T", at=AT)


STORY = [
    entry("user", Text("Look."), Image("image/png", PNG)),
    entry(
        "assistant", Thinking("hm"), Text("I look."), Call("a", "Bash", {"command": "ls"}), Call("b", "Odd", {"x": 1})
    ),
    entry("tool", Result("a", "Bash", (Text("no"),), is_error=True, status="failed")),
    entry("tool", Result("b", "Odd", (Text("odd"),))),
    entry("assistant", Call("c", "Read", {"file_path": "red.png"})),
    entry("tool", Result("c", "Read", (Text("a picture"), Image("image/png", PNG)))),
    entry("assistant", Call("d", "Bash", {"command": "sleep"})),
    entry("tool", Result("d", "Bash", (), is_error=True, status="abandoned")),
    entry("user", Text("/why?")),
    entry("assistant", Text("So.")),
]


def told(agent: str, said: list[Entry], summary: str | None = None) -> tuple[Any, Losses]:
    native, losses = NATIVES[agent], Losses()
    fork = Fork(session=native.new_session(AT, bytes(16)), at=AT, cwd="/home/ada/x")
    short = None if summary is None else Summary(summary, "T", AT)
    lines = [line.data for line in native.anew(Story(turn_id="T", at=AT, entries=said, summary=short), fork, losses)]
    return (json.loads(b"\n".join(lines)) if agent == "opencode" else [json.loads(line) for line in lines]), losses


def test_qwen_gets_a_chain_of_records() -> None:
    lines, losses = told("qwen", STORY, "before")
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert lines[0]["systemPayload"]["compressedHistory"][0]["parts"] == [{"text": "before"}]
    assert lines[1]["message"]["parts"][0]["text"].startswith("Got it.")
    del lines[1]
    kinds = [line["type"] for line in lines[1:]]
    assert kinds == [
        *("user", "assistant", "tool_result", "user", "assistant", "tool_result"),
        *("assistant", "tool_result", "user", "assistant"),
    ]
    assert [line["toolCallResult"]["status"] for line in lines if line["type"] == "tool_result"] == [
        *("error", "success", "error")
    ]
    assert lines[3]["message"]["parts"] == [
        {"functionResponse": {"id": "a", "name": "run_shell_command", "response": {"error": "no"}}}
    ]
    assert lines[6]["message"]["parts"][1]["inlineData"]["mimeType"] == "image/png"
    assert {loss.code for loss in losses.listed()} >= {"thinking-as-text", "tool-as-text", "no-result"}


def test_gemini_gets_results_with_their_calls() -> None:
    lines, losses = told("gemini", STORY, "before")
    assert lines[0]["kind"] == "main"
    assert len({line["id"] for line in lines[1:]}) == len(lines) - 1
    calls = [call for line in lines for call in line.get("toolCalls", [])]
    assert [(call["id"], call["status"]) for call in calls] == [("a", "error"), ("c", "success"), ("d", "error")]
    assert all(call["result"][0]["functionResponse"]["id"] == call["id"] for call in calls)
    assert calls[1]["result"][1]["inlineData"]["data"] == PNG
    assert not [line for line in lines[1:] if "functionResponse" in json.dumps(line["content"])]
    # what begins as a command would not be sent
    assert lines[-2]["content"] == [{"text": "User: /why?"}]
    assert "text-marked" in {loss.code for loss in losses.listed()}


def test_opencode_gets_messages_whose_ids_ascend() -> None:
    document, _ = told("opencode", STORY, "before")
    messages = document["messages"]
    ids = [message["info"]["id"] for message in messages]
    assert ids == sorted(ids)
    assert all(len(name) == len("msg_") + 26 for name in ids)
    asked = None
    for message in messages:
        assert message["info"]["sessionID"] == document["info"]["id"]
        assert all(part["messageID"] == message["info"]["id"] for part in message["parts"])
        if message["info"]["role"] == "user":
            asked = message["info"]["id"]
        else:
            assert message["info"]["parentID"] == asked
    assert [part["type"] for part in messages[0]["parts"]] == ["compaction"]
    assert messages[1]["info"]["summary"] is True
    states = [part["state"] for message in messages for part in message["parts"] if part["type"] == "tool"]
    assert [state["status"] for state in states] == ["error", "completed", "error"]
    assert states[1]["attachments"][0]["url"] == f"data:image/png;base64,{PNG}"


def test_opencode_s_next_message_comes_after_ours() -> None:
    """It makes ids of the time: 48 bits of milliseconds, twelve more for those of the same one."""
    document, _ = told("opencode", STORY * 50)
    last = document["messages"][-1]["parts"][-1]["id"]
    assert last[4:16] < f"{(AT * 0x1000) & ((1 << 48) - 1):012x}"


@pytest.mark.parametrize("agent", NATIVES)
def test_a_story_that_the_model_begins_can_be_told(agent: str) -> None:
    said, _ = told(agent, [entry("assistant", Text("Good morning."))])
    assert "Good morning." in json.dumps(said)


@pytest.mark.parametrize("agent", NATIVES)
def test_an_answer_that_a_compaction_kept_is_not_mixed_with_another(agent: str) -> None:
    said, _ = told(agent, [entry("assistant", Text("Kept.")), entry("user", Text("next"))], "before")
    assert "Got it." not in json.dumps(said)


def test_opencode_s_times_never_go_back() -> None:
    """It sorts by them; what a compaction kept is older than the compaction."""
    kept = [replace(each, at=AT - 5000) for each in STORY]
    times = [message["info"]["time"]["created"] for message in told("opencode", kept, "before")[0]["messages"]]
    assert times == sorted(times)


@pytest.mark.parametrize("agent", NATIVES)
def test_the_command_names_the_session_or_its_file(agent: str) -> None:
    native = NATIVES[agent]
    fork = Fork(session="S", at=AT, cwd="/home/ada/my project")
    command = " ".join(native.resume("S", "/home/ada/with space/f"))
    assert native.program in command
    assert "S" in command or "/home/ada/with space/f" in command
    assert native.file(fork).endswith((".jsonl", ".json"))
    assert native.place({}, "/home/ada").startswith("/home/ada/.")
