"""A session of pi, written by the store: in its file and in the ledger at once."""

from pathlib import Path

import msgspec
import pytest

from agents_ledger import Ledger
from agents_ledger.capture.sync import Sync
from agents_ledger.errors import BadInput, NotAllowed, NotFound
from agents_ledger.formats.pi import bodies, entries
from agents_ledger.ledger.digest import digest
from agents_ledger.model.entries import Usage
from agents_ledger.model.formats import Machine
from agents_ledger.stores.pi import Extended, PiFolder, PiSession
from tests.stores.talk import AT, ask, problems, seen_by_ledger, seen_by_store


@pytest.fixture
def folder(ledger: Ledger, tmp_path: Path) -> PiFolder:
    return PiFolder(ledger, str(tmp_path / "sessions"))


def synced(tmp_path: Path, folder: PiFolder) -> str:
    """The digest of a new ledger that was synced from the files alone."""
    with Ledger.open(f"sqlite:///{tmp_path / 'other.db'}") as other:
        Sync(other, Machine(str(tmp_path), {}, "linux")).run([folder.path])
        return digest(other.database)


def test_scripts_without_spaces_are_found_when_the_call_returns(ledger: Ledger, folder: PiFolder) -> None:
    session = folder.begin("/project")
    session.say(bodies.user("梨树什么时候开花 🍐", AT))
    session.say(bodies.assistant("四月", AT, provider="p", model="m"))
    assert [len(ledger.search(word).groups) for word in ("梨树", "🍐", "四月")] == [1, 1, 1]


def test_each_entry_is_in_the_ledger_when_the_call_returns(ledger: Ledger, folder: PiFolder, tmp_path: Path) -> None:
    session = folder.begin("/project")
    for body in (bodies.user("hello", AT), bodies.assistant("hi", AT, provider="p", model="m")):
        session.say(body)
        assert seen_by_ledger(ledger, session.label) == seen_by_store(session)
    ask(session, "one")
    ask(session, "two")
    assert seen_by_ledger(ledger, session.label) == seen_by_store(session)
    assert ledger.get(ledger.head(session.label) or "").turn.total_tokens == 200
    assert (ledger.counts()["turns"], ledger.verify().is_good, problems(ledger)) == (3, True, [])
    assert digest(ledger.database) == synced(tmp_path, folder)
    assert Sync(ledger, Machine(str(tmp_path), {}, "linux")).run([folder.path]).unchanged == 1


def test_nothing_is_on_the_disk_before_the_first_message(ledger: Ledger, folder: PiFolder) -> None:
    session = folder.begin("/project")
    session.change_model("anthropic", "m1")
    session.change_thinking("high")
    session.rename("A name")
    assert (list(folder.files()), ledger.counts()["sessions"], session.name) == ([], 0, "A name")
    session.say(bodies.user("hello", AT))
    kinds = [entry["type"] for entry in session.entries()]
    assert kinds == ["model_change", "thinking_level_change", "session_info", "message"]
    assert (session.context().model, session.context().thinking_level) == ("m1", "high")
    assert list(folder.files()) == [session.path]
    assert oct(Path(session.path).stat().st_mode)[-3:] == "600"


def test_a_branch_a_summary_and_a_compaction_are_seen_alike(ledger: Ledger, folder: PiFolder) -> None:
    session = folder.begin("/project")
    first = ask(session, "one")
    ask(session, "two")
    session.branch(first)
    ask(session, "other")
    assert seen_by_ledger(ledger, session.label) == seen_by_store(session)
    assert "question two" not in seen_by_store(session)
    session.branch_with_summary(first, "It was left.")
    ask(session, "third")
    assert [text for text in seen_by_store(session) if "left" in text] == ["It was left."]
    kept = session.say(bodies.user("kept", AT))
    session.say(bodies.assistant("yes", AT, provider="p", model="m"))
    session.compact("All of it.", kept, 5000, {"readFiles": ["a"]})
    ask(session, "after")
    assert seen_by_store(session)[:3] == ["All of it.", "kept", "yes"]
    assert seen_by_ledger(ledger, session.label) == seen_by_store(session)
    session.compact("Nothing kept.", None, 10)
    assert seen_by_store(session) == ["Nothing kept."]
    with pytest.raises(BadInput, match="keep an entry of this branch"):
        session.compact("Wrong.", "nowhere", 10)
    assert (ledger.verify().is_good, problems(ledger)) == (True, [])


def test_every_kind_of_entry_is_written_and_read_without_a_problem(ledger: Ledger, folder: PiFolder) -> None:
    session = folder.begin("/project")
    asked = session.say(bodies.user([bodies.text("look"), bodies.image("aGk=", "image/png")], AT))
    session.say(bodies.bash_execution("ls", "a\nb", AT, 1))
    session.note("state", {"n": 1})
    session.inject("hint", "mind the gap", display=False)
    session.say(bodies.assistant("it failed", AT, provider="p", model="m", error="overloaded"))
    session.bookmark(asked, "here")
    session.bookmark(asked, None)
    session.bookmark(asked, "there")
    session.spend("cache_warm", "p", "m", bodies.tokens(Usage(input=3)))
    session.edit(asked, {"content": "edited"})
    session.say(bodies.system("Be brief.", AT, {"tone": "dry"}))
    session.rename("  Named  ")
    assert (session.labels(), session.name, problems(ledger)) == ({asked: "there"}, "Named", [])
    assert "edited" in [message.get("content") for message in session.context().messages]
    assert len(session.entries()) == 12
    with pytest.raises(NotFound, match="no entry 'x'"):
        session.bookmark("x", "?")
    with pytest.raises(BadInput, match="at least one message"):
        session.say()


def test_extended_fields_and_markers_of_nexus(ledger: Ledger, tmp_path: Path) -> None:
    folder = PiFolder(ledger, str(tmp_path / "nexus" / "state" / "sessions"))
    session = folder.begin("/project")
    with pytest.raises(NotAllowed, match="no turn ends here"):
        session.say(bodies.user("q", AT)) and session.mark_turn()
    given = Extended(checkpoint_id="k1", is_agentic=True, active_rules=["r"], context={"fileSelections": ["a.py"]})
    session.say(bodies.user("question", AT), extended=given)
    answer = ask(session, "one")
    session.mark_turn()
    second = ask(session, "two")
    session.mark_turn()
    marks = [entry for entry in session.entries() if entry["type"] == "turn"]
    assert [(mark["turnId"], mark["toolCallCount"], mark["model"]) for mark in marks] == [
        (answer, 1, "m1"),
        (second, 1, "m1"),
    ]
    assert (marks[1]["parentTurnId"], len(marks[0]["queryMessageIds"])) == (answer, 3)
    asked = next(
        m for r in ledger.thread(ledger.head(session.label) or "") for m in r.messages if m.content == "question"
    )
    assert '"checkpointId":"k1"' in (asked.metadata_json or "")
    assert (session.label.partition(":")[0], problems(ledger)) == ("nexus", [])


def test_a_fork_and_a_clone_share_their_turns(ledger: Ledger, folder: PiFolder) -> None:
    session = folder.begin("/project")
    first = ask(session, "one")
    session.bookmark(first, "mark")
    second = ask(session, "two")
    before = ledger.counts()["turns"]
    fork = folder.fork(session, second)
    assert fork.transcript.header["parentSession"] == session.path
    assert seen_by_store(fork) == seen_by_store(session)
    assert fork.labels() == {first: "mark"}
    parents = fork.transcript.parents()
    assert [name for name, parent in parents.items() if parent is not None and parent not in parents] == []
    ask(fork, "three")
    clone = folder.clone(session.path, "/elsewhere")
    assert seen_by_store(clone) == seen_by_store(session)
    assert ledger.counts()["turns"] == before + 1
    assert ledger.thread(ledger.head(fork.label) or "")[:2] == ledger.thread(ledger.head(session.label) or "")
    with pytest.raises(BadInput, match="nothing to fork"):
        folder.fork(folder.begin("/project"))
    assert folder.recent("/project").id == clone.id


def test_half_a_line_of_a_killed_writer_is_ended(ledger: Ledger, folder: PiFolder) -> None:
    session = folder.begin("/project")
    ask(session, "one")
    with Path(session.path).open("ab") as file:
        file.write(b'{"type":"message","id":"half","parent')
    session.say(bodies.user("goes on", AT))
    lines = Path(session.path).read_bytes().split(b"\n")
    assert [line for line in lines if line.startswith(b'{"type":"message","id":"half"')] == [lines[-3]]
    assert folder.open(session.path).context().messages[-1]["content"] == [{"type": "text", "text": "goes on"}]
    assert [code for _, code, _ in problems(ledger)] == ["broken-line"]
    assert seen_by_ledger(ledger, session.label) == seen_by_store(session)


@pytest.mark.parametrize("name", ["version-1", "version-2"])
def test_an_older_file_is_brought_up_to_date(ledger: Ledger, folder: PiFolder, name: str) -> None:
    path = Path(folder.path, "old.jsonl")
    path.write_bytes(b"\n".join(msgspec.json.encode(line) for line in OLD[name]) + b"\n")
    session = folder.open(str(path))
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert lines[0]["version"] == 3
    assert seen_by_store(session) == ["short", "more", "from a hook"]
    turns = ledger.counts()["turns"]
    assert seen_by_ledger(ledger, session.label)[:2] == ["short", "more"]
    assert not folder.open(str(path)).transcript.modernise()
    ask(session, "next")
    assert ledger.counts()["turns"] == turns + 1
    assert len(ledger.roots()) == 1


def _old(version: int) -> list[dict[str, object]]:
    when = "2026-01-01T00:00:00.000Z"
    said: list[dict[str, object]] = [
        {"type": "message", "timestamp": when, "message": {"role": "user", "content": "hello", "timestamp": AT}},
        {"type": "message", "timestamp": when, "message": bodies.assistant("hi", AT, provider="p", model="m")},
        {"type": "message", "timestamp": when, "message": {"role": "user", "content": "more", "timestamp": AT}},
        {"type": "compaction", "timestamp": when, "summary": "short", "tokensBefore": 9},
        {
            "type": "message",
            "timestamp": when,
            "message": {"role": "hookMessage", "content": "from a hook", "timestamp": AT},
        },
    ]
    header: dict[str, object] = {"type": "session", "id": f"old-{version}", "timestamp": when, "cwd": "/p"}
    if version == 1:
        said[3]["firstKeptEntryIndex"] = 3
        return [{**header, "provider": "p", "modelId": "m"}, *said]
    linked = [{**one, "id": f"e{n}", "parentId": f"e{n - 1}" if n else None} for n, one in enumerate(said)]
    linked[3]["firstKeptEntryId"] = "e2"
    return [{**header, "version": 2}, *linked]


OLD = {"version-1": _old(1), "version-2": _old(2)}


def test_a_file_that_is_no_transcript_is_left_alone(folder: PiFolder) -> None:
    path = Path(folder.path, "x.jsonl")
    path.write_text('{"type":"message","id":"a"}\n')
    with pytest.raises(BadInput, match="has no header"):
        folder.open(str(path))
    assert path.read_text() == '{"type":"message","id":"a"}\n'
    with pytest.raises(NotFound, match="begin a new session"):
        folder.open(str(path) + "?")


def test_ids_are_free_in_their_file() -> None:
    given = iter(["aaaaaaaa-1", "aaaaaaaa-2", "bbbbbbbb-1"])
    assert entries.new_id({"aaaaaaaa": 1}, lambda: next(given)) == "bbbbbbbb"
    assert entries.new_id({"cccccccc": 1}, lambda: "cccccccc-dddd") == "cccccccc-dddd"


def test_two_who_begin_the_same_session_both_keep_their_settings(ledger: Ledger, folder: PiFolder) -> None:
    header = entries.header("s1", AT, "/")
    path = folder.inside("s1.jsonl")
    one, two = (PiFolder(ledger, folder.path).at(path, dict(header)) for _ in range(2))
    one.change_model("p", "m1")
    two.change_thinking("high")
    one.say(bodies.user("one", AT))
    two.say(bodies.user("two", AT))
    for session in (one, two, folder.open(path)):
        context = session.context()
        assert (seen_by_store(session), context.model, context.thinking_level) == (["one", "two"], "m1", "high")
    assert seen_by_ledger(ledger, one.label) == ["one", "two"]


def test_two_writers_of_one_session_follow_each_other(ledger: Ledger, folder: PiFolder) -> None:
    here = folder.begin("/project")
    ask(here, "one")
    there: PiSession = PiFolder(ledger, folder.path).open(here.path)
    for number in range(3):
        ask(there, f"there {number}")
        ask(here, f"here {number}")
    assert seen_by_store(here) == seen_by_store(there)
    assert seen_by_ledger(ledger, here.label) == seen_by_store(here)
    assert len(ledger.thread(ledger.head(here.label) or "")) == 7
