"""A session folder up to a turn, under a new session id: its files as they are but for ids, nothing of later turns."""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from agents_ledger.formats.agentuse import writing
from agents_ledger.formats.agentuse.files import Contents, Message, mapping, moment, sort_files, text, ulid_time
from agents_ledger.model.entries import Usage
from agents_ledger.model.ids import derived
from agents_ledger.model.writing import Folder, Fork, Line

AGENT = "agentuse"
Json = dict[str, Any]
_SAME_TIME = 32  # parts of one millisecond that are told apart, and as many messages
_LEFT_BEHIND = ("parentSessionID", "error", "channels", "mock")


def again(folder: Folder, fork: Fork) -> Iterator[Line] | None:
    """The files up to the last one of the turn; None if they are not what AgentUse would go on from there."""
    contents = Contents()
    for _ in sort_files(folder.files, contents):
        continue  # AgentUse passes over files that are broken, too
    kept = _kept(contents, folder.of_turn) if contents.session else None
    if kept is None or not _is_sound(contents, kept):
        return None
    names = _renamed(kept, fork.session)
    return None if names is None else _files(contents, kept, names, folder, fork)


def wrote(session: str, native_id: str) -> str | None:
    """The session, if an id is one that was given here to a step of it."""
    at = ulid_time(native_id)
    is_own = at is not None and any(own_id(at, session, number) == native_id for number in range(2 * _SAME_TIME))
    return session if is_own else None


def own_id(at: int, session: str, number: int = 0) -> str:
    """An id that tells whose it is: it follows from the session and the time."""
    return derived(at, AGENT, session, number)


def _kept(contents: Contents, of_turn: frozenset[str]) -> list[Message] | None:
    """The messages up to the last file of the turn, the last one cut behind it; None if the turn is not here."""
    for at in range(len(contents.messages) - 1, -1, -1):
        message = contents.messages[at]
        parts = [number for number, part in enumerate(message.parts) if part.file in of_turn]
        if parts or message.file in of_turn:
            last = Message(message.id, message.file, message.value, message.parts[: max(parts, default=-1) + 1])
            return [*contents.messages[:at], last]
    return None


def _is_sound(contents: Contents, kept: list[Message]) -> bool:
    """Whether what the model sees is known: after a compaction it is context.json, if that is not of later."""
    is_compacted = any(part.value.get("type") == "compaction" for message in kept for part in message.parts)
    return not is_compacted or _has_context(contents, kept)


def _has_context(contents: Contents, kept: list[Message]) -> bool:
    saved = moment(contents.context.get("updatedAt"))
    behind = [part.order()[0] for message in contents.messages for part in message.parts]
    inside = sum(len(message.parts) for message in kept)
    return bool(contents.context) and (len(behind) == inside or (saved or 0) < sorted(behind)[inside])


def _renamed(kept: list[Message], session: str) -> dict[str, str] | None:
    """New ids by the old ones, in the same order; None if too many are of one millisecond."""
    names: dict[str, str] = {}
    parts = [part.order() for message in kept for part in message.parts]
    for first, things in ((0, parts), (_SAME_TIME, [message.order() for message in kept])):
        for at, same in groupby(sorted(things), key=itemgetter(0)):
            old = [name for _, name in same]
            if len(old) > _SAME_TIME:
                return None
            new = sorted(own_id(at, session, number) for number in range(first, first + len(old)))
            names.update(zip(old, new, strict=True))
    return names


def _files(
    contents: Contents, kept: list[Message], names: dict[str, str], folder: Folder, fork: Fork
) -> Iterator[Line]:
    old = text(contents.session.get("id")) or ""
    rename = _Rename({**names, old: fork.session})
    for message in kept:
        name = names[message.id]
        for part in message.parts:
            yield Line(rename.ids(part.record), names[part.id], file=f"{name}/part/{names[part.id]}.json")
        for file in (file for file in contents.artifacts if file.startswith(f"{message.id}/")):
            yield Line(contents.artifacts[file], file=f"{name}/{file.partition('/')[2]}")
        whole = writing.text_of(_unspent(message))
        yield Line(rename.ids(whole), file=f"{name}/message.json")
    if _has_context(contents, kept):
        yield Line(rename.ids(folder.files["context.json"]), file="context.json")
    yield Line(folder.files.get("tools.json", b'{"tools": []}'), file="tools.json")
    yield Line(writing.text_of(_session(contents.session, fork)), file="session.json")


class _Rename:
    """Puts new ids in the place of old ones, where they are ids or stand in a path; texts stay as they are."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = {old.encode(): new.encode() for old, new in names.items() if old}
        self._field = re.compile(rb'("(?:id|sessionID|messageID)"\s*:\s*")([0-9A-Za-z]{26})(?=")')
        self._path = re.compile(rb"(/)([0-9A-Za-z]{26})(?=[-/])")  # where an output was put

    def ids(self, record: bytes) -> bytes:
        for pattern in (self._field, self._path):
            record = pattern.sub(lambda found: found[1] + self._names.get(found[2], found[2]), record)
        return record


def _unspent(message: Message) -> Json:
    """message.json without what was used: the origin has that, and a resumed run adds to it."""
    answer = {**mapping(message.value.get("assistant")), "cost": 0, "tokens": writing.tokens(Usage())}
    ends = [part.order()[0] for part in message.parts]
    time = mapping(message.value.get("time"))
    done = min([*filter(None, [moment(time.get("completed"))]), *([max(ends)] if ends else [])], default=None)
    return {**message.value, "assistant": answer, "time": {**time, **({} if done is None else {"completed": done})}}


def _session(value: Json, fork: Fork) -> Json:
    """session.json: a subagent's session becomes one of its own."""
    told = {key: each for key, each in value.items() if key not in _LEFT_BEHIND}
    agent = {**mapping(value.get("agent")), "isSubAgent": False}
    time = {"created": fork.at, "updated": fork.at}
    return {**told, "id": fork.session, "agent": agent, "status": "completed", "time": time}
