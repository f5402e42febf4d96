"""Codex: what rollouts of all its versions give, written by the real program or (where it says so) by hand."""

from collections import Counter

from agents_ledger.formats.codex import FORMAT
from agents_ledger.model.entries import File
from agents_ledger.model.formats import Source
from agents_ledger.model.steps import (
    Answered,
    Base,
    Closed,
    Compacted,
    Facts,
    Moved,
    Noted,
    Problem,
    Said,
    Spent,
    Step,
    Stop,
)
from tests.formats.codex_lines import (
    ROLLOUTS,
    SOURCES,
    THREAD,
    entry,
    golden,
    header,
    lines_of,
    message,
    only,
    questions,
    read,
    spent,
)


def test_tools_and_their_outcomes() -> None:
    events = golden("tools")
    assert [said.content and said.content[:6] for said in questions(events)] == ["Hello ", "Second", "Third "]
    assert {said.source for said in questions(events)} == {"human"}
    answers = only(Answered, events)
    assert [(answer.status, answer.error) for answer in answers] == [
        ("completed", None),
        ("completed", None),
        ("failed", "exit code 2"),
        ("completed", None),
    ]
    assert answers[0].result == "Exit code: 0\nWall time: 0 seconds\nOutput:\nhi-from-tool\n"
    asked = [call for said in only(Said, events) for call in said.calls]
    assert bytes(asked[0].params) == b'{"command": "echo hi-from-tool"}'
    assert [call.native_id for call in asked] == [answer.call for answer in answers]


def test_items_of_one_response_are_parts_of_one_message() -> None:
    parts: dict[str, list[Said]] = {}
    for said in only(Said, golden("tools")):
        if said.joins:
            parts.setdefault(said.joins, []).append(said)
    shapes = [
        [("thinking" if said.thinking else "call" if said.calls else "text") for said in group]
        for group in parts.values()
    ]
    assert shapes == [["thinking", "text", "call"], ["call", "call"], ["text"], ["call"], ["text"], ["text"]]


def test_the_system_prompt_is_said_once_and_hashed() -> None:
    for case in ("image", "legacy-fork-rollback"):
        events = golden(case, "18-13-56" if case == "image" else "18-24-35")
        prompts = [said for said in only(Said, events) if said.role == "system"][:1]
        assert prompts[0].content is not None
        assert prompts[0].source == "context"
        assert [said.content for said in only(Said, events)].count(prompts[0].content) == 1
        hashes = [noted.system_prompt_hash for noted in only(Noted, events) if noted.system_prompt_hash]
        assert len(hashes) == 1


def test_settings_are_told_when_they_change() -> None:
    (noted,) = (noted for noted in only(Noted, golden("tools")) if noted.model)
    assert (noted.model, noted.provider, noted.permissions["approval_policy"]) == ("gpt-5-codex", "fake", "never")
    assert noted.workspace is not None


def test_an_image_is_mentioned_and_its_bytes_are_not() -> None:
    events = golden("image")
    (question,) = questions(events)
    assert question.files == (File("red.png", "attached"),)
    assert question.blocks is not None
    assert [block["type"] for block in question.blocks] == ["text", "image", "text", "text"]
    assert question.blocks[1] == {"type": "image", "media_type": "image/png", "size_bytes": 168}
    assert question.content is not None
    last = question.blocks[-1]
    assert question.content[last["from"] : last["to"]].startswith("What colour?")
    assert "base64" not in repr(events)


def test_a_fork_by_reference_names_its_base_and_shares_its_questions() -> None:
    fork = golden("fork-by-reference", "18-13-50")
    (base,) = only(Base, fork)
    origin = "01a1e06a-2365-7ee0-98a9-5c9fe03dfd18"
    assert base == Base(session="01a1e06a-6302-7d31-a135-78ac303d11df", of=origin, until=56)
    assert only(Facts, fork)[0].forked_from == origin
    assert not [said for said in only(Said, fork) if said.role == "system"]
    (path,) = (path for path in ROLLOUTS if origin in path.name)
    whole, shared = read(lines_of(path)), read(lines_of(path), until=31)
    assert shared[-1] == Stop()
    assert not only(Facts, shared)
    assert [said.identity for said in questions(shared)] == [said.identity for said in questions(whole)][:1]
    assert read(lines_of(path), until=0) == [Stop()]
    assert read(lines_of(path)[:31], until=31) == shared  # nothing needs to follow the last shared record
    assert Stop() not in read(lines_of(path)[:30], until=31)


def test_a_base_that_lies_in_a_base_is_followed_only_as_far_as_asked() -> None:
    (path,) = (path for path in ROLLOUTS if "18-13-50" in path.name)
    events = read(lines_of(path), until=40)
    assert [type(event) for event in events] == [Base, Stop]
    assert only(Base, events)[0].until == 40


def test_lines_are_counted_where_there_are_no_ordinals() -> None:
    lines = [header(), message("user", "one"), message("user", "two")]
    assert [said.content for said in questions(read(lines, until=2))] == ["one"]


def test_a_legacy_fork_shares_questions_tokens_and_compactions_with_its_origin() -> None:
    origin, fork = golden("legacy-fork-rollback", "18-24-16"), golden("legacy-fork-rollback", "18-24-35")
    assert {step.session for step in only(Step, fork)} == {"01a1e074-3706-7b72-b8a1-e7a6dcd8514d"}
    ours = {said.identity: said.content for said in questions(fork)}
    theirs = {said.identity: said.content for said in questions(origin)}
    assert [theirs.get(identity) for identity in ours] == [
        "please usetool now",
        "second message",
        "after compaction",
        None,
    ]
    assert only(Compacted, fork)[0].identity == only(Compacted, origin)[0].identity
    keys = Counter(step.usage_key for step in [*only(Spent, origin), *only(Spent, fork)])
    assert sorted(keys.values()) == [1, 1, 2, 2, 2, 2, 2]
    assert [said.at is None for said in questions(fork)] == [True, True, True, False]  # re-stamped: unknown


def test_a_question_that_a_fork_asks_again_is_another_one() -> None:
    origin = [header(), message("user", "A"), message("user", "B")]
    own = entry("session_meta", {"id": "fork", "forked_from_id": THREAD})
    fork = [own, header(), message("user", "A"), message("user", "B", "2026-11-15T10:00:09.000Z")]
    first, again = ([said.identity for said in questions(read(lines))] for lines in (origin, fork))
    assert first[0] == again[0]
    assert first[1] != again[1]


def test_a_subagent_with_its_parents_history_goes_on_where_the_copy_ends() -> None:
    """By hand: the copy and the task have the same time, but the turn's id is younger than the thread."""
    born = "2026-11-15T18:24:35.078Z"
    own = {"id": "child", "forked_from_id": THREAD, "parent_thread_id": THREAD, "timestamp": born}
    turns = ("01a1e06a-23e0-7452-9e7e-a2a5f45e7960", "01a1e074-3710-7b72-b8a1-e7a6dcd8514d")
    lines = [entry("session_meta", own), header()]
    for turn, words in zip(turns, ("Do it", "Count"), strict=True):
        lines += [entry("event_msg", {"type": "task_started", "turn_id": turn}), message("user", words)]
    asked = questions(read(lines))
    assert [(said.content, said.source, said.at is None) for said in asked] == [
        ("Do it", "human", True),
        ("Count", "agent", False),
    ]


def test_a_fork_that_does_not_name_its_origin_is_known_by_its_second_header() -> None:
    events = read([entry("session_meta", {"id": "fork"}), header(), message("user", "A")])
    assert [facts.forked_from for facts in only(Facts, events)] == [None, THREAD]
    assert questions(events)[0].identity == questions(read([header(), message("user", "A")]))[0].identity


def test_equal_questions_of_different_threads_stay_apart() -> None:
    one, other = (read([entry("session_meta", {"id": thread}), message("user", "Hi")]) for thread in "ab")
    assert questions(one)[0].identity != questions(other)[0].identity


def test_a_rollback_moves_back_by_turns() -> None:
    events = golden("rollback")
    assert [move.turns for move in only(Moved, events)] == [1]
    assert len(questions(events)) == 2


def test_a_compaction_with_its_new_context() -> None:
    (compacted,) = only(Compacted, golden("compaction", "18-14-07"))
    assert compacted.summary.startswith("Another language model")
    assert [item["role"] for item in compacted.replacement] == ["developer", "user", "user", "user"]
    assert compacted.summary_tokens == 29
    assert compacted.identity == "window:01a1e06a-b91a-7131-aa95-94355f5ce0a3"
    said = [said.content or "" for said in only(Said, golden("compaction", "18-14-07"))]
    assert not [words for words in said if "FAKE SUMMARY" in words]  # the summary is no answer


def test_a_legacy_compaction_has_a_summary_only() -> None:
    (compacted,) = only(Compacted, golden("compaction-legacy"))
    assert compacted.replacement is None
    assert compacted.kept is None
    assert compacted.metadata == {"legacy": True}
    assert len(questions(golden("compaction-legacy"))) == 3


def test_a_subagent_is_linked_to_the_call_that_started_it() -> None:
    parent, child = golden("subagent-aborted", "18-14-01"), golden("subagent-aborted", "18-14-02")
    own, told = only(Facts, child)[0], only(Facts, parent)[1]
    assert own.parent_session == told.parent_session == only(Facts, parent)[0].session
    assert told.session == own.session
    assert told.parent_call == "call_f5e1483eca82c63e38eb00"
    assert [answer.spawned for answer in only(Answered, parent)] == [own.session, None]
    assert [said.source for said in questions(child)] == ["agent"]
    assert only(Closed, child)[0].status == "failed"
    assert only(Closed, child)[0].error == "interrupted"
    assert [(answer.status, answer.error) for answer in only(Answered, child)] == [("cancelled", "aborted by user")]


def test_a_killed_session_ends_with_an_unanswered_call() -> None:
    events = golden("killed", "18-14-24")
    asked = [call.native_id for said in only(Said, events) for call in said.calls]
    assert set(asked) - {answer.call for answer in only(Answered, events)} == {"call_34e3b382e33af586378000"}
    assert spent(events)[1] == (2032, 8124, 14)  # told by its own record, never in a sum


def test_files_from_before_september_2025() -> None:
    events = golden("flat-2025")
    assert [facts.project for facts in only(Facts, events) if facts.project] == ["/home/dev/abacus"]
    assert only(Facts, events)[0].git_branch == "main"
    assert [said.content for said in questions(events)] == ["Which files are here?", "Thanks."]
    assert [answer.status for answer in only(Answered, events)] == ["completed", "failed", "completed"]
    assert [file for said in only(Said, events) for file in said.files] == [File("abacus.py", "written")]
    assert not only(Problem, events)


def test_a_packed_file_reads_like_any_other() -> None:
    assert len(questions(golden("packed"))) == 1


def test_rare_items() -> None:
    events = golden("rare-items", "000000000010")
    assert not only(Problem, events)
    tools = [call.tool for said in only(Said, events) for call in said.calls]
    assert tools == [
        "web_search",
        "image_generation",
        "tool_search",
        "apply_patch",
        "collaboration.spawn_agent",
        "shell_command",
        "view_image",
    ]
    calls = {call.tool: call for said in only(Said, events) for call in said.calls}
    assert calls["web_search"].status == "completed"
    assert calls["image_generation"].result == {"type": "image", "size_bytes": 9}
    assert calls["shell_command"].params == "{not json"
    answers = {answer.call: answer for answer in only(Answered, events)}
    assert answers["call_search"].result == [{"type": "function", "name": "count_beads"}]
    assert answers["call_odd"].status == "failed"
    assert [block["type"] for block in answers["call_view"].result] == ["input_text", "image"]
    assert [(said.source, said.starts_turn) for said in only(Said, events) if said.source != "context"][1:2] == [
        (None, False)
    ]
    identities = [said.identity for said in questions(events)]
    assert len(set(identities)) == len(identities) == 4  # two reviews with the same id and text
    assert [(closed.status, closed.error) for closed in only(Closed, events)][-1] == (
        "failed",
        "You've hit your usage limit.",
    )
    assert [facts.title for facts in only(Facts, events) if facts.title] == ["Beads"]
    child = golden("rare-items", "000000000011")
    assert [(said.content, said.source) for said in questions(child)] == [("Count.", "agent")]


def test_names_of_threads_come_from_the_index() -> None:
    (path,) = (path for path in SOURCES if path.name == "session_index.jsonl")
    index, prompts = FORMAT.reader(Source(str(path), "index")), FORMAT.reader(Source("/x", "history"))
    facts = only(
        Facts, (event for line in [*lines_of(path), b"[]", b"{", b'{"id":7}'] for event in index.read(line, ""))
    )
    assert [fact.title for fact in facts] == ["Beads", "Seven beads"]
    assert not [*prompts.read(b'{"session_id":"x","ts":1,"text":"y"}', ""), *prompts.end()]


def test_broken_lines_are_told_and_the_rest_is_read() -> None:
    events = golden("broken-lines")
    assert [said.content and said.content[:12] for said in questions(events)] == ["What colour?"]
    assert {problem.code for problem in only(Problem, events)} == {
        "broken-line",
        "glued-line",
        "broken-text",
        "not-an-object",
        "unknown-entry",
        "bad-field",
        "deep-nesting",
    }
    assert only(Said, events)[-1].content == "It is red."


def test_a_file_without_a_header_is_named_by_its_file() -> None:
    events = read([message("user", "Hi"), message("assistant", "Hello")])
    assert only(Problem, events) == [Problem("missing-header", THREAD)]
    assert {step.session for step in only(Step, events)} == {THREAD}
    assert FORMAT.reader(Source("/x/rollout-mine.jsonl", "rollout")).name == "rollout-mine"  # type: ignore[attr-defined]
    one, other = (FORMAT.reader(Source(f"/x/{name}/raw_transcript", "rollout")) for name in "ab")
    assert one.name != other.name  # type: ignore[attr-defined]


def test_a_repeated_header_brings_new_facts() -> None:
    events = read([header(), message("user", "Hi"), header(git={"branch": "next"})])
    assert [facts.git_branch for facts in only(Facts, events)] == [None, "next"]
    assert len(only(Noted, events)) == 1
