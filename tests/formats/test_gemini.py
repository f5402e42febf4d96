"""What the reader of Gemini CLI makes of each kind of record."""

import json
from hashlib import sha256
from typing import Any

import pytest

from agents_ledger.formats.gemini import FORMAT
from agents_ledger.model.formats import Machine, Source
from agents_ledger.model.steps import Answered, Closed, Compacted, Event, Facts, Moved, Noted, Problem, Said
from agents_ledger.model.story import Call, Image, Result, Text, Told

AT = "2026-11-15T18:17:45.828Z"
SETUP = "d04923d38bb0f6017037e74183378ef4"
PICTURE = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
Json = dict[str, Any]


def header(**fields: Any) -> Json:
    return {"sessionId": "s", "projectHash": "h", "startTime": AT, "lastUpdated": AT, "kind": "main", **fields}


def said(name: str, kind: str, content: Any, **fields: Any) -> Json:
    return {"id": name, "timestamp": AT, "type": kind, "content": content, **fields}


def asked(name: str, words: str = "hello") -> Json:
    return said(name, "user", [{"text": words}])


def called(name: str, *, status: str = "success", **fields: Any) -> Json:
    part = {"functionResponse": {"id": name, "name": "x", "response": {"output": "fine"}}}
    return {"id": name, "name": "x", "args": {"a": 1}, "result": [part], "status": status, "timestamp": AT, **fields}


def listed(*messages: Json) -> Json:
    return {"$set": {"messages": list(messages), "lastUpdated": AT}}


def read(*records: Json, path: str = "/chats/x.jsonl", kind: str = "log") -> list[Event]:
    reader = FORMAT.reader(Source(path, kind))
    return [event for each in records for event in reader.read(json.dumps(each).encode(), "")]


def only(kind: type[Any], *records: Json) -> Any:
    (found,) = [event for event in read(header(), *records) if isinstance(event, kind)]
    return found


def steps(*records: Json) -> list[Event]:
    return [event for event in read(header(), *records) if not isinstance(event, Facts)]


def test_a_session_is_told_about_by_its_first_record_and_by_what_is_set() -> None:
    first, extra, title = read(header(), {"$set": {"summary": "About  it\n", "lastUpdated": AT}})
    assert isinstance(first, Facts)
    assert (first.session, first.created_at) == ("s", 1794766665828)
    assert isinstance(extra, Facts)
    assert extra.extra == {"projectHash": "h", "kind": "main"}
    assert isinstance(title, Facts)
    assert title.title == "About it"


def test_the_folder_is_the_one_whose_hash_the_session_has() -> None:
    setup = said(
        SETUP, "user", [{"text": "<session_context>\n- **Workspace Directories:**\n  - /w/mine\n  - /w/other\n"}]
    )
    known = header(projectHash=sha256(b"/w/mine").hexdigest())
    found = [event.project for event in read(known, listed(setup)) if isinstance(event, Facts) and event.project]
    assert found == ["/w/mine"]
    assert not [event for event in read(header(), listed(setup)) if isinstance(event, Facts) and event.project]


def test_what_the_program_sets_up_is_context_and_is_said_once() -> None:
    setup = said(SETUP, "user", [{"text": "<session_context>"}])
    found = [event for event in steps(listed(setup), asked("q"), listed(setup, asked("q"))) if isinstance(event, Said)]
    assert [(event.source, event.starts_turn) for event in found] == [("context", False), ("human", True)]


def test_an_answer_gets_its_calls_and_tokens_later() -> None:
    answer = said("a", "gemini", "I look.", thoughts=[{"subject": "Looking", "description": "at it"}], model="m")
    tokens = {"input": 100, "output": 9, "cached": 60, "thoughts": 3, "tool": 5, "total": 117}
    first, second = [
        event
        for event in steps(asked("q"), answer, {**answer, "toolCalls": [called("c")], "tokens": tokens})
        if isinstance(event, Said) and event.role == "assistant"
    ]
    assert (first.content, first.thinking, first.calls, first.usage) == ("I look.", "**Looking** at it", (), None)
    assert (second.content, second.joins, second.native_id) == (None, "a", "a")
    (call,) = second.calls
    assert (call.tool, call.params, call.result, call.status) == ("x", {"a": 1}, "fine", "completed")
    assert second.usage is not None
    assert (second.usage.input, second.usage.cached, second.usage.output, second.usage.reasoning) == (45, 60, 12, 3)


def test_what_tools_gave_is_told_once() -> None:
    response = {"functionResponse": {"id": "c", "name": "x", "response": {"output": "fine"}}}
    answer = said("a", "gemini", "", toolCalls=[called("c")])
    told = steps(asked("q"), answer, said("r", "user", [response]))
    assert [type(event) for event in told] == [Said, Said, Noted]
    bare = said("a", "gemini", [{"functionCall": {"id": "c", "name": "x", "args": {}}}])
    found = steps(asked("q"), bare, said("r", "user", [response]))
    assert [(event.call, event.result) for event in found if isinstance(event, Answered)] == [("c", "fine")]


def test_a_call_whose_state_changes_is_answered() -> None:
    open_call = {**called("c"), "status": "executing", "result": None}
    answer = said("a", "gemini", "", toolCalls=[open_call])
    failed = called("c", status="error", result=[{"functionResponse": {"id": "c", "response": {"error": "no"}}}])
    found = steps(asked("q"), answer, {**answer, "toolCalls": [failed]})
    assert [(event.call, event.error, event.status) for event in found if isinstance(event, Answered)] == [
        ("c", "no", "failed")
    ]


def test_a_call_names_the_subagent_that_it_started() -> None:
    answer = only(Said, said("a", "gemini", "", toolCalls=[called("c", agentId="sub", status="cancelled")]))
    assert (answer.calls[0].spawned, answer.calls[0].status) == ("sub", "cancelled")
    found = read(header(sessionId="sub", kind="subagent"), asked("q"), path="/x/chats/parent/sub.jsonl")
    assert isinstance(found[0], Facts)
    assert found[0].parent_session == "parent"
    assert [event.source for event in found if isinstance(event, Said)] == ["agent"]


def test_pictures_stay_in_the_evidence() -> None:
    question = said("q", "user", [{"text": "what?"}, PICTURE], displayContent=[{"text": "what? @p"}])
    found = only(Said, question)
    assert found.blocks[1] == {"type": "image", "media_type": "image/png", "size_bytes": 3}
    assert found.metadata == {"displayContent": "what? @p"}
    assert FORMAT.held(json.dumps(question).encode()).images == (Image("image/png", "QUJD"),)
    shown = said("a", "gemini", "", toolCalls=[called("c", result=[called("c")["result"][0], PICTURE])])
    assert only(Said, shown).calls[0].result[1]["type"] == "image"
    assert FORMAT.held(json.dumps(shown).encode()).results == {"c": (Text("fine"), Image("image/png", "QUJD"))}
    binary = said("i", "info", [PICTURE])
    assert (only(Said, binary).role, only(Said, binary).source) == ("user", "context")


def test_a_resumed_session_says_its_list_again_and_nothing_new() -> None:
    answer = said("a", "gemini", "yes", toolCalls=[called("c")])
    again = said("a", "gemini", [{"text": "yes"}, {"functionCall": {"id": "c", "name": "x", "args": {"a": 1}}}])
    echo = said("a_response", "user", called("c")["result"])
    setup = said(SETUP, "user", [{"text": "<session_context>"}])
    before = steps(listed(setup), asked("q"), answer)
    after = steps(listed(setup), asked("q"), answer, listed(setup), listed(setup, asked("q"), again, echo))
    assert after == before


def test_a_list_that_is_shorter_moves_the_pointer_and_a_longer_one_goes_on() -> None:
    moved = only(
        Moved, asked("q"), said("a", "gemini", "yes"), asked("q2"), listed(asked("q"), said("a", "gemini", "yes"))
    )
    assert moved.to == "a"
    found = steps(asked("q"), listed(asked("q"), said("a", "gemini", "closing")))
    assert [event.native_id for event in found if isinstance(event, Said)] == ["q", "a"]


@pytest.mark.parametrize(("to", "wanted"), [("q2", "a"), ("q", None), ("nowhere", None)])
def test_a_step_back_goes_before_the_message_or_to_the_beginning(to: str, wanted: str | None) -> None:
    moved = only(Moved, asked("q"), said("a", "gemini", "yes"), asked("q2"), {"$rewindTo": to})
    assert (moved.to, moved.turns is not None) == (wanted, True)


def test_an_emptied_list_that_is_not_filled_is_a_new_beginning() -> None:
    setup = said(SETUP, "user", [{"text": "<session_context>"}])
    found = steps(asked("q"), said("a", "gemini", "yes"), listed(setup), asked("q2"))
    assert [type(event) for event in found if not isinstance(event, Said)] == [Moved]
    assert isinstance(found[-1], Said)


def test_a_compressed_list_is_a_compaction_with_the_whole_context() -> None:
    call = said("k", "gemini", [{"functionCall": {"id": "c", "name": "x", "args": {}}}])
    record = listed(asked("sum", "so far"), said("ok", "gemini", [{"text": "Got it."}]), call)
    found = only(Compacted, asked("q"), said("a", "gemini", "yes"), record)
    assert (found.summary, found.native_id) == ("so far", "sum")
    assert [item["role"] for item in found.replacement] == ["user", "assistant", "assistant"]
    assert FORMAT.held(json.dumps(record).encode()).context == (
        Told("user", (Text("so far"),)),
        Told("assistant", (Text("Got it."),)),
        Told("assistant", (Call("c", "x", {}),)),
    )
    back = steps(asked("q"), said("a", "gemini", "yes"), record, asked("q3"), {"$rewindTo": "q3"})
    assert isinstance(back[-1], Moved)
    assert back[-1].to == "sum"  # what a compression kept is nowhere else


def test_a_context_has_what_tools_gave() -> None:
    response = {"functionResponse": {"id": "c", "name": "x", "response": {"error": "no"}}}
    told = FORMAT.held(json.dumps(listed(said("r", "user", [response]))).encode()).context
    assert told == (Told("tool", (Result("c", "x", (Text("no"),), is_error=True),)),)


def test_an_error_before_the_answer_fails_the_turn() -> None:
    error = said("e", "error", "[API Error: quota]")
    assert only(Closed, asked("q"), error).error == "[API Error: quota]"
    late = steps(asked("q"), said("a", "gemini", "yes"), error)
    assert not [event for event in late if isinstance(event, Closed)]
    assert [event.source for event in late if isinstance(event, Said)] == ["human", None, "event"]


def test_an_import_names_its_file_and_a_written_message_its_session() -> None:
    written = "0f3a0f3a-0000-4000-8000-000000000000"
    info = said("import-1", "info", "Imported session from /a/b.jsonl")
    facts = [event for event in read(header(), info, asked(f"{written}/1")) if isinstance(event, Facts)]
    assert facts[-2].extra == {"importedFrom": "/a/b.jsonl"}
    assert facts[-1].forked_from == written
    assert FORMAT.wrote is not None
    assert (FORMAT.wrote("s", f"{written}/1"), FORMAT.wrote("s", written)) == (written, None)


def test_a_document_is_a_header_with_messages() -> None:
    document = header(messages=[asked("q"), said("a", "gemini", "yes", model="m")])
    found = [event for event in read(document, path="/chats/x.json", kind="record") if isinstance(event, Said)]
    assert [(event.role, event.content) for event in found] == [("user", "hello"), ("assistant", "yes")]


def test_what_is_wrong_is_a_problem_and_keeps_its_place() -> None:
    reader = FORMAT.reader(Source("/chats/x.jsonl", "log"))
    records = [b"[1]", b"{broken", json.dumps(asked("early")).encode(), b'{"$set": {}}', b'{"$rewindTo": "x"}']
    found = [event for record in records for event in reader.read(record, "")]
    codes = [event.code for event in found if isinstance(event, Problem)]
    assert codes == ["not-an-object", "broken-line", "missing-header", "missing-header", "missing-header"]
    changed = steps(
        asked("q"), said("a", "gemini", "yes"), said("a", "gemini", "no"), said("h", "hologram", 1), {"odd": 1}
    )
    assert [event.code for event in changed if isinstance(event, Problem)] == [
        "changed-step",
        "unknown-entry",
        "unknown-entry",
    ]
    assert [event.native_id for event in changed if isinstance(event, Noted)] == ["h"]
    other = steps(header(sessionId="t"), {"$set": {"sessionId": "t"}})
    assert [event.code for event in other if isinstance(event, Problem)] == ["mixed-sessions", "mixed-sessions"]


def test_files_are_recognised_by_what_they_say() -> None:
    line = json.dumps(header()).encode() + b"\n"
    pretty = json.dumps(header(messages=[]), indent=2).encode()
    imported = line + b'{"id":"import-1","type":"info"}\n'
    kinds = [
        FORMAT.recognise("/t/p/chats/session-1-x.jsonl", line),
        FORMAT.recognise("/y.jsonl", pretty),
        FORMAT.recognise("C:\\t\\p\\chats\\session-1-x.json", line),
        FORMAT.recognise("/y.jsonl", imported),
        FORMAT.recognise("/p/logs.json", b'[{"sessionId": "s", "messageId": 0, "type": "user"}]'),
        FORMAT.recognise("/p/checkpoint-x.json", b'[{"role": "user", "parts": [{"text": "a"}]}]'),
    ]
    assert [kind and (kind.name, kind.shape, kind.score, kind.order) for kind in kinds] == [
        ("log", "lines", 95, 50),
        ("record", "document", 90, 40),
        ("record", "document", 95, 40),
        ("log", "lines", 90, 60),
        ("prompts", "document", 90, 95),
        ("checkpoint", "document", 90, 95),
    ]
    assert FORMAT.recognise("/y.json", b'[{"role": "user", "parts": []}]') is None
    assert list(FORMAT.reader(Source("/p/logs.json", "prompts")).read(b"[]", "")) == []
    machine = Machine("/home/me", {"GEMINI_CLI_HOME": "/g/"}, "darwin")
    assert [root.path for root in FORMAT.roots(machine)] == [
        "/g/.gemini/tmp",
        "/g/.cache/.gemini/tmp",
        "/home/me/.gemini/tmp",
        "/home/me/.cache/.gemini/tmp",
    ]
