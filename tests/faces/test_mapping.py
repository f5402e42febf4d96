"""Nexus → AIX → Mnemonic: seed 002's field mapping, column by column, from Nexus's own files (docs/words.md has it)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agents_ledger.model.times import from_iso
from tests.faces.conftest import Asked, value
from tests.faces.test_words import CALLS, MESSAGES, SESSIONS
from tests.faces.words import Word, words

Found = list[tuple[str, Any]]  # the key of a row, and what the file says
TABLES = {
    SESSIONS: ("sessions", "agent_sessions"),
    MESSAGES: ("messages", "agent_messages"),
    CALLS: ("tool_calls", "agent_tool_calls"),
}
MAPPED = [
    pytest.param(heading, word, id=f"{heading.split(', ')[0].split()[-1]}-{word.names['Nexus']}")
    for heading in TABLES
    for word in words(heading)
    if "Nexus" in word.names
]


def entries(asked: Asked) -> Iterator[dict[str, Any]]:
    for file in sorted((asked.sources / "pi/nexus-extended").rglob("nx-[1c]*.jsonl")):
        yield from map(json.loads, file.read_text("utf-8").splitlines())


def sources(asked: Asked, heading: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Nexus's own rows: the key of each in the other systems, and its fields."""
    if heading == SESSIONS:
        [index] = (asked.sources / "pi/nexus-extended").rglob("sessions.json")
        for row in json.loads(index.read_text("utf-8")).values():
            call = row.get("toolCallId")
            yield f"task-{call}" if call else row["sessionId"], row
        return
    said = [entry for entry in entries(asked) if "message" in entry and not _brings_results(entry["message"])]
    if heading == CALLS:
        yield from ((call["id"], call) for entry in said for call in entry.get("toolCalls", ()))
    else:
        yield from ((entry["uuid"], entry) for entry in said)


def field(row: dict[str, Any], path: str) -> Any:
    """A field as Nexus writes it, in the type that the others have."""
    for name in path.split("/"):
        row = row.get(name) if isinstance(row, dict) else None  # type: ignore[assignment]
    return row


# seed 000's rule for the ids of subagents
CHILDREN = {"nx-child": "task-task_abc", "nx-embedded": "task-t-3"}


def expected(name: str, told: Any, key: str) -> Any:
    """What a field must have become."""
    if (name, key) == ("status", "t-2"):
        return "completed"  # its result came later
    if name == "message/content":
        return "\n".join(part["text"] for part in told if part["type"] == "text")
    if name == "timestamp":
        return from_iso(told)
    if name == "project":
        return told.rpartition("/")[2]
    return int(told) if isinstance(told, bool) else CHILDREN.get(str(told), told)


@pytest.mark.parametrize(("heading", "word"), MAPPED)
def test_a_field_of_nexus_is_in_aix_and_in_mnemonic(asked: Asked, heading: str, word: Word) -> None:
    name = word.names["Nexus"]
    told = [(key, field(row, name)) for key, row in sources(asked, heading)]
    told = [(key, given) for key, given in told if given is not None]
    assert told, "the files say nothing about it"
    for system, table in zip(("AIX", "Mnemonic"), TABLES[heading], strict=True):
        face = asked.face(system.lower(), table)
        for key, given in told:
            sql = f"SELECT {word.names[system]} AS found FROM {face} WHERE id = ?"  # noqa: S608
            found = [value(row["found"]) for row in asked.rows(sql, key)]
            assert expected(name, given, key) in found, (system, key)


def _brings_results(message: dict[str, Any]) -> bool:
    """Whether an entry only brings results of tools: it is no message."""
    return message["role"] == "user" and not any(part["type"] == "text" for part in message["content"])
