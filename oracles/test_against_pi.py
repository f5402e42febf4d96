"""Our ledger and pi's own SessionManager on the same files: entries, calls, the current branch, context and tokens."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from oracles.ours import (
    GOLDEN,
    SHARED,
    everything,
    owner,
    synced,
    thread,
    totals,
)
from oracles.readers import PI_JUDGES, Call, Message, PiSession, Result, Tokens, pi_sessions

_FIXTURES = ("pi*", "clawdbot*", "openclaw*")
_OTHER = (".zst", ".gz", "sessions.json", "trajectory.jsonl")

# Files that are not pi's, or not any more: what we read in them has no judge.
NOT_PI = {
    "headless-1.jsonl.bak-4711-1772359200000": "no header: pi 0.73 empties such a file, 0.87 refuses it",
    "nohdr.jsonl": "no header, as above",
    "cut-1.jsonl": "cut by clawdbot, which loses the header: as above",
    "S1.jsonl": "emptied by pi 0.49 after clawdbot had cut it; the archive beside it has everything",
    "2026-03-01T10-00-00-000Z_broken-1.jsonl": "hand-made damage: a line `null`, a circle of parents; pi stops at it",
    "nx-1.jsonl": "the shape of Nexus (`type: user`, `uuid`): pi finds entries without messages there",
    "nx-fork.jsonl": "the shape of Nexus",
    "nx-child.jsonl": "the shape of Nexus",
    "abc123.jsonl": "the shape of Nexus",
    "child-abc.jsonl": "the shape of Nexus",
    "seed.jsonl": "the shape of Nexus",
    "seed-1.jsonl": "the shape of the seed (`uuid`, no `parentId`): pi finds entries without ids there",
    "seed-1.jsonl.bak.2026-01-21T12-30-00.000Z": "the shape of the seed",
}
# Where the current branch is another one. Of openclaw: rows `leaf` and `appendMode: side`, which pi overlooks.
OTHER_BRANCH = {
    "2026-03-01T10-00-00-000Z_all-types.jsonl": "a0000003 a0000004 a0000005 a0000008 a0000015 a0000017 a0000018 "
    "a000001e a000001f",
    # an entry behind a broken line, whose parent is nowhere: it follows the one before it, pi begins there
    "fut.jsonl": "aaaaaaaa cccccccc",
}


def files() -> list[Path]:
    """Every transcript of pi and its relatives that is here."""
    folders = [GOLDEN / "pi", *(one for name in _FIXTURES for one in sorted(SHARED.glob(f"fixtures/{name}")))]
    found = [path for folder in [*folders, SHARED / "corpus" / "pi"] for path in sorted(folder.rglob("*.jsonl*"))]
    return [path for path in found if path.is_file() and _is_transcript(path)]


def _is_transcript(path: Path) -> bool:
    is_expected = path.is_relative_to(GOLDEN) and "source" not in path.parts
    return not is_expected and not path.name.endswith(_OTHER) and ".sessions.json." not in path.name


FILES = files()


@cache
def judged(judge: str) -> dict[Path, PiSession]:
    """What a version of pi makes of all files, in one process."""
    return dict(zip(FILES, pi_sessions(FILES, judge), strict=True))


def is_pi(path: Path, session: PiSession) -> bool:
    """Whether pi opens a file as what it is; what is not so has to be in the table."""
    text = path.read_text(encoding="utf-8", errors="replace")
    is_opened = session.error is None and session.header.get("id", "no id") in text
    speaks = any(entry.get("type") in ("message", "compaction") and "id" in entry for entry in session.entries)
    assert (is_opened and speaks) != (path.name in NOT_PI), (path, session.error)
    return is_opened and speaks


def in_entries(entries: list[Any]) -> list[Message]:
    """What entries say, one after another; a tool's result as a message of its own."""
    return [said for entry in entries for said in _in_entry(entry)]


def named(path: Path, session: PiSession) -> list[Any]:
    """A session's entries; those of version 1, which pi gives new names at each opening, by their numbers."""
    first = json.loads(path.read_text(encoding="utf-8").partition("\n")[0])
    if "version" in first:
        return list(session.entries)
    names = {entry["id"]: f"line-{number}" for number, entry in enumerate(session.entries, 1)}
    return [{**entry, "id": names[entry["id"]], "parentId": names.get(entry["parentId"])} for entry in session.entries]


def _in_entry(entry: Any) -> Iterator[Message]:
    name = entry.get("id")
    match entry.get("type"):
        case "message":
            yield from _in_message(entry["message"], name)
        case "custom_message":
            yield Message("user", _text(entry["content"]), id=name)
        case "branch_summary" if entry.get("summary"):
            yield Message("user", entry["summary"], id=name)
        case "compaction":
            yield Message("compaction", entry["summary"], id=name)


def _in_message(message: Any, name: str) -> Iterator[Message]:
    role, content = message["role"], message.get("content")
    blocks = content if isinstance(content, list) else []
    if role == "toolResult":
        result = Result(message["toolCallId"], _text(content), message["isError"])
        yield Message("results", results=(result,))
        return
    sections = [text for text in (message.get("sections") or {}).values() if text]
    yield Message(
        role if role in ("assistant", "system") else "user",
        text="\n\n".join([text for text in [_text(content)] if text or not sections] + sections)
        or message.get("output", ""),
        thinking="\n".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        calls=tuple(Call(one["id"], one["name"], one["arguments"]) for one in blocks if one["type"] == "toolCall"),
        id=name,
    )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content or () if block["type"] == "text")


def current(session: PiSession, entries: list[Any]) -> list[Message]:
    """What the entries from the root to pi's leaf say."""
    leaf = next((one["id"] for one, was in zip(entries, session.entries, strict=True) if was["id"] == session.leaf))
    by_id = {entry.get("id"): entry for entry in entries}
    found: list[Any] = []
    while leaf in by_id:
        found.insert(0, by_id[leaf])
        leaf = by_id[leaf].get("parentId")
    return in_entries(found)


def check_said(ours: list[Message], theirs: list[Message]) -> None:
    """Each message is there as the source says it, and nothing else; copies of it, too."""
    wanted = {message.id: message for message in theirs if message.role != "results"}
    for message in ours:
        if message.role == "results" or (message.role == "compaction" and not message.text):
            continue  # openclaw's `reset`
        check_message(message, wanted[message.id])
    assert wanted.keys() <= {message.id for message in ours}


def check_message(ours: Message, theirs: Message) -> None:
    """The same message; what stands around a command's output or a branch's summary is pi's own way to tell it."""
    assert ours.role == theirs.role or (ours.role, theirs.role) == ("user", "compaction"), ours
    assert theirs.text in ours.text if ours.role == "user" else theirs.text == ours.text
    assert (ours.thinking, ours.calls) == (theirs.thinking, theirs.calls)


def results(messages: list[Message]) -> Counter[Result]:
    """The results among messages."""
    return Counter(result for message in messages for result in message.results)


def assert_alike(ours: list[Message], theirs: list[Message]) -> None:
    """Two threads say the same."""
    assert [one.id for one in ours if one.role != "results"] == [one.id for one in theirs if one.role != "results"]
    check_said(ours, theirs)
    assert results(ours) == results(theirs)


@pytest.mark.parametrize("judge", PI_JUDGES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_says_the_same_to_pi_and_to_us(path: Path, judge: str) -> None:
    session = judged(judge)[path]
    if not is_pi(path, session):
        pytest.skip(f"NOT JUDGED: {NOT_PI[path.name]}")
    entries = named(path, session)
    with synced(path) as ledger:
        label = owner(ledger, path)
        assert label.partition(":")[2] in (session.header["id"], path.name.partition(".")[0])
        theirs, ours = in_entries(entries), everything(ledger)
        check_said(ours, theirs)
        assert set(results(ours)) == set(results(theirs))
        if path.name in OTHER_BRANCH:
            ids = [message.id for message in thread(ledger, label) if message.role != "results"]
            assert ids == OTHER_BRANCH[path.name].split()
        else:
            assert_alike(thread(ledger, label), current(session, entries))
        check_tokens(totals(ledger), entries)


def check_tokens(ours: dict[str, Tokens], entries: list[Any]) -> None:
    """The same tokens in all; and by model, but for calls of which the source does not say it: the turn's, then."""
    by_model: dict[str | None, Tokens] = {}
    for entry in entries:
        for holder in (entry, entry.get("message") or {}):
            if isinstance(used := holder.get("usage"), dict):
                names = ("input", "output", "cacheWrite", "cacheRead")
                tokens = Tokens(*(used.get(name, 0) for name in names))
                by_model[holder.get("model")] = by_model.get(holder.get("model"), Tokens()) + tokens
    assert sum(ours.values(), Tokens()) == sum(by_model.values(), Tokens())
    if None not in by_model:
        assert {k: v for k, v in ours.items() if v != Tokens()} == {k: v for k, v in by_model.items() if v != Tokens()}


def folders() -> list[Path]:
    """The folders whose files belong together: forks and what they were forked from, archives."""
    fixtures = [one for name in _FIXTURES for one in sorted(SHARED.glob(f"fixtures/{name}"))]
    return [*sorted(GOLDEN.glob("pi/*/source")), *fixtures]


_MIGRATED = "9cbca061-c524-402d-bfd8-46ba9a0d484a"
# Sessions of more than one file: a transcript and its archives, or one that was imported and goes on elsewhere.
SEVERAL_FILES = {
    "S1.jsonl.bak.2026-11-15T18-33-50.974Z": "with the emptied file",
    "cut-1.jsonl.bak.2026-03-01T11-00-00.000Z": "with the file that was cut and went on",
    "019ca8db-3ff8-72d1-8f6b-9eeb2fdd14e9.jsonl": "cut by our store: with its archive",
    "019ca8db-3ff8-72d1-8f6b-9eeb2fdd14e9.jsonl.bak.2026-03-01T10-06-48.000Z": "with the file that was cut",
    "old-1.jsonl.reset.2026-03-03T08-00-00.000Z": "with its checkpoint",
    f"agent_main_explicit_{_MIGRATED}.{_MIGRATED}.jsonl.imported-1794833889562": "went on in openclaw's database",
    "old-1.checkpoint.5f0e8a52-7f9e-4c27-9c34-7f2a3c7d9b11.jsonl": "with the file that it was copied from",
}


# Forks of pi 0.73, which lose the way to what lies before a label. pi sees only the rest; with the original at hand, we
# see all of it.
BROKEN_FORKS = (
    "2026-11-15T18-01-27-711Z_01a1e05f-0b9e-731f-b92c-5d1073dbb4ee.jsonl",
    "2026-11-15T18-15-50-677Z_01a1e06c-3695-76eb-8bae-e3bcfe6c98d2.jsonl",
)


@pytest.mark.parametrize("folder", folders(), ids=lambda path: path.parent.name if path.name == "source" else path.name)
def test_files_that_belong_together_keep_their_own_threads(folder: Path) -> None:
    known = {**NOT_PI, **SEVERAL_FILES, **OTHER_BRANCH}
    paths = [path for path in FILES if path.is_relative_to(folder) and path.name not in known]
    if not paths:
        pytest.skip("NOT JUDGED: nothing here is pi's alone")
    with synced(folder) as ledger:
        for path in paths:
            session = judged("pi-earendil")[path]
            label = owner(ledger, path)
            ours, theirs = thread(ledger, label), current(session, named(path, session))
            if path.name in BROKEN_FORKS:
                assert len(ours) > len(theirs)
                ours = ours[-len(theirs) :]
            assert_alike(ours, theirs)
