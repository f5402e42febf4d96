"""Our ledger and Claude's own SDK on the same files: the current chain, its calls and results, its subagents."""

import json
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agents_ledger.ledger import Ledger
from oracles.ours import GOLDEN, SHARED, asked, labels_of, synced, thread
from oracles.readers import Call, ClaudeSession, Message, Result, claude_sessions

# Files of which the SDK does not list what we read.
NOT_LISTED = {
    "agent-ad47cca.jsonl": "a subagent's file by itself: the SDK lists no sidechains",
    "agent-session2.jsonl": "made by hand: its only user line has no content; the SDK lists it all the same, as empty",
    "00000000-1111-4222-8333-000000000004.jsonl": "made by hand, not UTF-8 throughout: the SDK stops there",
}
# What we have besides, where it is not context (see below).
OURS_ONLY = {
    "Review the last commit.": "a prompt that came as the text of a command; the SDK leaves it out as isMeta",
}
# Results in the ledger as messages of tools: their call is nowhere, or has a result already.
LOOSE_RESULTS = {
    Result("toolu_gone", "late", is_error=False): "its call is not in the file",
    Result("toolu_p1", "again", is_error=False): "a second result of a call",
}
# Messages with other words.
OTHER_WORDS = {
    "bab39862-4f0b-409d-9354-c480f7723a7a": "on a line that is glued to another: the SDK reads neither of the two",
}


def files() -> list[Path]:
    """Every session file of Claude Code that is here; files of subagents go with their sessions."""
    fixtures = sorted(SHARED.glob("fixtures/claude*"))
    golden = sorted(GOLDEN.glob("claude-code/*/source/**/*.jsonl"))
    found = [path for folder in [*fixtures, SHARED / "corpus/claude-code"] for path in sorted(folder.rglob("*"))]
    named = [path for path in found if path.suffix == ".jsonl" or path.name == "raw_transcript"]
    return [path for path in golden + named if path.is_file() and "subagents" not in path.parts]


FILES = files()


@cache
def judged() -> dict[Path, ClaudeSession]:
    """What the SDK makes of all files, in one process."""
    return dict(zip(FILES, claude_sessions(FILES), strict=True))


def whole(messages: tuple[Message, ...]) -> list[Message]:
    """The messages of the API, of which the SDK lists each line by itself; those that only bring results left out."""
    places: dict[str, int] = {}
    found: list[Message] = []
    for message in messages:
        if message.api_id in places:
            place = places[message.api_id]
            found[place] = _joined(found[place], message)
        elif message.text or not message.results:
            if message.api_id is not None:
                places[message.api_id] = len(found)
            found.append(message)
    return found


def _joined(one: Message, other: Message) -> Message:
    text, thinking = (
        "\n".join(part for part in parts if part) for parts in ((one.text, other.text), (one.thinking, other.thinking))
    )
    return Message(one.role, text, thinking, one.calls + other.calls, id=one.id, api_id=one.api_id)


def queued_prompts(path: Path) -> set[str | None]:
    """The ids of attachments, which the SDK does not list: prompts that were queued while the agent worked."""
    return {line.get("uuid") for line in _lines(path) if line.get("type") == "attachment"}


def is_cut_by_damage(path: Path, first: str | None) -> bool:
    """Whether the SDK's first message follows a line that is not JSON: it reads nothing before that."""
    lines = _lines(path)
    parents = {line["uuid"]: line.get("parentUuid") for line in lines if "uuid" in line}
    while first is not None and parents.get(first) in parents:
        first = parents[first]
    return first in parents and parents[first] is not None


def _lines(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in path.read_bytes().splitlines():
        with suppress(ValueError):
            value = json.loads(line)
            found += [value] if isinstance(value, dict) else []
    return found


def check_chain(ledger: Ledger, label: str, theirs: tuple[Message, ...], path: Path) -> None:
    """What the SDK lists is in our thread, in its order, word for word; and what we have besides is context."""
    said = {_name(one): one for one in thread(ledger, label) if one.role != "results"}
    wanted = whole(theirs)
    assert {one.id for one in wanted} <= said.keys()
    assert [name for name in said if name in {one.id for one in wanted}] == _in_our_order(wanted, said)
    for message in wanted:
        check_message(said[message.id], message)
    check_results(ledger, label, theirs)
    names = list(said)
    begin = names.index(wanted[0].id) if wanted and is_cut_by_damage(path, wanted[0].id) else 0
    late = {name: said[name] for name in names[begin:]}
    check_rest(ledger, late, {one.id for one in wanted} | queued_prompts(path))


def _name(message: Message) -> str | None:
    """The line's own id: a part of a line has the line's id and a number."""
    return message.id and message.id.partition(":")[0]


def _in_our_order(wanted: list[Message], said: dict[str | None, Message]) -> list[str | None]:
    """The SDK's order, but for what a compaction kept: it follows the summary there, and stays in its place here."""
    places = {name: place for place, name in enumerate(said)}
    summary = next((one.id for one in wanted if said[one.id].role == "compaction"), None)
    kept = [one.id for one in wanted if summary is not None and places[one.id] < places[summary]]
    return kept + [one.id for one in wanted if one.id not in kept]


def check_message(ours: Message, theirs: Message) -> None:
    """The same message; a compaction's summary is a user's message there."""
    assert ours.role == theirs.role or (ours.role, theirs.role) == ("compaction", "user")
    assert (ours.thinking, ours.calls) == (theirs.thinking, theirs.calls)
    assert (ours.text == theirs.text) != (theirs.id in OTHER_WORDS)


def check_results(ledger: Ledger, label: str, theirs: tuple[Message, ...]) -> None:
    """Each call has the result that it has there."""
    wanted = Counter(result for one in theirs for result in one.results if result not in LOOSE_RESULTS)
    called = {call.id for one in theirs for call in one.calls}
    found = Counter(result for one in thread(ledger, label) for result in one.results if result.call_id in called)
    assert found == wanted


def check_rest(ledger: Ledger, said: dict[str | None, Message], listed: set[str | None]) -> None:
    """What the SDK does not list: context, results without calls, and everything before the last compaction."""
    sql = "SELECT native_id FROM messages WHERE source IN ('context', 'event') OR role IN ('system', 'tool')"
    beside = {str(row[0]).partition(":")[0] for row in asked(ledger, sql)}
    names = list(said)
    begin = max((place for place, name in enumerate(names) if said[name].role == "compaction"), default=-1)
    rest = [said[name] for name in names[begin + 1 :] if name not in listed and name not in beside]
    assert [one for one in rest if one.text not in OURS_ONLY] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-3:]))
def test_a_session_says_the_same_to_the_sdk_and_to_us(path: Path) -> None:
    session = judged()[path]
    if path.name in NOT_LISTED:
        assert not [one for one in session.messages if one.text]
        pytest.skip(f"NOT JUDGED: {NOT_LISTED[path.name]}")
    assert session.error is None
    folder = path.with_suffix("")
    with synced(path, *([folder] if folder.is_dir() else [])) as ledger:
        if not session.messages:
            assert not asked(ledger, "SELECT 1 FROM messages")  # 1.0 writes files with a line `summary` and no more
            return
        heads = {label: {_name(one) for one in thread(ledger, label)} for label in labels_of(ledger, path)}
        ids = {one.id for one in session.messages}
        label = max(heads, key=lambda label: len(heads[label] & ids))  # a file may have lines of other sessions, too
        check_chain(ledger, label, session.messages, path)
        for agent, messages in session.subagents.items():
            check_chain(ledger, f"{label}/agent-{agent}", messages, path)


def test_the_check_notices_what_differs(tmp_path: Path) -> None:
    path = next(path for path in FILES if path.name.startswith("382ee51c") and path.is_relative_to(GOLDEN))
    theirs = judged()[path].messages
    asked_at = next(place for place, one in enumerate(theirs) if one.calls)
    call = theirs[asked_at].calls[0]
    wrong: list[tuple[Message, ...]] = [
        (*theirs[:2], *theirs[3:]),
        (theirs[0], *reversed(theirs[1:])),
        (*theirs[:-1], _with(theirs[-1], text="other words")),
        (
            *theirs[:asked_at],
            _with(theirs[asked_at], call=Call(call.id, "Other", call.arguments)),
            *theirs[asked_at + 1 :],
        ),
        (*theirs, Message("user", results=(Result(call.id, "twice", is_error=False),))),
    ]
    with synced(path) as ledger:
        (label,) = labels_of(ledger, path)
        check_chain(ledger, label, theirs, path)
        for messages in wrong:
            with pytest.raises(AssertionError):
                check_chain(ledger, label, messages, path)


def _with(message: Message, text: str | None = None, call: Call | None = None) -> Message:
    calls = message.calls if call is None else (call, *message.calls[1:])
    words = message.text if text is None else text
    return Message(message.role, words, message.thinking, calls, message.results, message.id, message.api_id)
