"""Claude Code: what its transcripts give, written by the real program or (where it says so) by hand."""

import json
from collections import Counter
from pathlib import Path

import msgspec

from agents_ledger.model.entries import File, Lint, Usage
from agents_ledger.model.steps import Answered, Closed, Compacted, Facts, Moved, Noted, Problem, Said
from tests.formats.claude_stories import CASES, GOLDEN, SOURCES, of, story, told

MAIN = "3d16a9c7-fcfd-4774-b60f-0ba91f73a5c4"
SUBAGENT = f"{MAIN}/agent-af5d32838ba7ab2be"


def test_turns_begin_with_what_a_person_said() -> None:
    starts = [event.content for event in of(Said, told("compaction-with-preserved-messages")) if event.starts_turn]
    assert [str(text).split(".", maxsplit=1)[0] for text in starts] == [
        "Hello one",
        "Second",
        "Third question?",
        "After compaction?",
    ]


def test_lines_of_one_api_message_say_so_and_repeat_its_usage() -> None:
    answers = [event for event in of(Said, told("chat-with-tools")) if event.role == "assistant"]
    parts = Counter(event.joins for event in answers)
    assert sorted(parts.values()) == [1, 1, 2, 3]
    first = [event for event in answers if parts[event.joins] == 3]
    assert {event.usage_key for event in first} == {first[0].joins}
    assert len({event.usage for event in first}) == 1
    assert [(bool(event.thinking), bool(event.content), len(event.calls)) for event in first] == [
        (True, False, 0),
        (False, True, 0),
        (False, False, 1),
    ]


def test_parallel_calls_are_answered_each_under_its_own_line() -> None:
    events = told("chat-with-tools")
    asked = {call.native_id: event.native_id for event in of(Said, events) for call in event.calls}
    answers = of(Answered, events)
    assert [asked[answer.call] for answer in answers] == [answer.parent for answer in answers]
    assert [answer.status for answer in answers] == ["completed", "completed", "failed"]
    assert answers[2].result is None
    assert answers[2].error is not None
    assert answers[2].error.startswith("Exit code 2")
    (read_file,) = [event.files for event in of(Said, events) if event.files]
    assert [(Path(file.path).name, file.kind) for file in read_file] == [("notes.txt", "read")]


def test_parameters_come_byte_for_byte() -> None:
    calls = [call for event in of(Said, told("chat-with-tools")) for call in event.calls]
    assert all(isinstance(call.params, msgspec.Raw) for call in calls)
    written = (CASES / "chat-with-tools" / "source" / "382ee51c-9e8c-5510-8445-6b6920d2d365.jsonl").read_bytes()
    assert all(bytes(call.params) in written for call in calls)


def test_a_compaction_is_one_step_that_knows_what_it_kept() -> None:
    events = told("compaction-with-preserved-messages")
    (compaction,) = of(Compacted, events)
    (boundary,) = [event for event in of(Noted, events) if event.native_id == compaction.parent]
    assert boundary.parent == "fbf79f4f-8f4d-47e2-ad5a-21ac66d2f4f0"
    assert compaction.kept == (boundary.parent,)
    assert compaction.summary.startswith("This session is being continued from a previous conversation")
    assert (compaction.trigger, compaction.tokens_before, compaction.tokens_after) == ("manual", 29686, 769)
    assert compaction.duration_ms == 256


def test_a_cli_fork_repeats_the_ids_of_its_origin() -> None:
    origin, fork = ({step.native_id for step in of(Said, told("cli-fork", name))} for name in ("855a88d0", "4e65a7eb"))
    assert len(fork & origin) == len(fork) - 2  # a question and its answer are its own
    old, new = (
        {step.native_id for step in of(Said, told("1.0-fork-and-compaction", name))}
        for name in ("cc42d423", "1de0a6ec")
    )
    assert len(new & old) == len(new) - 2


def test_usage_is_known_again_in_a_fork_that_dropped_the_ids_of_requests() -> None:
    keys = [
        {step.usage_key for step in of(Said, told("1.0-fork-and-compaction", name))}
        for name in ("cc42d423", "1de0a6ec")
    ]
    assert len(keys[0] & keys[1]) == 6 + 1  # six calls to the model, and None for people's messages


def test_an_sdk_fork_names_the_lines_that_it_copied() -> None:
    fork, origin = told("sdk-fork", "bb2ecbc6"), told("sdk-fork", "f6152af3")
    assert {facts.forked_from for facts in of(Facts, fork)} == {None, "f6152af3-a711-4e80-b229-56164b600c97"}
    starts = [[event for event in of(Said, events) if event.starts_turn] for events in (fork, origin)]
    assert starts[0][0].identity == starts[1][0].native_id
    assert starts[0][0].content == starts[1][0].content
    assert starts[0][1].identity is None


def test_a_subagent_in_its_own_file_is_linked_from_both_ends() -> None:
    (answer,) = [event for event in of(Answered, told("subagent")) if event.spawned]
    assert answer.spawned == SUBAGENT
    (linked,) = [facts for facts in of(Facts, told("subagent")) if facts.session == SUBAGENT]
    assert (linked.parent_session, linked.parent_call, linked.task) == (MAIN, answer.call, "fake description")
    folder = CASES / "subagent" / "source" / MAIN / "subagents"
    (noted,) = of(Facts, story(folder / "agent-af5d32838ba7ab2be.meta.json"))
    assert (noted.session, noted.parent_session, noted.parent_call) == (SUBAGENT, MAIN, answer.call)
    assert (noted.task, noted.extra) == ("fake description", {"agentType": "general-purpose", "spawnDepth": 1})
    events = story(folder / "agent-af5d32838ba7ab2be.jsonl")
    assert {event.session for event in of(Said, events)} == {SUBAGENT}
    first = of(Said, events)[0]
    assert (first.source, first.starts_turn, first.content) == ("agent", True, told_prompt())
    assert of(Facts, events)[0].parent_session == MAIN


def told_prompt() -> str:
    """What the parent asked its subagent for."""
    (call,) = [call for event in of(Said, told("subagent")) for call in event.calls]
    return str(json.loads(bytes(call.params))["prompt"])


def test_a_subagent_inside_the_transcript_gets_a_session_of_its_own() -> None:
    events = told("1.0-sidechain-inside")
    main = "f5d679ef-c312-49c3-ab63-bf28b8591db9"
    side = f"{main}/agent-a75f6acf-f30d-489b-ad7a-ff27371811a8"
    assert Counter(step.session for step in (*of(Said, events), *of(Answered, events))) == {main: 4, side: 4}
    (answer,) = [event for event in of(Answered, events) if event.spawned]
    assert (answer.session, answer.spawned) == (main, side)
    linked = [facts for facts in of(Facts, events) if facts.parent_call]
    assert {(facts.session, facts.parent_call, facts.task) for facts in linked} == {
        (side, answer.call, "fake description")
    }


def test_a_background_subagent_is_finished_by_its_own_note() -> None:
    session = "e282def5-3d97-461c-a3cf-aaa8bbb4252c"
    (linked,) = [facts for facts in of(Facts, told("subagent-in-the-background", session)) if facts.parent_call]
    assert linked.task_status is None
    (note,) = (path for path in SOURCES if path.name == "agent-adcd6e0a777433d43.meta.json")
    assert of(Facts, story(note))[0].task_status == "completed"


def test_what_was_rendered_for_the_model_is_what_is_told() -> None:
    events = told("subagent-in-the-background", "e282def5")
    assert "<system-reminder>\nToday's date is 2026-11-15.\n</system-reminder>" in [s.content for s in of(Said, events)]
    assert {event.source for event in of(Said, events) if event.role != "assistant"} == {"human", "context", "event"}
    (tools,) = [event.tools for event in of(Noted, events) if event.tools]
    assert {"Agent", "Bash", "Edit", "Read", "Write"} <= set(tools)


def test_an_image_is_told_by_small_facts() -> None:
    prompt = next(event for event in of(Said, told("images", "6648a2d2")) if event.starts_turn)
    assert prompt.content == "What colour?"
    assert prompt.blocks is not None
    assert [block["type"] for block in prompt.blocks] == ["text", "image"]
    (answer,) = of(Answered, told("images", "30b2c112"))
    assert answer.result == [{"type": "image", "media_type": "image/png", "size_bytes": prompt.blocks[1]["size_bytes"]}]


def test_a_killed_program_leaves_a_call_without_an_answer() -> None:
    events = told("killed", "10048c12")
    asked = [call.native_id for event in of(Said, events) for call in event.calls]
    assert [answer.call for answer in of(Answered, events)] == asked[:-1]


def test_a_summary_names_the_session_that_holds_its_line() -> None:
    assert [facts.title for facts in of(Facts, told("1.0-fork-and-compaction", "1de0a6ec")) if facts.title] == [
        "Fake title"
    ]
    assert told("1.0-fork-and-compaction", "0db3b035") == []  # it is about another file


def test_the_programs_own_messages_cost_nothing() -> None:
    (own,) = [s for s in of(Said, told("1.0-fork-and-compaction", "cc42d423")) if s.content == "No response requested."]
    assert (own.model, own.usage, own.usage_key, own.role) == (None, None, None, "assistant")


def test_facts_are_told_once() -> None:
    facts = of(Facts, told("compaction-with-preserved-messages"))
    assert (facts[0].agent_version, facts[0].git_branch) == ("2.1.197", "master")
    assert [event.extra for event in facts] == [{"entrypoint": "sdk-cli"}, {"mode": "normal"}]


def test_a_rewind_moves_the_pointer() -> None:
    events = told("rewind")
    (moved,) = of(Moved, events)
    answer = next(event for event in of(Said, events) if event.content == "Answer A")
    assert moved.to == answer.native_id
    parents = [event.parent for event in of(Said, events) if event.starts_turn]
    assert parents.count(answer.native_id) == 2
    assert [facts.title for facts in of(Facts, events) if facts.title] == ["Rewound twice"]


def test_refused_and_interrupted_calls_are_told_apart() -> None:
    events = told("interrupted-and-refused")
    assert [answer.status for answer in of(Answered, events)] == ["rejected", "cancelled", "cancelled"]
    assert [(event.status, event.error) for event in of(Closed, events)] == [
        ("failed", "[Request interrupted by user for tool use]"),
        ("failed", "[Request interrupted by user]"),
    ]
    assert [event.permissions for event in of(Noted, events) if event.permissions] == [
        {"mode": "plan"},
        {"mode": "acceptEdits"},
    ]
    last = of(Said, events)[-1]
    assert (last.error, last.usage) == ("API Error: 529 Overloaded", None)


def test_peoples_words_are_told_from_the_programs() -> None:
    events = [event for event in of(Said, told("peoples-words-and-the-programs")) if event.role == "user"]
    assert [event.source for event in events if event.starts_turn] == ["human", "human", "human", "human", "agent"]
    assert Counter(event.source for event in events) == {"human": 4, "agent": 1, "context": 11, "event": 1}


def test_attachments_bring_files_and_lints() -> None:
    events = of(Said, told("peoples-words-and-the-programs"))
    assert [lint for event in events for lint in event.lints] == [
        Lint("/home/dev/hand/a.py", "unused import", "ruff", 1, 8, 1, 10, "Warning")
    ]
    assert [file for event in events for file in event.files] == [
        File("/home/dev/hand/a.py", "read", 10, 14),
        File("/home/dev/hand/a.py", "attached"),
    ]


def test_broken_lines_are_named_and_the_rest_goes_on() -> None:
    events = told("broken-lines")
    codes = Counter(problem.code for problem in of(Problem, events))
    assert codes == {
        "broken-line": 3,
        "glued-line": 1,
        "unknown-entry": 1,
        "broken-text": 1,
        "not-an-object": 2,
        "bad-field": 7,
        "deep-nesting": 1,
    }
    texts = [str(event.content) for event in of(Said, events)]
    assert {"First of two on a line", "Second of two on a line", "Not UTF-8: \ufffd\ufffd", "Last words"} <= set(texts)
    assert of(Said, events)[-2].usage == Usage(cache_write=20)


def test_the_header_of_nexus_is_understood() -> None:
    folder = GOLDEN / "pi" / "nexus-header" / "source"
    events = story(folder / "abc123.jsonl")
    assert of(Facts, events)[0].project == "/path"
    (compaction,) = of(Compacted, events)
    assert (compaction.first_kept, compaction.tokens_before) == ("msg-2", 100000)
    child = story(folder / "child-abc.jsonl")
    assert (of(Facts, child)[0].parent_session, of(Facts, child)[0].parent_call) == ("abc123", "task_abc")
    assert [event.source for event in of(Said, child) if event.starts_turn] == ["agent"]
