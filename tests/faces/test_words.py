"""Each column of each face is what docs/words.md says: these tests are made from its tables."""

from typing import Any

import pytest

from agents_ledger.faces import aix, events, mnemonic
from tests.faces.conftest import Asked
from tests.faces.words import Word, words

SESSIONS = "Mnemonic's agent_sessions, AIX's sessions"
MESSAGES = "Mnemonic's agent_messages, AIX's messages"
TURNS = "Mnemonic's agent_turns, AIX's turns"
CALLS = "Mnemonic's agent_tool_calls, AIX's tool_calls"
EVENTS = "The Events Ledger"
# our own tables, as the document says, and how a row of the face is found there
OWN = {
    SESSIONS: "session_ids JOIN sessions ON sessions.label = session_ids.session_label "
    "LEFT JOIN session_details ON session_details.session_label = sessions.label "
    "LEFT JOIN turns ON turns.id = sessions.thread_id "
    "LEFT JOIN tool_calls ON tool_calls.id = sessions.spawn_tool_call_id "
    "JOIN {face} AS f ON f.id = session_ids.id",
    MESSAGES: "messages JOIN turns ON turns.id = messages.turn_id JOIN {face} AS f "
    "ON f.id = coalesce(messages.native_id, messages.id) AND f.timestamp = messages.created_at "
    # (a fork inside a turn has a copy of its first part, with the same ids)
    "AND (SELECT count(*) FROM messages o WHERE coalesce(o.native_id, o.id) = f.id) = 1",
    TURNS: "turns JOIN {face} AS f ON f.id = turns.id",
    CALLS: "tool_calls JOIN turns ON turns.id = tool_calls.turn_id JOIN {face} AS f "
    "ON f.id = coalesce(tool_calls.native_id, tool_calls.id) AND f.started_at = tool_calls.started_at",
    EVENTS: "messages JOIN turns ON turns.id = messages.turn_id "
    "LEFT JOIN sessions ON sessions.label = turns.session_label "
    "LEFT JOIN session_details ON session_details.session_label = sessions.label "
    "JOIN {face} AS f ON f.id = messages.id",
}
FACES: dict[tuple[str, str], tuple[str, type]] = {
    (SESSIONS, "Mnemonic"): ("agent_sessions", mnemonic.AgentSession),
    (MESSAGES, "Mnemonic"): ("agent_messages", mnemonic.AgentMessage),
    (TURNS, "Mnemonic"): ("agent_turns", mnemonic.AgentTurn),
    (CALLS, "Mnemonic"): ("agent_tool_calls", mnemonic.AgentToolCall),
    (SESSIONS, "AIX"): ("sessions", aix.AixSession),
    (MESSAGES, "AIX"): ("messages", aix.AixMessage),
    (TURNS, "AIX"): ("turns", mnemonic.AgentTurn),
    (CALLS, "AIX"): ("tool_calls", mnemonic.AgentToolCall),
    (EVENTS, "Events"): ("events", events.Event),
}
COLUMNS = [
    pytest.param(heading, system, word, id=f"{FACES[heading, system][0]}.{word.of(system)}")
    for heading, system in FACES
    for word in words(heading)
    if system in word.names and word.ours
]


@pytest.mark.parametrize(("heading", "system"), FACES)
def test_the_document_has_every_column_and_no_other(asked: Asked, heading: str, system: str) -> None:
    table, row = FACES[heading, system]
    told = [word.of(system) for word in words(heading) if system in word.names]
    found = asked.rows(f"SELECT * FROM {asked.face(system.lower(), table)}")  # noqa: S608
    assert sorted(told) == sorted(found[0])
    assert list(found[0]) == list(row.__struct_fields__)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("heading", "system", "word"), COLUMNS)
def test_a_column_is_what_the_document_says(asked: Asked, heading: str, system: str, word: Word) -> None:
    face = asked.face(system.lower(), FACES[heading, system][0])
    own = OWN[heading].format(face=face)
    rows = asked.rows(f"SELECT f.{word.of(system)} AS theirs, {word.ours} AS ours FROM {own}")  # noqa: S608
    known = [(row["theirs"], row["ours"]) for row in rows if row["ours"] is not None]
    assert known, "no row says anything about it"
    assert [pair for pair in known if not _agree(word.relation, *pair)] == []


def _agree(relation: str, theirs: Any, ours: Any) -> bool:
    if relation == "end of":
        return bool(theirs) and str(ours).rstrip("/").endswith(theirs)
    if relation == "in":  # flags and what follows from other rows is not in the text
        return theirs is None or isinstance(theirs, int) or "".join(theirs.split()) in "".join(ours.split())
    return bool(theirs == ours)
