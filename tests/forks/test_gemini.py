"""A fork of a session of Gemini CLI for Gemini CLI: the messages that stood in its list, as they were."""

import json
from pathlib import Path
from typing import Any

from agents_ledger import Ledger
from agents_ledger.capture.forking import Made, fork_into
from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from tests.capture.folders import GOLDEN, copy

SESSION = "33333333-2222-4333-8444-555555555555"
THOUGHT = {"subject": "Colours", "description": "let me see", "timestamp": "2026-11-16T09:00:02.000Z"}
PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}


def forks(ledger: Ledger, folder: Path, label: str) -> list[Made]:
    """A fork of each turn of a session."""
    machine = Machine(str(folder / "home"), {}, "linux")
    Sync(ledger, machine).run([str(folder / "source")])
    return [fork_into(ledger, machine, turn, "gemini") for turn in ledger.ancestry(ledger.head(label) or "")]


def log(folder: Path, *lines: dict[str, Any]) -> None:
    """A session's log."""
    header = {"sessionId": SESSION, "projectHash": "0" * 64, "startTime": "2026-11-16T09:00:00.000Z", "kind": "main"}
    file = folder / "source" / "work" / "chats" / "session-2026-11-16T09-00-33333333.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(
        "".join(f"{json.dumps(line)}\n" for line in ({**header, "lastUpdated": header["startTime"]}, *lines))
    )


def said(name: str, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "timestamp": f"2026-11-16T09:00:{int(name[1:]):02d}.000Z",
        "type": kind,
        "content": content,
        **fields,
    }


def told(made: Made) -> list[dict[str, Any]]:
    """The messages of a fork; each has an id that names the session."""
    header, *messages = [json.loads(line) for line in Path(made.path).read_text().splitlines()]
    assert header["sessionId"] == made.agent_session
    assert [message["id"] for message in messages] == [f"{made.agent_session}/{n}" for n in range(1, len(messages) + 1)]
    return messages


def words(messages: list[dict[str, Any]]) -> list[str]:
    return [part if isinstance(part, str) else part[0]["text"] for part in (message["content"] for message in messages)]


def test_thoughts_pictures_and_calls_stay_as_they_were(ledger: Ledger, tmp_path: Path) -> None:
    call = {"id": "c1", "name": "read_file", "args": {"path": "a"}, "status": "executing"}
    done = {
        **call,
        "status": "success",
        "result": [{"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "b"}}}],
    }
    asked = said("m1", "user", [{"text": "what is this?"}, PICTURE])
    answer = said("m2", "gemini", "a picture", thoughts=[THOUGHT], model="gemini-2.5-flash")
    log(
        tmp_path,
        asked,
        answer,
        {**answer, "toolCalls": [call]},
        {**answer, "toolCalls": [done]},
        said("m3", "gemini", "of b", thoughts=[]),
        said("m4", "user", [{"text": "and then?"}]),
        said("m5", "gemini", "nothing", thoughts=[]),
    )
    first, second = forks(ledger, tmp_path, f"gemini:{SESSION}")
    assert [{**message, "id": ""} for message in told(first)] == [
        {**asked, "id": ""},
        {**answer, "id": "", "toolCalls": [done]},
        {**said("m3", "gemini", "of b", thoughts=[]), "id": ""},
    ]
    assert words(told(second)) == ["what is this?", "a picture", "of b", "and then?", "nothing"]
    assert (first.is_copy, first.losses) == (True, [])


def test_what_was_taken_back_does_not_come_along(ledger: Ledger, tmp_path: Path) -> None:
    log(
        tmp_path,
        said("m1", "user", [{"text": "one"}]),
        said("m2", "gemini", "first"),
        said("m3", "user", [{"text": "two"}]),
        said("m4", "gemini", "second"),
        {"$rewindTo": "m3"},
        said("m5", "user", [{"text": "three"}]),
        said("m6", "gemini", "third"),
        {"$set": {"messages": [said("m7", "user", [{"text": "so far: one and three"}])]}},
        said("m8", "user", [{"text": "four"}]),
        said("m9", "gemini", "fourth"),
    )
    made = forks(ledger, tmp_path, f"gemini:{SESSION}")
    assert words(told(made[1])) == ["one", "first", "three", "third"]
    assert words(told(made[-1])) == ["so far: one and three", "four", "fourth"]


def test_what_a_call_gave_comes_along_behind_a_compression(ledger: Ledger, tmp_path: Path) -> None:
    """In the middle of a turn the list is set anew with the call at its end, and what it gave is said after that."""
    call = {"functionCall": {"id": "c1", "name": "read_file", "args": {}}}
    given = {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "b"}}}
    log(
        tmp_path,
        said("m1", "user", [{"text": "one"}]),
        said("m2", "gemini", "", toolCalls=[{"id": "c1", "name": "read_file", "args": {}, "status": "success"}]),
        {"$set": {"messages": [said("m3", "user", [{"text": "so far"}]), said("m4", "gemini", [call])]}},
        {"$set": {"lastUpdated": "2026-11-16T09:00:05.000Z"}},
        said("m6", "user", [given, PICTURE]),
        said("m7", "gemini", "done"),
        said("m8", "user", [{"text": "two"}]),
        said("m9", "gemini", "second"),
    )
    _, compressed, after, last = forks(ledger, tmp_path, f"gemini:{SESSION}")
    assert [message["content"] for message in told(compressed)] == [[{"text": "so far"}], [call], [given, PICTURE]]
    assert [message["content"] for message in told(after)][2:] == [[given, PICTURE], "done"]
    assert len(told(last)) == len(told(after)) + 2


def test_a_document_is_cut_behind_the_turn(ledger: Ledger, tmp_path: Path) -> None:
    messages = [
        said("m1", "user", "one"),
        said("m2", "gemini", "first", thoughts=[THOUGHT]),
        said("m3", "user", "two"),
        said("m4", "gemini", "second"),
    ]
    facts = {"sessionId": SESSION, "projectHash": "0" * 64, "startTime": "2026-11-16T09:00:00.000Z"}
    file = tmp_path / "source" / "work" / "chats" / "session-2026-11-16T09-00-33333333.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({**facts, "lastUpdated": facts["startTime"], "messages": messages}, indent=2))
    first, second = forks(ledger, tmp_path, f"gemini:{SESSION}")
    assert [{**message, "id": ""} for message in told(first)] == [{**message, "id": ""} for message in messages[:2]]
    assert words(told(second)) == ["one", "first", "two", "second"]
    assert (first.is_copy, first.losses) == (True, [])


def test_a_subagents_session_is_told_anew(ledger: Ledger, tmp_path: Path) -> None:
    copy(GOLDEN / "gemini" / "subagent" / "source", tmp_path / "source")
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    Sync(ledger, machine).run([str(tmp_path / "source")])
    (side,) = [line.session.label for line in ledger.sessions(limit=10) if line.session.is_subagent]
    assert not fork_into(ledger, machine, ledger.head(side) or "", "gemini").is_copy
