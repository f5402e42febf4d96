"""Sessions out of rows, files or a document: what is said of each as a whole, its messages in order, their parts."""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from msgspec import Struct, field

from agents_ledger.model.lines import objects, values
from agents_ledger.model.loose import LARGEST, Json, mapping, text
from agents_ledger.model.opencode_ids import is_redacted
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
    is_document: bool = False  # an export: messages and parts stand in their order, and nothing comes later

    def ordered(self) -> list[Message]:
        """The messages in the order of a document; of rows and files in that of OpenCode: by time, then by id."""
        if self.is_document:
            return list(self.messages.values())
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
    """A session as a document. Ids that were redacted say nothing: the document's order does."""
    info = mapping(value.get("info"))
    listed = value.get("messages")
    messages = [mapping(one) for one in listed] if isinstance(listed, list) else []
    session = _of(_known_id(info.get("id")) or _derived_id(info, messages), found)
    assert session is not None, "it has one id or the other"  # noqa: S101
    session.value = {**info, "id": session.id, "parentID": _known_id(info.get("parentID"))}
    session.record, session.is_document = name, True
    names = [_known_id(mapping(message.get("info")).get("id")) for message in messages]
    often = {key for key, times in Counter(names).items() if times > 1}
    for number, (message, given) in enumerate(zip(messages, names, strict=True), 1):
        key = f"message-{number}" if given is None or given in often else given
        told = {"sessionID": session.id, **mapping(message.get("info")), "id": key}
        parts = message.get("parts")
        listed_parts = [mapping(part) for part in parts] if isinstance(parts, list) else []
        session.messages[key] = Message(key, told, name, [Part(part, name) for part in listed_parts])


def _known_id(name: Any) -> str | None:
    """An id, if it still is one."""
    key = text(name)
    return None if key is None or is_redacted(key) else key


def _derived_id(info: Json, messages: list[Json]) -> str:
    """An id for a session that has none any more: by when it began, what it is called, and its first question."""
    first = mapping(messages[0].get("info")) if messages else {}
    parts = messages[0].get("parts") if messages else None
    words = [mapping(part).get("text") for part in parts] if isinstance(parts, list) else []
    told = [info.get("time"), info.get("slug"), info.get("title"), info.get("directory"), first.get("time"), words]
    return f"redacted-{sha256(ascii(told).encode()).hexdigest()[:24]}"


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
