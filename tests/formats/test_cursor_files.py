"""Cursor's transcripts, and the stores of its command line."""

import json
from pathlib import Path

import pytest

from agents_ledger.formats.cursor import FORMAT
from agents_ledger.formats.cursor.transcript import stamped
from agents_ledger.model.formats import Source
from agents_ledger.model.steps import Answered, Closed, Compacted, Problem, Said
from tests.formats import cursor_store as made
from tests.formats import cursor_talk as talk
from tests.formats.cursor_rows import call, facts, groups, lines, of, plain, read


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("cursor")
    return {case: make(folder / case) for case, make in made.CASES.items()}


# --- transcripts --------------------------------------------------------------------------------------------------


def test_a_transcript_tells_the_thin_story(stores: dict[str, Path]) -> None:
    events = lines(stores["transcripts"])
    assert facts(events, made.TRANSCRIPT)["extra"] == {"source": "transcript"}
    asked, answered, told, noted = of(events, Said)
    assert asked.starts_turn
    assert asked.at == 1_791_254_100_000
    assert answered.calls[0].tool == "Read"
    assert answered.blocks == ({"type": "call", "at": 0}, {"type": "text", "from": 0, "to": 5})
    assert (told.source, told.starts_turn) == ("event", True)
    assert noted.content == "Noted."
    assert [(event.status, event.error) for event in of(events, Closed)] == [
        ("completed", None),
        ("failed", "User aborted/interrupted manually."),
    ]


def test_a_subagents_transcript_names_its_parent(stores: dict[str, Path]) -> None:
    path = stores["transcripts"].parent / "subagents" / f"{made.HELPER}.jsonl"
    assert facts(lines(path), made.HELPER)["parent_session"] == made.TRANSCRIPT


def test_a_transcript_cut_in_two_reads_the_same(stores: dict[str, Path]) -> None:
    whole = lines(stores["transcripts"])
    for cut in range(6):
        assert plain(lines(stores["transcripts"], cut=cut)) == plain(whole)


def test_old_transcripts_are_plain_text() -> None:
    text = b"user:\n<user_query>\nHi\n</user_query>\n\nassistant:\n[Tool call] Read\nHello user: yes\n"
    path = "/h/.cursor/projects/p/agent-transcripts/s1.txt"
    kind = FORMAT.recognise(path, text)
    assert kind is not None
    events = list(FORMAT.reader(Source(path, kind.name)).read(text, ""))
    assert [(event.role, event.starts_turn) for event in of(events, Said)] == [("user", True), ("assistant", False)]
    assert of(events, Said)[1].content == "[Tool call] Read\nHello user: yes"


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("<timestamp>Monday, Jun 22, 2026, 11:09 AM (UTC+8)</timestamp>", 1_782_097_740_000),
        ("<timestamp>Monday, Jun 22, 2026, 12:09 AM (UTC)</timestamp>", 1_782_086_940_000),
        ("<timestamp>Monday, Jan 1, 2024</timestamp>", None),
        ("<timestamp>Monday, Jun 99, 2026, 99:99 AM (UTC+99)</timestamp>", None),
        (None, None),
    ],
)
def test_the_minute_in_a_question(written: str | None, at: int | None) -> None:
    assert stamped(written) == at


# --- the command line's store -------------------------------------------------------------------------------------


def test_a_store_is_told_in_the_order_of_its_roots(stores: dict[str, Path]) -> None:
    path = stores["cli-store"]
    events = read(groups(path)["all"], f"{path}#all", "store")
    told = [(event.role, event.source, event.content) for event in of(events, Said)]
    go_on = ("user", "human", "<user_query>\nGo on\n</user_query>")
    assert told == [
        ("system", "context", "You are a coding assistant."),
        ("user", "context", "<user_info>\nOS: linux\n</user_info>"),
        ("user", "human", "<user_query>\nList files\n</user_query>"),
        ("assistant", None, "Listing."),
        go_on,
        ("assistant", None, "Went."),
        ("assistant", None, "And on."),
    ]
    (compacted,) = of(events, Compacted)
    assert compacted.summary == "They listed files."
    assert compacted.first_kept == next(event.native_id for event in of(events, Said) if event.content == go_on[2])
    (answered,) = of(events, Answered)
    assert (answered.call, answered.result, answered.status) == ("tool_1", "a.py\nb.py", "completed")
    assert call(events, "tool_1").params == {"command": "ls"}
    assert of(events, Said)[3].blocks is not None
    fact = facts(events, made.AGENT)
    assert (fact["title"], fact["project"], fact["git_branch"]) == ("Files", "/home/ada/My Proj", "dev")
    assert (fact["extra"]["contextTokensUsed"], fact["extra"]["contextTokenLimit"]) == (12306, 200000)


def test_the_same_words_twice_are_two_messages() -> None:
    blobs = talk.hashed(
        [{"role": "user", "content": "yes"}, {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}]
    )
    names = list(blobs)
    node = made.root([names[0], names[1], names[0]])
    meta = json.dumps({"agentId": "a", "latestRootBlobId": "r"}).encode().hex().encode()
    rows = {f"blobs\n{name}": blob for name, blob in blobs.items()} | {"blobs\nr": node, "meta\n0": meta}
    ids = [event.native_id for event in of(read(rows, kind="store"), Said)]
    assert ids == [names[0], names[1], f"{names[0]}#2"]


def test_a_task_of_the_command_line_names_its_subagent() -> None:
    done = {"output": {"success": {"agentId": "sub-1"}}}
    told = {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": "t", "toolName": "Task", "result": "Read."}],
        "providerOptions": {"cursor": {"highLevelToolCallResult": done}},
    }
    events = read({f"blobs\n{name}": blob for name, blob in talk.hashed([told]).items()}, "c/a/store.db#all", "store")
    assert [event.spawned for event in of(events, Answered)] == ["sub-1"]
    assert facts(events, "sub-1")["parent_call"] == "t"


def test_a_store_without_its_root_keeps_its_messages() -> None:
    rows = {f"blobs\n{name}": blob for name, blob in talk.hashed([{"role": "user", "content": "Hi"}]).items()}
    events = read(rows, "/h/.cursor/chats/0/agent-1/store.db#all", "store")
    assert [(event.session, event.content) for event in of(events, Said)] == [("agent-1", "Hi")]
    assert [problem.code for problem in of(events, Problem)] == ["lost-row"]
