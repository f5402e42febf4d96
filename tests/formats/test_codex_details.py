"""Codex: how its files are recognised, whose words they hold, what counts; and that no line breaks a reader."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger.formats.codex import FORMAT
from agents_ledger.formats.codex.reader import Rollout
from agents_ledger.formats.codex.texts import injected, outcome
from agents_ledger.model.entries import Usage
from agents_ledger.model.formats import Machine, Source
from agents_ledger.model.steps import (
    AFTER_LAST,
    Problem,
    Said,
    Spent,
    Step,
)
from tests.formats.codex_lines import (
    GOLDEN,
    PATH,
    ROLLOUTS,
    SHARED,
    SOURCES,
    counted,
    entry,
    header,
    lines_of,
    message,
    only,
    questions,
    read,
    spent,
    unpacked,
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parts[-5]}/{path.name[-20:]}")
def test_sources_are_recognised_by_content_alone(path: Path) -> None:
    content = unpacked(path)
    kind = FORMAT.recognise("/x/raw_transcript", content[: 1 << 16])
    assert kind is not None
    assert kind.shape == "lines"
    assert kind.name == ("rollout" if path.name.startswith("rollout") else path.stem.removeprefix("session_"))


def test_a_header_longer_than_the_head_is_recognised() -> None:
    head = header(base_instructions={"text": "x" * 100_000}).replace(b'": ', b'":').replace(b', "', b',"')
    assert FORMAT.recognise("/x/y", head[: 1 << 16]) is not None


@pytest.mark.parametrize("path", ROLLOUTS, ids=lambda path: f"{path.parts[-5]}/{path.name[-20:]}")
@pytest.mark.parametrize("bad", [b"junk\n", b"\0" * 4096, b"\0" * 4096 + b"\n", b"[]\n{\n", b"\xff\n" * 10])
def test_a_rollout_is_recognised_behind_broken_lines(bad: bytes, path: Path) -> None:
    kind = FORMAT.recognise(str(path), (bad + unpacked(path))[: 1 << 16])
    assert kind is not None
    assert kind.name == "rollout"


def test_files_of_others_are_not_claimed() -> None:
    places = [folder for folder in GOLDEN.iterdir() if folder.name != "codex"]
    for shelf in ("fixtures", "corpus"):
        if (SHARED / shelf).is_dir():
            places += [folder for folder in (SHARED / shelf).iterdir() if not folder.name.startswith("codex")]
    for path in (path for place in places for path in place.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            assert FORMAT.recognise(str(path), file.read(1 << 16)) is None, path


@given(st.binary(max_size=300) | st.from_regex(rb'\{"timestamp":"[^"]{0,20}","type":.{0,50}', fullmatch=True))
def test_recognising_never_raises(head: bytes) -> None:
    FORMAT.recognise("/x/rollout-1.jsonl", head)


def test_roots_are_in_the_home_and_where_the_environment_says() -> None:
    machine = Machine("/home/dev", {"CODEX_HOME": "/data/codex/"}, "linux")
    assert [root.path for root in FORMAT.roots(machine)] == ["/data/codex", "/home/dev/.codex"]


def test_only_growth_of_token_sums_counts() -> None:
    lines = [header(), counted([100, 40, 5], [100, 40, 5]), counted([100, 40, 5], [100, 40, 5])]
    lines += [counted([250, 140, 9], [150, 100, 4]), counted([250, 140, 9], [0, 0, 0])]
    assert spent(read(lines)) == [(60, 40, 5), (50, 100, 4)]


@pytest.mark.parametrize("restart", [[entry("event_msg", {"type": "token_count", "info": None})], []])
def test_sums_that_begin_again_count_from_nothing(restart: list[bytes]) -> None:
    lines = [header(), counted([100, 40, 5], [100, 40, 5]), *restart, counted([30, 10, 2], [30, 10, 2])]
    events = read([*lines, *restart, counted([100, 40, 5], [100, 40, 5])])
    assert spent(events) == [(60, 40, 5), (20, 10, 2), (60, 40, 5)]
    assert len({step.usage_key for step in only(Spent, events)}) == 3


def test_sums_that_continue_another_file_count_their_last_call() -> None:
    assert spent(read([header(), counted([900, 500, 50], [100, 40, 5])])) == [(60, 40, 5)]


def test_exact_records_are_not_counted_again_in_sums() -> None:
    usage = {"input_tokens": 10, "cached_input_tokens": 4, "cache_write_input_tokens": 1, "output_tokens": 3}
    record = entry("token_usage_record", {"response_id": "resp_1", "usage": {**usage, "reasoning_output_tokens": 2}})
    (step,) = only(Spent, read([header(), record, counted([10, 4, 3], [10, 4, 3])]))
    assert step.usage == Usage(5, 3, 4, 1, 2)
    assert step.usage_key == "resp_1"


@pytest.mark.parametrize(
    "words",
    [
        "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>",
        "\n<ENVIRONMENT_CONTEXT>x</ENVIRONMENT_CONTEXT>\n",
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nbe brief\n</INSTRUCTIONS>",
        "<user_instructions>\nbe brief\n</user_instructions>",
        "<turn_aborted>\nThe user interrupted.\n</turn_aborted>",
        '<subagent_notification>\n{"agent_path":"x"}\n</subagent_notification>',
        "<skill>\n<name>x</name>\n</skill>",
        "<user_shell_command>\nls\n</user_shell_command>",
    ],
)
def test_injected_texts_start_no_turn(words: str) -> None:
    assert injected(words)
    (said,) = (said for said in only(Said, read([header(), message("user", words)])))
    assert (said.role, said.source, said.starts_turn) == ("user", "context", False)


@pytest.mark.parametrize(
    "words", ["", "Hello", "# AGENTS.md instructions: write some", "<skill> is a tag", "Why <environment_context>?"]
)
def test_what_people_write_starts_one(words: str) -> None:
    assert [said.content for said in questions(read([header(), message("user", words)]))] == [words]


def test_marks_of_origin_are_believed_more_than_the_text() -> None:
    marks = [("user.text", True), ("generic.turn_aborted", False), ("unknown", True), ("skills.prompt", False)]
    for kind, starts in marks:
        about = {"content_item_kinds": [kind]}
        words = "<turn_aborted>x</turn_aborted>"
        events = read([header(), message("user", words, internal_chat_message_metadata_passthrough=about)])
        assert bool(questions(events)) is starts


@pytest.mark.parametrize(
    ("output", "status", "error"),
    [
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nExit code: 3", "completed", None),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 124\nOutput:\n", "failed", "exit code 124"),
        ("Exit code: -1\nWall time: 0 seconds\nOutput:\n", "failed", "exit code -1"),
        ('{"output":"x","metadata":{"exit_code":2,"duration_seconds":0.1}}', "failed", "exit code 2"),
        ('{"output":"x","metadata":{"exit_code":0}}', "completed", None),
        ('{"output', "completed", None),
        ("aborted", "cancelled", "aborted by user"),
        ("exec command rejected by user", "rejected", "rejected by user"),
        ("Plan updated", "completed", None),
    ],
)
def test_outputs_say_how_a_call_ended(output: str, status: str, error: str | None) -> None:
    assert outcome(output) == (status, error)


@pytest.mark.parametrize("path", ROLLOUTS, ids=lambda path: f"{path.parts[-6]}/{path.name[-12:]}")
def test_reading_in_two_pieces_gives_the_same(path: Path) -> None:
    lines = lines_of(path)
    whole = read(lines, str(path))
    assert {step.parent for step in only(Step, whole)} == {AFTER_LAST}
    for cut in range(len(lines) + 1):
        reader = FORMAT.reader(Source(str(path), "rollout"))
        events = [event for line in lines[:cut] for event in reader.read(line, "")]
        kept = msgspec.json.encode(reader)
        assert len(kept) < 4000
        resumed = msgspec.json.decode(kept, type=Rollout)
        assert events + [event for line in lines[cut:] for event in resumed.read(line, "")] == whole


def test_every_person_in_real_sessions_is_heard() -> None:
    folder = SHARED / "corpus" / "codex"
    if not folder.is_dir():
        pytest.skip("no corpus of real sessions here")
    for path in (path for path in folder.rglob("*") if path.is_file()):
        lines = lines_of(path)
        told = {event["message"].strip() for event in _events_of(lines) if event.get("type") == "user_message"}
        heard = [(said.content or "").strip() for said in questions(read(lines, str(path))) if said.source != "event"]
        missing = {words for words in told if not any(words[:200] in one for one in heard)}
        assert all(words.startswith("Review") for words in missing), path
        assert not only(Problem, read(lines, str(path))), path


def _events_of(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        entry = json.loads(line)
        if entry["type"] == "event_msg":
            yield entry["payload"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
SAMPLES = sorted(
    {line for path in ROLLOUTS if path.suffix == ".jsonl" for line in lines_of(path) if len(line) < 3000}, key=len
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A real line with one of its fields, at any depth, replaced by anything."""
    try:
        line = json.loads(draw(st.sampled_from(SAMPLES)))
    except ValueError:
        return b"{"
    place = line
    while isinstance(place, dict | list) and place:
        key = draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
            place[key] = draw(JSON)
            break
        place = place[key]
    return json.dumps(line).encode()


@settings(max_examples=400, deadline=None)
@given(st.lists(mutated() | JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40), max_size=6))
def test_no_line_makes_a_reader_fail(lines: list[bytes]) -> None:
    reader = FORMAT.reader(Source(PATH, "rollout"))
    for line in lines:
        for event in reader.read(line, ""):
            assert not isinstance(event, Step) or event.session
        reader = msgspec.json.decode(msgspec.json.encode(reader), type=Rollout)


@pytest.mark.parametrize(
    ("tier", "is_fast"),
    [("priority", True), ("fast", True), ("default", False), ("flex", False), (None, False), (7, False)],
)
def test_the_service_tier_of_the_last_settings_counts(tier: object, is_fast: bool) -> None:
    """Each record has all settings: a tier that is missing or null is none."""

    def set_to(**more: Any) -> bytes:
        settings = {"model": "gpt-5.4", "model_provider_id": "openai", **more}
        return entry("event_msg", {"type": "thread_settings_applied", "thread_settings": settings})

    lines = [header(), set_to(service_tier="priority"), counted([10, 0, 1])]
    events = read([*lines, set_to(service_tier=tier), counted([30, 0, 2]), set_to(), counted([60, 0, 3])])
    assert [(step.model, step.is_fast) for step in only(Spent, events)] == [
        ("gpt-5.4", True),
        ("gpt-5.4", is_fast),
        ("gpt-5.4", False),
    ]
