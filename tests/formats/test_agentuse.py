"""AgentUse: what its session folders give, from the real program's and from one with every type of part."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger.formats.agentuse import FORMAT
from agents_ledger.formats.agentuse.files import ulid_time
from agents_ledger.formats.agentuse.reader import BundleReader
from agents_ledger.model.formats import Machine, Source
from agents_ledger.model.steps import At, Closed, Compacted, Event, Facts, Noted, Problem, Said, Spent

GOLDEN = Path(__file__).parents[1] / "golden" / "agentuse"
SHARED = Path(__file__).parents[3] / "shared"
SESSION = "01M7CCCCCCCCCCCCCCCCCCCCC1"
FOLDER = f"/x/session/{SESSION}-a"
MESSAGE = "01M7CCCCCCCCCCCCCCCCCCCCC2"


def bundles(case: str) -> dict[str, dict[str, bytes]]:
    """Session folder → its files, as the engine would put them together."""
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    for file in sorted((GOLDEN / case / "source").rglob("*")):
        if file.is_file():
            folder = FORMAT.bundle(str(file))
            assert folder is not None, file
            found[folder][str(file)[len(folder) + 1 :]] = file.read_bytes()
    return found


def story(files: dict[str, bytes], folder: str = FOLDER) -> list[Event]:
    reader = FORMAT.reader(Source(folder, "file"))
    events = [event for name, record in files.items() for event in reader.read(record, name)]
    return [*events, *reader.end()]


def only(case: str) -> list[Event]:
    ((folder, files),) = bundles(case).items()
    return story(files, folder)


def said(events: Iterable[Event], role: str | None = None) -> list[Said]:
    return [event for event in events if isinstance(event, Said) and role in {None, event.role}]


def files_of(*parts: dict[str, Any], session: dict[str, Any] | None = None, **message: Any) -> dict[str, bytes]:
    """A made-up session of one message."""
    files = {
        "session.json": session or {"id": SESSION, "agent": {"id": "a"}, "status": "completed"},
        f"{MESSAGE}/message.json": {"user": {"prompt": {"task": "Go"}}, **message},
    }
    files |= {f"{MESSAGE}/part/{part.get('id', at)}.json": part for at, part in enumerate(parts)}
    return {name: json.dumps(value).encode() for name, value in files.items()}


def head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(65536)


def test_all_its_files_are_claimed_and_none_of_the_others() -> None:
    if not SHARED.exists():
        pytest.skip("the collected sessions of other agents are not on this machine")
    claimed = {
        file.relative_to(SHARED).parts[:2]
        for place in ("fixtures", "corpus")
        for file in (SHARED / place).rglob("*")
        if file.is_file() and FORMAT.recognise(str(file), head(file))
    }
    assert claimed == {("fixtures", "agentuse")}


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        (f"{FOLDER}/session.json", FOLDER),
        (f"{FOLDER}/{MESSAGE}/part/{MESSAGE}.json", FOLDER),
        (f"{FOLDER}/{MESSAGE}/artifact/tool-output-x.txt", FOLDER),
        (f"{FOLDER}/subagent/{MESSAGE}-b/tools.json", f"{FOLDER}/subagent/{MESSAGE}-b"),
        (f"C:\\x\\{SESSION}-a\\{MESSAGE}\\message.json", f"C:\\x\\{SESSION}-a"),
        (f"{SESSION}-a/session.json", f"{SESSION}-a"),
        (f"{FOLDER}/notes.txt", None),
        ("/x/session/session.json", None),
        ("", None),
    ],
)
def test_a_file_belongs_to_the_innermost_session_folder(path: str, folder: str | None) -> None:
    assert FORMAT.bundle(path) == folder
    assert (FORMAT.recognise(path, b"") is None) == (folder is None)


def test_the_place_follows_xdg() -> None:
    (root,) = FORMAT.roots(Machine("/home/dev", {}, "linux"))
    assert root.path == "/home/dev/.local/share/agentuse/project"
    (root,) = FORMAT.roots(Machine("/home/dev", {"XDG_DATA_HOME": "/data"}, "darwin"))
    assert root.path == "/data/agentuse/project"


def test_a_run_has_its_prompt_and_one_message_for_each_call_to_the_model() -> None:
    events = only("resumed")
    asked = [step for step in said(events) if step.starts_turn]
    assert [(step.role, step.source, step.at) for step in asked] == [("user", "human", 1794768270987)]
    steps: dict[str | None, list[Said]] = defaultdict(list)
    for step in said(events, "assistant"):
        steps[step.joins].append(step)
    told = [
        ([step.thinking or step.content for step in parts if not step.calls], [len(step.calls) for step in parts])
        for parts in steps.values()
    ]
    assert told == [
        (["let me look", "I will run a command."], [0, 0, 1]),
        ([], [1, 1]),  # two at once
        (["Done turn one."], [0]),
        (["ok #4: Third question?"], [0]),  # a resumed run: 0.15 does not write its prompt down
    ]


def test_calls_have_their_outcome() -> None:
    calls = [call for step in said(only("resumed")) for call in step.calls]
    assert [(call.tool, call.status) for call in calls] == [
        ("tools__bash", "completed"),
        ("tools__filesystem_read", "completed"),
        ("tools__bash", "failed"),
    ]
    assert json.loads(bytes(calls[0].params)) == {"command": "echo hi-from-tool"}
    assert json.loads(bytes(calls[0].result))["output"] == "hi-from-tool\n"
    assert calls[1].result == "1\talpha\n2\tbeta\n3\t"
    assert calls[2].error is not None
    assert calls[2].error.startswith("Command blocked")
    assert calls[0].started_at == 1794768271828
    assert calls[0].completed_at == 1794768271841


def test_input_is_counted_without_the_cache_and_once_for_a_message() -> None:
    (spent,) = [event for event in only("killed") if isinstance(event, Spent)]
    assert (spent.usage.input, spent.usage.cache_write, spent.usage.cached, spent.usage.output) == (396, 1187, 0, 17)
    assert spent.usage_key == "01M7G8DPY7WV54EFYMH6RPRD74"


def test_a_killed_run_is_left_open() -> None:
    events = only("killed")
    assert [call.status for step in said(events) for call in step.calls] == ["completed", "running"]
    assert not [event for event in events if isinstance(event, Closed | Problem)]


def test_a_subagent_is_linked_to_the_call_that_started_it() -> None:
    (main, main_files), (sub, sub_files) = sorted(bundles("subagent").items())
    parent, child = story(main_files, main), story(sub_files, sub)
    (call,) = [call for step in said(parent) for call in step.calls]
    own, told = [event for event in parent if isinstance(event, Facts)]
    (facts,) = [event for event in child if isinstance(event, Facts)]
    assert call.spawned == facts.session == told.session == "01M7G8DFR9YW2176E0P7RJYZ1D"
    assert facts.parent_session == told.parent_session == own.session == "01M7G8DFJ3CDPXTJGBGR15XK3Q"
    assert told.parent_call == call.native_id
    assert {step.source for step in said(child) if step.starts_turn} == {"agent"}


def test_a_continued_session_names_the_one_before() -> None:
    (facts,) = [event for event in only("continued") if isinstance(event, Facts)]
    assert facts.extra["continues"] == "01M7G8CXM1NKNVXNMEC80BVK0Q"
    assert (facts.project, facts.persona, facts.agent_version) == ("/home/dev/wxxxxxxxxxxxxxxxxxxxxxxx", "a", "0.15.0")


def test_a_copy_shares_its_ids_with_the_original() -> None:
    one, other = (story(files, folder) for folder, files in sorted(bundles("forked").items()))
    shared = {step.native_id for step in said(one)} & {step.native_id for step in said(other)}
    assert len(shared - {None}) == 7
    assert {step.session for step in said(one)} != {step.session for step in said(other)}


def test_every_type_of_part_is_read() -> None:
    events = only("every-part")
    steps = said(events)
    assert [(step.content, step.source) for step in steps if step.starts_turn] == [
        ("Write a quote.\n\nAbout rain.", "cron"),
        ("Shorter, please.", "human"),
        ("The judge says: too short.", "event"),
    ]
    assert [file.path for step in steps for file in step.files] == [
        "/home/dev/rain.png",
        "/home/dev/social/quote.txt",
        "/home/dev/social/log.txt",
    ]
    assert [step.error for step in steps if step.error] == ["Bad Request\nEXECUTION_ERROR\nInstructions are required"]
    assert len([event for event in events if isinstance(event, Noted)]) == 9
    (closed,) = [event for event in events if isinstance(event, Closed)]
    assert closed.status == "failed"
    assert [event.code for event in events if isinstance(event, Problem)] == [
        "glued-line",
        "broken-line",
        "unknown-entry",
    ]
    ids = [step.native_id for step in events if isinstance(step, Said | Noted | Compacted) and step.native_id]
    assert len(ids) == len(set(ids)) == 27


def test_a_compaction_has_the_context_that_was_saved() -> None:
    (compacted,) = [event for event in only("every-part") if isinstance(event, Compacted)]
    assert compacted.replacement == [
        {"role": "user", "content": "Write a quote."},
        {"role": "assistant", "content": "Summary: one quote was written."},
    ]
    assert (compacted.tokens_before, compacted.tokens_after, compacted.trigger) == (24000, 900, "context_limit")


def test_outputs_that_were_moved_out_are_in_the_result() -> None:
    calls = {call.native_id: call for step in said(only("every-part")) for call in step.calls}
    seen = calls["call_1"].result
    assert seen["output"] == "line one … line three"
    assert seen["metadata"]["fullOutputArtifact"]["content"] == "\n[stdout]\nline one\nline two\nline three\n"
    assert calls["call_2"].result["artifact"]["content"] == {"rows": [1, 2, 3]}
    assert bytes(calls["call_1"].params) == b'{\n      "command": "cat long",\n      "n": 1.0\n    }'


def test_what_opens_the_gate_to_a_waiting_run_is_never_told() -> None:
    events = only("every-part")
    assert "not-for-the-ledger" not in msgspec.json.encode(events).decode()
    assert calls_of(events)["call_3"] == "pending"
    assert {call.spawned for step in said(events) for call in step.calls} == {None, "01M7CCCCCCCCCCCCCCCCCCCCE9"}


def calls_of(events: Iterable[Event]) -> dict[str | None, str]:
    return {call.native_id: call.status for step in said(events) for call in step.calls}


def test_parts_stand_by_time_and_not_by_id() -> None:
    parts = [
        {"id": "01M7CCCCCCCCCCCCCCCCCCCCZZ", "type": "text", "text": "first", "time": {"start": 1000}},
        {"id": "01M7CCCCCCCCCCCCCCCCCCCC00", "type": "text", "text": "second", "time": {"start": 1001}},
    ]
    assert [step.content for step in said(story(files_of(*parts)), "assistant")] == ["first", "second"]


def test_a_broken_file_costs_nothing_but_itself() -> None:
    files = files_of({"type": "text", "text": "kept"}, {"type": "text", "text": "lost"})
    files[f"{MESSAGE}/part/1.json"] = files[f"{MESSAGE}/part/1.json"][:-4]
    events = story(files)
    assert [event.code for event in events if isinstance(event, Problem)] == ["broken-line"]
    assert [step.content for step in said(events)] == ["Go", "kept"]


def test_a_folder_without_its_session_file_tells_nothing_yet() -> None:
    files = files_of({"type": "text", "text": "kept"})
    del files["session.json"]
    assert [event for event in story(files) if not isinstance(event, At)] == [Problem("missing-header", "session.json")]
    files["session.json"] = b'{"id": '
    assert not said(story(files))


def test_parts_wait_for_their_message() -> None:
    files = files_of({"type": "text", "text": "kept"})
    later = {"0/part/1.json": b'{"type": "text", "text": "too early"}'}
    events = story(files | later)
    assert Problem("missing-header", "0/message.json") in events
    assert plain(said(events)) == plain(said(story(files)))
    later["0/message.json"] = b'{"user": {"prompt": {"task": "There"}}, "time": {"created": 1}}'
    assert [step.content for step in said(story(files | later))] == ["There", "too early", "Go", "kept"]


def test_every_step_says_which_file_it_comes_from() -> None:
    for case in ("every-part", "subagent", "resumed"):
        for folder, files in bundles(case).items():
            here = ""
            for event in story(files, folder):
                if isinstance(event, At):
                    here = event.name
                    assert here in files
                elif isinstance(event, Said | Compacted) and event.native_id:
                    assert event.native_id in here


def test_the_state_of_a_reader_can_be_saved_between_any_two_files() -> None:
    for case in ("resumed", "every-part", "subagent"):
        for folder, files in bundles(case).items():
            for cut in range(0, len(files), 7):
                reader = FORMAT.reader(Source(folder, "file"))
                for at, (name, record) in enumerate(files.items()):
                    if at == cut:
                        reader = msgspec.msgpack.decode(msgspec.msgpack.encode(reader), type=BundleReader)
                    list(reader.read(record, name))
                assert plain(reader.end()) == plain(story(files, folder))


def plain(events: Iterable[Event]) -> list[tuple[str, bytes]]:
    return [(type(event).__name__, msgspec.json.encode(event)) for event in events]


WORDS = (
    "agent assistant cache callID childSessionID end error files id input message messages messagesAfter metadata "
    "output project prompt read resumePayload start state status task text time tokens tool type user"
)
KEYS = st.text(max_size=3) | st.sampled_from(WORDS.split())
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["tool", "text", "user", "error", "completed", "compaction", SESSION, 10**400, -1, 2**63]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


def names() -> Iterator[str]:
    yield from ("session.json", "tools.json", "context.json", "x", f"{MESSAGE}/message.json", "")
    yield from (f"{MESSAGE}/part/{at}.json" for at in range(4))
    yield from (f"{MESSAGE}/artifact/{at}.json" for at in range(2))


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(list(names())), JSON | st.binary(max_size=20), max_size=8), st.text(max_size=9))
def test_whatever_the_files_hold_it_is_read(values: dict[str, Any], folder: str) -> None:
    files = {
        name: value if isinstance(value, bytes) else json.dumps(value).encode("utf-8", "surrogatepass")
        for name, value in values.items()
    }
    for event in story(files, folder):
        assert isinstance(event, Event)
        assert isinstance(getattr(event, "session", ""), str)


def test_an_id_begins_with_its_time() -> None:
    assert ulid_time("01M7G8CYEN9GERJFH1XW020NNJ") == 1794768271829
    assert ulid_time("01M7G8CYEN") is None
    assert ulid_time("U" * 26) is None
