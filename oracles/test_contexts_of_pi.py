"""Our context of every turn and pi's `buildSessionContext` at every entry, on the same files: word for word."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from agents_ledger.ledger import Ledger
from oracles.ours import asked, context_messages, said, spoken, synced
from oracles.readers import PI_JUDGES, Call, Message, PiSession, Result
from oracles.test_against_pi import FILES, NOT_PI, is_pi, judged, named

# Entries after which pi would send something else, and why; each of them must differ.
OTHER_CONTEXT = {
    "2026-03-01T10-00-00-000Z_all-types.jsonl": (
        "a0000019 a000001a a000001b a000001c a000001e a000001f",
        "pi overlooks openclaw's rows `reset` (a new beginning), `leaf` and `appendMode: side`",
    ),
    "fut.jsonl": (
        "cccccccc",
        "an entry behind a broken line, whose parent is nowhere: it follows the one before it, pi begins there",
    ),
}
# The same, where the system prompt is compared, too.
OTHER_SYSTEM = {
    "2026-03-01T10-00-00-000Z_all-types.jsonl": (
        "a0000012 a0000013 a0000014",
        "written by hand: a system prompt of words and of sections, which pi never writes and cuts when it compacts",
    ),
}


class Judged:
    """A session as pi has it, its entries by the names that they have in the ledger."""

    def __init__(self, path: Path, session: PiSession) -> None:
        self.entries = {entry["id"]: entry for entry in named(path, session) if "id" in entry}
        names = dict(zip((one["id"] for one in session.entries if "id" in one), self.entries, strict=True))
        self.contexts = {names[name]: told for name, told in session.contexts.items()}
        self.children: dict[str | None, list[str]] = {}
        for name, entry in self.entries.items():
            self.children.setdefault(entry["parentId"], []).append(name)

    @property
    def leaves(self) -> set[str]:
        """Entries after which there is nothing."""
        return self.entries.keys() - self.children.keys()

    def speaker(self, name: str | None) -> str | None:
        """The entry that spoke last, up to one; a result is part of the answer that called."""
        while name in self.entries and not _speaks(self.entries[name]):
            name = self.entries[name]["parentId"]
        return name if name in self.entries else None

    def told_until(self, name: str) -> list[Message]:
        """What pi would send after the last entry, up to one, that says something; results count, too."""
        while not _speaks(self.entries[name]) and _role(self.entries[name]) != "toolResult":
            if (parent := self.entries[name]["parentId"]) not in self.entries:
                return []
            name = parent
        return self.contexts[name]

    def with_results(self, name: str) -> str:
        """The last of the results that follow an answer."""
        while (rest := self.children.get(name, [])) and _role(self.entries[rest[-1]]) == "toolResult":
            name = rest[-1]
        return name


def _role(entry: Any) -> str | None:
    return entry["message"].get("role") if entry["type"] == "message" else None


def _speaks(entry: Any) -> bool:
    if entry["type"] == "message":
        return _role(entry) != "toolResult"
    return entry["type"] in ("custom_message", "compaction") or bool(entry.get("summary"))


def contexts(ledger: Ledger) -> Iterator[tuple[str, list[Message], bool]]:
    """What an agent would see after each message of each turn, and whether it is the turn's last.

    What was put before the model around a compaction is in the compaction's turn, which is seen as a whole.
    """
    for (turn_id,) in asked(ledger, "SELECT id FROM turns"):
        record, context = ledger.get(turn_id), ledger.context(turn_id)
        told = [*spoken(context.system, []), *context_messages(context)]
        own = [one.id or "" for one in said(record) if one.role != "results"]
        for number, name in enumerate(own[:-1] if record.compaction is None else ()):
            later = set(own[number + 1 :])
            yield name, list(takewhile(lambda one: one.id not in later, told)), False  # noqa: B023 - it is used up here
        yield own[-1], told, True


def _words(messages: Iterable[Message], *, has_system: bool = True) -> list[tuple[Any, ...]]:
    """Who says, thinks and calls what, in order; the system prompt, which the last one is, first."""
    told = [(_name(one), one.text, one.thinking, one.calls) for one in messages]
    system = [one for one in told if one[0] == "system" and has_system]
    return system[-1:] + [one for one in told if one[0] not in ("system", "result")]


def _name(message: Message) -> str:
    names = {"toolResult": "result", "results": "result", "compactionSummary": "summary"}
    return names.get(message.role, message.role)


def results(messages: Iterable[Message]) -> Counter[Result]:
    """The results among messages."""
    return Counter(result for message in messages for result in message.results)


@pytest.mark.parametrize("judge", PI_JUDGES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_context_after_any_message_is_what_pi_would_send(path: Path, judge: str) -> None:
    session = judged(judge)[path]
    if not is_pi(path, session):
        pytest.skip(f"NOT JUDGED: {NOT_PI[path.name]}")
    theirs, has_system = Judged(path, session), judge != "pi"  # 0.73 has no system prompts in its files
    ends: set[str | None] = {None}  # before anybody has spoken
    other = set()
    with synced(path) as ledger:
        for name, ours, is_end in contexts(ledger):
            wanted = theirs.contexts[theirs.with_results(name) if is_end else name]
            is_same = _words(ours, has_system=has_system) == _words(wanted, has_system=has_system)
            if not is_same or (is_end and results(ours) != results(wanted)):
                other.add(name)
            if is_end:
                ends.add(name)
    tables = [OTHER_CONTEXT, OTHER_SYSTEM] if has_system else [OTHER_CONTEXT]
    assert other == {name for table in tables for name in table.get(path.name, ("", ""))[0].split()}
    assert {theirs.speaker(leaf) for leaf in theirs.leaves} <= ends
    assert all(theirs.contexts[leaf] == theirs.told_until(leaf) for leaf in theirs.leaves)


def test_the_comparison_notices_what_differs() -> None:
    said_so = [Message("user", "a"), Message("assistant", "b", thinking="hm", calls=(Call("1", "read", {}),))]
    others = [
        said_so[:1],
        said_so[::-1],
        [Message("system", "s"), *said_so],
        [Message("assistant", "a"), said_so[1]],
        [Message("user", "a b"), said_so[1]],
        [said_so[0], Message("assistant", "b", calls=said_so[1].calls)],
        [said_so[0], Message("assistant", "b", thinking="hm")],
    ]
    assert all(_words(other) != _words(said_so) for other in others)
