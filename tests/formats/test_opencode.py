"""What the reader of OpenCode makes of rows, files and exports."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents_ledger.capture.databases import Groups, copied
from agents_ledger.capture.sync import Sync
from agents_ledger.formats.opencode import FORMAT
from agents_ledger.formats.opencode.messages import usage_of
from agents_ledger.ledger import Ledger
from agents_ledger.model.entries import File, Usage
from agents_ledger.model.formats import Machine, Source
from agents_ledger.model.opencode_ids import own_id, session_id, wrote
from agents_ledger.model.steps import Asked, At, Compacted, Event, Facts, Moved, Noted, Problem, Said
from agents_ledger.model.story import Image, Text

Json = dict[str, Any]
PICTURE = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,QUJD", "filename": "p.png"}


def user(name: str, *parts: Json, at: int = 1, **facts: Any) -> Json:
    return _message({"id": name, "role": "user", "time": {"created": at}, **facts}, parts)


def answer(name: str, *parts: Json, at: int = 2, parent: str = "msg_1", **facts: Any) -> Json:
    told = {"id": name, "role": "assistant", "parentID": parent, "modelID": "m", "providerID": "p", **facts}
    return _message({**told, "time": {"created": at, "completed": at + 5}}, parts)


def _message(info: Json, parts: tuple[Json, ...]) -> Json:
    return {"info": info, "parts": [{"id": f"prt_{info['id']}_{n}", **part} for n, part in enumerate(parts)]}


def says(words: str, **facts: Any) -> Json:
    return {"type": "text", "text": words, **facts}


def tool(name: str, state: Json) -> Json:
    return {"type": "tool", "tool": "bash", "callID": name, "state": state}


def document(*messages: Json, **info: Any) -> Json:
    """An export."""
    session = {"id": "ses_1", "title": "T", "directory": "/w", "version": "1", "time": {"created": 1, "updated": 2}}
    return {"info": {**session, **info}, "messages": messages}


def synced(folder: Path, *messages: Json, **info: Any) -> Ledger:
    """A ledger with an export, about which nothing was wrong."""
    path = folder / "export.json"
    path.write_text(json.dumps(document(*messages, **info)))
    ledger = Ledger.open(f"sqlite:///{folder / 'l.db'}")
    summary = Sync(ledger, Machine(str(folder), {}, "linux")).run([str(path)])
    assert (summary.sources, summary.problems) == ({"opencode": 1}, 0)
    return ledger


def read(*messages: Json, **info: Any) -> list[Event]:
    """An export, without its marks of places."""
    reader = FORMAT.reader(Source("/x.json", "export"))
    assert list(reader.read(json.dumps(document(*messages, **info)).encode(), "")) == []
    return [event for event in reader.end() if not isinstance(event, At)]


def only(kind: type[Any], *messages: Json, **info: Any) -> Any:
    (found,) = [event for event in read(*messages, **info) if isinstance(event, kind)]
    return found


def said(*messages: Json) -> list[Said]:
    return [event for event in read(*messages) if isinstance(event, Said)]


def called(state: Json) -> Asked:
    """A call in this state."""
    found = said(user("msg_1", says("q")), answer("msg_2", tool("c", state)))
    return next(call for step in found for call in step.calls)


def test_a_session_says_who_it_is() -> None:
    facts = only(Facts, slug="x-y", parentID="ses_0", agent="general", cost=0)
    assert (facts.session, facts.title, facts.project, facts.agent_version) == ("ses_1", "T", "/w", "1")
    assert (facts.parent_session, facts.persona, facts.created_at, facts.updated_at) == ("ses_0", "general", 1, 2)
    assert {name: told for name, told in facts.extra.items() if told} == {"slug": "x-y", "agent": "general"}
    later = only(Facts, slug="x-y", parentID="ses_0", agent="general", permission=[1], cost=7)
    assert list(later.extra) == list(facts.extra)  # however late something is known


def test_own_words_come_first_and_the_order_is_written_down() -> None:
    question = said(user("msg_1", says("found it", synthetic=True), PICTURE, says("look"), agent="build"))[0]
    words = question.content or ""
    assert (words, question.source, question.starts_turn) == ("look\nfound it", "human", True)
    assert question.blocks is not None
    assert [block["type"] for block in question.blocks] == ["text", "image", "text"]
    first, picture, last = question.blocks
    assert (words[first["from"] : first["to"]], first["synthetic"]) == ("found it", True)
    assert picture == {"type": "image", "media_type": "image/png", "size_bytes": 3, "filename": "p.png"}
    assert words[last["from"] : last["to"]] == "look"
    assert said(user("msg_1", says("plain")))[0].blocks is None


def test_what_the_program_says_begins_no_turn_and_a_subagent_is_asked_by_an_agent() -> None:
    program = only(Said, user("msg_1", says("go on", synthetic=True)))
    assert (program.source, program.starts_turn) == ("context", False)
    asked = [event.source for event in read(user("msg_1", says("job")), parentID="ses_0") if isinstance(event, Said)]
    assert asked[0] == "agent"


def test_an_answer_is_one_message_of_its_parts() -> None:
    state = {"status": "completed", "input": {"command": "ls"}, "output": "a", "time": {"start": 3, "end": 4}}
    tokens = {"input": 5, "output": 2, "reasoning": 1, "cache": {"read": 7, "write": 0}, "total": 15}
    parts = ({"type": "step-start"}, {"type": "reasoning", "text": "hm"}, says("I look."), tool("c", state))
    changed = {"type": "patch", "hash": "h", "files": ["/w/a"]}
    found = said(user("msg_1", says("q")), answer("msg_2", *parts, changed, tokens=tokens))[2:]
    assert {step.joins for step in found} == {"msg_2"}
    assert [step.native_id for step in found] == ["msg_2", *[None] * 5]
    assert (found[0].model, found[0].provider, found[0].usage) == ("m", "p", Usage(5, 3, 7, 0, 1))
    assert (found[2].thinking, found[3].content) == ("hm", "I look.")
    call = found[4].calls[0]
    assert (call.tool, call.params, call.result, call.status) == ("bash", {"command": "ls"}, "a", "completed")
    assert (call.started_at, call.completed_at) == (3, 4)
    assert found[5].files == (File("/w/a", "written"),)


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        ({"status": "error", "error": "no"}, ("failed", "no")),
        ({"status": "error", "error": "The user rejected permission to use this."}, ("rejected", "The user rejected")),
        ({"status": "running", "input": {}}, ("running", None)),
        ({}, ("pending", None)),
    ],
)
def test_calls_that_gave_nothing(state: Json, wanted: tuple[str, str | None]) -> None:
    call = next(step for step in said(user("msg_1", says("q")), answer("msg_2", tool("c", state))) if step.calls).calls[
        0
    ]
    assert call.status == wanted[0]
    assert (call.error or "").startswith(wanted[1] or "")


def test_a_call_names_the_subagent_and_shows_pictures() -> None:
    state = {"status": "completed", "output": "see", "metadata": {"sessionId": "ses_2"}, "attachments": [PICTURE]}
    call = next(step for step in said(user("msg_1", says("q")), answer("msg_2", tool("c", state))) if step.calls).calls[
        0
    ]
    assert call.spawned == "ses_2"
    assert [block["type"] for block in call.result] == ["text", "image"]
    row = b'{"message_id":"msg_2"}\n' + json.dumps(tool("c", state)).encode()
    assert FORMAT.held(row).results == {"c": (Text("see"), Image("image/png", "QUJD"))}
    assert FORMAT.held(json.dumps(PICTURE).encode()).images == (Image("image/png", "QUJD"),)
    assert FORMAT.held(b"{}").images == ()


def test_a_message_of_2025_holds_several_calls_to_the_model() -> None:
    tokens = [{"input": n, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}} for n in (1, 2)]
    steps = [
        part
        for n in (0, 1)
        for part in ({"type": "step-start"}, says(f"s{n}"), {"type": "step-finish", "tokens": tokens[n]})
    ]
    found = [step for step in said(user("msg_1", says("q")), answer("msg_2", *steps)) if step.usage is not None]
    assert [step.native_id for step in found] == ["msg_2", "prt_msg_2_3"]
    assert [step.usage and step.usage.input for step in found] == [1, 2]


def test_tokens_that_are_all_zero_are_unknown_and_thoughts_are_part_of_the_output() -> None:
    nothing = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    assert usage_of(nothing) is None
    within = usage_of({**nothing, "output": 9, "reasoning": 4})
    beside = usage_of({**nothing, "output": 9, "reasoning": 4, "total": 13})
    assert within is not None
    assert beside is not None
    assert (within.output, beside.output) == (9, 13)


def test_a_failed_answer_says_why_and_one_that_only_began_says_nothing() -> None:
    error = {"name": "APIError", "data": {"message": "quota"}}
    assert said(user("msg_1", says("q")), answer("msg_2", error=error))[-1].error == "quota"
    assert only(Noted, user("msg_1", says("q")), answer("msg_2")).native_id == "msg_2"


def test_a_compaction_has_its_summary_and_what_it_keeps() -> None:
    before = [user("msg_1", says("q")), answer("msg_2", says("a"))]
    asked = user("msg_3", {"type": "compaction", "auto": True, "tail_start_id": "msg_2"}, at=3)
    tokens = {"input": 3, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    summary = answer("msg_4", says("so far"), at=4, parent="msg_3", summary=True, mode="compaction", tokens=tokens)
    found = only(Compacted, *before, asked, summary)
    assert (found.summary, found.first_kept, found.trigger, found.duration_ms) == (
        "so far",
        "msg_2",
        "context_limit",
        5,
    )
    assert found.usage == Usage(3, 1, 0, 0, 0)
    failed = answer("msg_4", at=4, parent="msg_3", summary=True, error={"name": "X"})
    assert not [event for event in read(*before, asked, failed) if isinstance(event, Compacted)]


def test_the_thoughts_behind_a_summary_are_kept_for_people(tmp_path: Path) -> None:
    before = [user("msg_1", says("q")), answer("msg_2", says("a"))]
    asked = user("msg_3", {"type": "compaction", "auto": True}, at=3)
    thoughts = [{"type": "reasoning", "text": "what matters"}, {"type": "reasoning", "text": "is this"}]
    parts = [{"type": "step-start"}, *thoughts, says("so far"), {"type": "step-finish"}]
    summary = answer("msg_4", *parts, at=4, parent="msg_3", summary=True, mode="compaction")
    after = [user("msg_5", says("and now?"), at=10), answer("msg_6", says("b"), at=11, parent="msg_5")]
    assert only(Compacted, *before, asked, summary).thinking == "what matters\nis this"
    assert only(Compacted, *before, asked, answer("msg_4", says("s"), parent="msg_3", summary=True)).thinking is None
    with synced(tmp_path, *before, asked, summary, *after) as ledger:
        head = ledger.head("opencode:ses_1") or ""
        _, compaction, last = [ledger.get(turn.id) for turn in ledger.path(head)]
        assert compaction.compaction is not None
        assert compaction.compaction.summary == "so far"
        (message,) = compaction.messages
        assert (message.role, message.content, message.thinking) == ("assistant", None, "what matters\nis this")
        context = ledger.context(last.turn.id)
        assert context.summary == "so far"
        assert [row.content for turn in context.turns for row in turn.messages] == ["and now?", "b"]


def test_an_export_keeps_the_order_of_its_document() -> None:
    told = [user("msg_9", says("q"), at=9), answer("msg_1", says("a"), says("b"), at=1, parent="msg_9")]
    told[1]["parts"][0]["id"], told[1]["parts"][1]["id"] = "prt_9", "REDACTED"
    assert [event.content for event in said(*told) if event.content] == ["q", "a", "b"]


@pytest.mark.parametrize("redacted", ["REDACTED", "[REDACTED]", "msg_REDACTED", "********"])
def test_an_export_with_redacted_ids_is_told_as_a_whole(redacted: str, tmp_path: Path) -> None:
    done = {"status": "completed", "input": {}, "output": "x"}
    told = [
        user(redacted, says("one"), at=1),
        answer(redacted, says("1"), tool(redacted, done), tool(redacted, {**done, "output": "y"}), parent=redacted),
        user("msg_5", says("two"), at=5),
        answer(redacted, says("2"), at=6, parent="msg_5"),
        user(redacted, says("three"), at=8),
        answer("msg_9", says("3"), at=9, parent=redacted),
    ]
    for message in told[:4]:
        message["parts"] = [{**part, "id": redacted, "messageID": redacted} for part in message["parts"]]
    with synced(tmp_path, *told, id=redacted) as ledger:
        (line,) = ledger.sessions()
        turns = [ledger.get(turn.id) for turn in ledger.path(ledger.head(line.session.label) or "")]
        assert [turn.messages[0].content for turn in turns] == ["one", "two", "three"]
        assert [turn.messages[-1].content for turn in turns] == ["1", "2", "3"]
        assert [call.result_json for call in turns[0].calls] == ['"x"', '"y"']


def test_two_exports_with_redacted_ids_are_two_sessions(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "source" / name).mkdir(parents=True)
        told = [user("REDACTED", says(name)), answer("REDACTED", says("ok"), parent="REDACTED")]
        (tmp_path / "source" / name / "full.jsonl").write_text(json.dumps(document(*told, id="REDACTED"), indent=2))
    with Ledger.open(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        summary = Sync(ledger, Machine(str(tmp_path), {}, "linux")).run([str(tmp_path / "source")])
        assert (summary.sources, summary.new_sessions, summary.new_turns, summary.problems) == (
            {"opencode": 2},
            2,
            2,
            0,
        )


def test_an_answer_whose_question_is_gone_is_told() -> None:
    found = read(answer("msg_6", says("a"), at=6, parent="msg_0"))
    assert [event.code for event in found if isinstance(event, Problem)] == ["missing-parent"]
    assert [event.content for event in found if isinstance(event, Said) and event.content] == ["a"]
    assert not [event for event in read(answer("msg_6", says("a"), parent="REDACTED")) if isinstance(event, Problem)]


def test_what_was_reverted_stays_and_the_pointer_goes_back() -> None:
    told = [user("msg_1", says("q")), answer("msg_2", says("a")), user("msg_3", says("r"), at=9)]
    assert only(Moved, *told, revert={"messageID": "msg_3"}).to == "msg_2"
    assert only(Moved, *told, revert={"messageID": "msg_2", "partID": "prt_x"}).to == "msg_2"
    assert only(Moved, *told, revert={"messageID": "msg_1"}).to is None
    assert not [event for event in read(*told, revert={"messageID": "msg_9"}) if isinstance(event, Moved)]


def test_copies_are_known_by_their_times_and_words() -> None:
    one, copy = (said(user(name, says("q"), at=7))[0].identity for name in ("msg_1", "msg_9"))
    assert one == copy
    assert one != said(user("msg_1", says("other"), at=7))[0].identity


def test_what_is_wrong_is_a_problem_and_the_rest_is_told() -> None:
    strange = _message({"id": "msg_5", "role": "oracle", "time": {"created": 5}}, ())
    found = read(user("msg_1", says("q")), strange, answer("msg_6", says("a"), at=6, parent="msg_0"))
    assert [event.code for event in found if isinstance(event, Problem)] == ["unknown-entry", "missing-parent"]
    reader = FORMAT.reader(Source("/storage", "message"))
    rows = {"message\nmsg_1": b"{}\n[1]", "part\nprt_1": b"{}\n{broken", "message\nmsg_2": b'{"session_id":"s"}\n{}'}
    for name, row in rows.items():
        list(reader.read(row, name))
    codes = [event.code for event in reader.end() if isinstance(event, Problem)]
    assert codes == ["not-an-object", "broken-line", "missing-header"]


def test_ids_that_were_given_here_are_known_again() -> None:
    session = session_id(1_794_823_102_957, bytes(range(16)))
    assert wrote(session, own_id("msg", session, 1_794_823_102_957, 7)) == session
    assert wrote(session, "msg_1e3cb279e001jNV4SOnQnvNZrM") is None
    assert wrote("ses_x", own_id("msg", session, 1_794_823_102_957, 7)) is None


def test_only_rows_of_sessions_are_taken_out_of_a_database(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("""
            CREATE TABLE account (id text PRIMARY KEY, access_token text);
            INSERT INTO account VALUES ('a', 'secret');
            CREATE TABLE session (id text PRIMARY KEY, title text, share_url text, cost real, time_created integer);
            INSERT INTO session VALUES ('ses_1', 'T', 'https://secret', 0.5, 1);
            INSERT INTO session VALUES ('ses_2', CAST(x'ff' AS TEXT), NULL, 0, 2);
            CREATE TABLE message (id text PRIMARY KEY, session_id text, data text);
            INSERT INTO message VALUES ('msg_2', 'ses_1', '{"b": 1}'), ('msg_1', 'ses_1', '{"a": 1}');
            INSERT INTO message VALUES ('msg_3', x'05', '');
            CREATE TABLE todo (session_id text, position integer, content text);
            INSERT INTO todo VALUES ('ses_1', 0, 'do it');
        """)
    assert FORMAT.tables is not None
    with copied(str(path)) as copy:
        groups = Groups(copy, FORMAT.tables())
        assert groups.names() == ["ses_1", "ses_2"]
        rows = [(row.table, row.key, row.value) for row in groups.rows("ses_1")]
        assert next(groups.rows("ses_2")).value.startswith(b'{"title":"\xef\xbf\xbd"')
    assert rows == [
        ("message", "msg_1", b'{"session_id":"ses_1"}\n{"a": 1}'),
        ("message", "msg_2", b'{"session_id":"ses_1"}\n{"b": 1}'),
        ("session", "ses_1", b'{"title":"T","cost":0.5,"time_created":1}\n'),
        ("todo", "0", b"{}\ndo it"),
    ]


def test_files_are_recognised_by_what_they_say() -> None:
    export = b'{\n "info": {\n  "id": "ses_1"'
    part = b'{"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1"}'
    database = b"SQLite format 3\0...CREATE TABLE `part` (\n  `id` text PRIMARY KEY,\n  `message_id` text"
    kinds = [
        FORMAT.recognise("/x.json", export),
        FORMAT.recognise("/o/storage/part/msg_1/prt_1.json", part),
        FORMAT.recognise("/o/project/p/storage/session/info/ses_1.json", b'{"id": "ses_1"}'),
        FORMAT.recognise("/x.db", database),
        FORMAT.recognise("/o/opencode-dev.db", database[:16]),
    ]
    assert [kind and (kind.name, kind.shape, kind.score, kind.group) for kind in kinds] == [
        ("export", "document", 90, ""),
        ("part", "bundle", 90, "ses_1"),
        ("info", "bundle", 90, "ses_1"),
        ("database", "database", 90, ""),
        ("database", "database", 80, ""),
    ]
    assert FORMAT.recognise("/x.db", database[:16]) is None
    assert FORMAT.recognise("/x.json", b'{"info": {"id": "x"') is None
    assert FORMAT.recognise("/x.json", b"[1]") is None
    assert FORMAT.bundle("/o/storage/part/msg_1/prt_1.json") == "/o/storage"
    machine = Machine("/home/me", {"XDG_DATA_HOME": "/data", "OPENCODE_DB": "/d/mine.db"}, "linux")
    assert [(root.path, root.pattern[:6]) for root in FORMAT.roots(machine)] == [
        ("/data/opencode", "^openc"),
        ("/home/me/.local/share/opencode", "^openc"),
        ("/d", "^mine\\"),
    ]
