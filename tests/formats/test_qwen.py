"""What the reader of Qwen Code makes of each kind of line."""

import json
from typing import Any

import pytest

from agents_ledger.formats.qwen import FORMAT
from agents_ledger.model.formats import Machine, Source
from agents_ledger.model.steps import Answered, Compacted, Event, Facts, Noted, Problem, Said
from agents_ledger.model.story import Image, Text

AT = "2026-11-15T18:17:45.828Z"
Json = dict[str, Any]


def line(kind: str, number: int = 1, **fields: Any) -> bytes:
    place = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number > 1 else None, "sessionId": "s"}
    return json.dumps({**place, "timestamp": AT, "type": kind, "cwd": "/w", "version": "0.24.4", **fields}).encode()


def said(role: str, *parts: Json) -> Json:
    return {"message": {"role": role, "parts": list(parts)}}


def read(*lines: bytes) -> list[Event]:
    reader = FORMAT.reader(Source("/x.jsonl", "transcript"))
    return [event for each in lines for event in reader.read(each, "")]


def only(kind: type[Any], *lines: bytes) -> Any:
    (found,) = [event for event in read(*lines) if isinstance(event, kind)]
    return found


def test_a_session_is_told_about_once_until_something_changes() -> None:
    moved = line("user", 3, **{**said("user", {"text": "c"}), "cwd": "/elsewhere"})
    found = read(line("user", **said("user", {"text": "a"})), line("user", 2, **said("user", {"text": "b"})), moved)
    facts = [event for event in found if isinstance(event, Facts)]
    assert [(fact.project, fact.created_at is None) for fact in facts] == [("/w", False), ("/elsewhere", True)]


def test_a_question_begins_a_turn_and_a_notification_is_an_event() -> None:
    asked = only(Said, line("user", **said("user", {"text": "one"}, {"text": "two"})))
    assert (asked.content, asked.source, asked.starts_turn, asked.parent) == ("one\ntwo", "human", True, None)
    told = only(Said, line("user", 2, subtype="notification", **said("user", {"text": "done"})))
    assert (told.source, told.parent) == ("event", "u1")


def test_an_answer_has_its_thoughts_calls_and_tokens() -> None:
    call = {"functionCall": {"id": "c", "name": "run_shell_command", "args": {"command": "ls"}}}
    usage = {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 9, "totalTokenCount": 112}
    parts = said("model", {"text": "hm", "thought": True}, {"text": "I look."}, call)
    answer = only(Said, line("assistant", model="m", usageMetadata=usage, **parts))
    assert (answer.thinking, answer.content, answer.blocks) == ("hm", "I look.", None)
    assert (answer.calls[0].tool, answer.calls[0].params) == ("run_shell_command", {"command": "ls"})
    assert (answer.usage.input, answer.usage.cached, answer.usage.output) == (40, 60, 12)


def test_another_order_is_written_down() -> None:
    call = {"functionCall": {"id": "c", "name": "x"}}
    answer = only(Said, line("assistant", **said("model", call, {"text": "a"}, {"text": "bc"}, {"odd": 1})))
    assert [block["type"] for block in answer.blocks] == ["call", "text", "text", "odd"]
    assert [answer.content[block["from"] : block["to"]] for block in answer.blocks[1:3]] == ["a", "bc"]


@pytest.mark.parametrize(
    ("response", "status", "wanted"),
    [
        ({"output": "fine"}, "success", ("fine", None, "completed")),
        ({"error": "no"}, "error", (None, "no", "failed")),
        ({"error": "no"}, None, (None, "no", "failed")),
        ({"output": "stopped"}, "cancelled", ("stopped", None, "cancelled")),
        ({"output": 1, "more": 2}, "success", ({"output": 1, "more": 2}, None, "completed")),
        ("words", "odd", ("words", None, "completed")),
    ],
)
def test_results_are_what_came_of_a_call(response: Any, status: Any, wanted: Any) -> None:
    part = {"functionResponse": {"id": "c", "name": "x", "response": response}}
    found = only(Answered, line("tool_result", toolCallResult={"callId": "c", "status": status}, **said("user", part)))
    assert (found.result, found.error, found.status) == wanted


def test_several_results_of_a_line_stand_behind_each_other() -> None:
    parts = [{"functionResponse": {"id": name, "response": {"output": name}}} for name in "ab"]
    first, second = [event for event in read(line("user", 2, **said("user", *parts))) if isinstance(event, Answered)]
    assert (first.native_id, first.parent, second.native_id, second.parent) == ("u2:0", "u1", "u2", "u2:0")


def test_pictures_stay_in_the_evidence() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    asked = line("user", **said("user", {"text": "what?"}, picture))
    assert only(Said, asked).blocks[1] == {"type": "image", "media_type": "image/png", "size_bytes": 3}
    assert FORMAT.held(asked).images == (Image("image/png", "QUJD"),)
    shown = line(
        "tool_result", **said("user", {"functionResponse": {"id": "c", "response": {"output": "see"}}}, picture)
    )
    assert only(Answered, shown).result[0] == {"type": "text", "text": "see"}
    assert FORMAT.held(shown).results == {"c": (Text("see"), Image("image/png", "QUJD"))}


def test_a_compression_is_a_compaction_if_it_took_place() -> None:
    history = [{"role": "user", "parts": [{"text": "so far"}]}, {"role": "model", "parts": [{"text": "Got it."}]}]
    info = {"originalTokenCount": 9, "newTokenCount": 3, "compressionStatus": 1, "triggerReason": "manual"}
    given: Json = {"subtype": "chat_compression", "systemPayload": {"info": info, "compressedHistory": history}}
    found = only(Compacted, line("system", **given))
    assert (found.summary, found.tokens_before, found.tokens_after, found.trigger) == ("so far", 9, 3, "manual")
    assert [item["role"] for item in found.replacement] == ["user", "assistant"]
    failed: Json = {"subtype": "chat_compression", "systemPayload": {"info": {"compressionStatus": 2}}}
    assert isinstance(read(line("system", **failed))[-1], Noted)


def test_a_subagent_has_a_session_of_its_own() -> None:
    agent: Json = {"agentId": "general-purpose-call_1", "agentName": "general-purpose", "isSidechain": True}
    found = read(line("user", **agent, **said("user", {"text": "job"})))
    facts, asked = found
    assert isinstance(facts, Facts)
    assert (facts.session, facts.parent_session, facts.parent_call) == ("s/general-purpose-call_1", "s", "call_1")
    assert isinstance(asked, Said)
    assert asked.source == "agent"


def test_titles_and_origins_are_facts_and_telemetry_is_a_node() -> None:
    title = line("system", subtype="custom_title", systemPayload={"customTitle": "Mine"})
    assert [event.title for event in read(title) if isinstance(event, Facts)][-1] == "Mine"
    origin = line("system", subtype="parent_session", systemPayload={"parentSessionId": "before"})
    assert [event.forked_from for event in read(origin) if isinstance(event, Facts)][-1] == "before"
    assert only(Noted, line("system", subtype="ui_telemetry")).native_id == "u1"


def test_what_is_wrong_is_a_problem_and_keeps_its_place() -> None:
    strange = [line("hologram"), line("hologram", 2), line("system", 3, subtype="odd"), line("tool_result", 4)]
    found = read(*strange, b"[1]", b"{}", b"{broken")
    assert [event.code for event in found if isinstance(event, Problem)] == [
        "unknown-entry",
        "unknown-entry",
        "bad-field",
        "not-an-object",
        "bad-field",
        "broken-line",
    ]
    assert [event.native_id for event in found if isinstance(event, Noted)] == ["u1", "u2", "u3", "u4"]


def test_files_are_recognised_by_what_they_say() -> None:
    ours = line("user", **said("user", {"text": "a"}))
    claude = line("user", message={"role": "user", "content": "a"})
    scores = [FORMAT.recognise(path, ours) for path in ("/x/chats/s.jsonl", "/y.jsonl")]
    assert [kind and kind.score for kind in scores] == [95, 90]
    assert FORMAT.recognise("/x/chats/s.jsonl", claude) is None
    machine = Machine("/home/me", {"QWEN_HOME": "/q/"}, "linux")
    assert [root.path for root in FORMAT.roots(machine)] == ["/q/projects", "/home/me/.qwen/projects"]
