"""Sessions out of rows, files or a document: what is said of each as a whole, its messages in order, their parts."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from agents_ledger.model.lines import objects, values
from agents_ledger.model.loose import LARGEST, Json, mapping, text
from agents_ledger.model.steps import At, Event, Problem

_COLUMNS = {"project_id": "projectID", "workspace_id": "workspaceID", "parent_id": "parentID"}
_JSON = ("revert", "permission", "metadata", "model")  # columns that hold JSON


class Part(Struct):
    """A part of a message, and the record that it was read from."""

    value: Json
    record: str


class Message(Struct):
    """A message with its parts."""

    id: str
    value: Json
    record: str
    parts: list[Part] = field(default_factory=list)


class Session(Struct):
    """Everything that is known of one session."""

    id: str
    value: Json | None = None  # none: only what was said in it is here
    record: str = ""
    messages: dict[str, Message] = field(default_factory=dict)
    parts: dict[str, list[Part]] = field(default_factory=dict)  # by message
    todos: list[Json] = field(default_factory=list)

    def ordered(self) -> list[Message]:
        """The messages in the order in which OpenCode tells them: by time, then by id."""
        for message in self.messages.values():
            message.parts = sorted(self.parts.get(message.id, []), key=lambda part: text(part.value.get("id")) or "")
        return sorted(self.messages.values(), key=lambda one: (moment(one.value, "created") or 0, one.id))


def sessions_of(records: dict[str, bytes]) -> Iterator[Event | Session]:
    """The sessions of some records, by the names of these, and what is wrong with them."""
    found: dict[str, Session] = {}
    for name, record in records.items():
        for problem in _sort(name, record, found):
            yield At(name)
            yield problem
    yield from found.values()


def _sort(name: str, record: bytes, found: dict[str, Session]) -> Iterator[Problem]:
    table, _, key = name.partition("\n")
    if key or not name:
        first, _, data = record.partition(b"\n") if key else (b"", b"", record)
        facts = next((one for one in values(first) if isinstance(one, dict)), {}) if key else {}
        if table == "session":
            _session(_from_columns(key, facts), name, found)
            return
        if table == "todo":
            _todo(facts, data, found)
            return
        yield from _values(data, name, found, table, {**facts, "id": key} if key else {})
    else:
        yield from _values(record, name, found, _kind(name), {})


def _values(data: bytes, name: str, found: dict[str, Session], table: str, facts: Json) -> Iterator[Problem]:
    for value in objects(data):
        if isinstance(value, Problem):
            yield value
        elif table == "message":
            _message(_named(value, facts), name, found)
        elif table == "part":
            _part(_named(value, facts), name, found)
        elif table in ("session", "info"):
            _session(value, name, found)
        else:
            _export(value, name, found)


def _kind(name: str) -> str:
    """What a file of the tree is, by its path below `storage`."""
    folders = name.replace("\\", "/").split("/")
    return next((one for one in folders[:2][::-1] if one in ("message", "part", "info", "session")), "session")


def _named(value: Json, facts: Json) -> Json:
    """A row's data, with the ids that stand in its columns."""
    columns = {"id": "id", "session_id": "sessionID", "message_id": "messageID"}
    return {**value, **{columns[name]: told for name, told in facts.items() if name in columns}}


def _from_columns(key: str, facts: Json) -> Json:
    """A session's row as the document that the older versions wrote."""
    told = {_COLUMNS.get(name, name): value for name, value in facts.items() if not name.startswith("time_")}
    for name in _JSON:
        if isinstance(told.get(name), str):
            told[name] = next((one for one in values(told[name].encode()) if not isinstance(one, Problem)), told[name])
    times = {name.removeprefix("time_"): value for name, value in facts.items() if name.startswith("time_")}
    return {**told, "id": key, "time": times}


def _export(value: Json, name: str, found: dict[str, Session]) -> None:
    info = mapping(value.get("info"))
    _session(info, name, found)
    for message in value["messages"] if isinstance(value.get("messages"), list) else ():
        told = mapping(mapping(message).get("info"))
        _message({"sessionID": info.get("id"), **told}, name, found)
        parts = mapping(message).get("parts")
        for part in parts if isinstance(parts, list) else ():
            _part({"sessionID": info.get("id"), "messageID": told.get("id"), **mapping(part)}, name, found)


def _session(value: Json, name: str, found: dict[str, Session]) -> None:
    session = _of(value.get("id"), found)
    if session is not None:
        session.value, session.record = value, name


def _message(value: Json, name: str, found: dict[str, Session]) -> None:
    session, key = _of(value.get("sessionID"), found), text(value.get("id"))
    if session is not None and key is not None:
        session.messages[key] = Message(key, value, name)


def _part(value: Json, name: str, found: dict[str, Session]) -> None:
    session, message = _of(value.get("sessionID"), found), text(value.get("messageID"))
    if session is not None and message is not None:
        session.parts.setdefault(message, []).append(Part(value, name))


def _todo(facts: Json, data: bytes, found: dict[str, Session]) -> None:
    session = next(iter(found.values()), None)
    if session is not None:
        session.todos.append({"content": data.decode("utf-8", "replace"), **facts})


def _of(name: Any, found: dict[str, Session]) -> Session | None:
    key = text(name)
    return None if key is None else found.setdefault(key, Session(key))


def moment(value: Json, name: str) -> int | None:
    """A time of something, Unix ms."""
    told = mapping(value.get("time")).get(name)
    return int(told) if isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told < LARGEST else None
