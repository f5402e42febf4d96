"""A session of OpenCode up to a turn, under a new id: its messages and parts as they were, in a document to import."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from agents_ledger.exports.agents.opencode_document import ERRORS, Chosen, Rule, fits, taken_in
from agents_ledger.model.loose import Json, mapping, text
from agents_ledger.model.opencode_ids import own_id
from agents_ledger.model.opencode_sessions import Message, Session, moment, sessions_of
from agents_ledger.model.steps import Problem
from agents_ledger.model.texts import storable
from agents_ledger.model.writing import Fork, Line, Whole

_FORKED = re.compile(r"(.+) \(fork #(\d{1,6})\)", re.DOTALL)
_KEPT: dict[str, Any] = {"agent": str, "model": Chosen, "permission": list[Rule], "metadata": dict[str, Any]}
_NO_MODEL = {"providerID": "unknown", "modelID": "unknown"}
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def again(whole: Whole, fork: Fork) -> Iterator[Line] | None:
    """The document; None if not all of it is here, or if it is not what OpenCode takes in."""
    found = list(sessions_of(dict(whole.records)))
    if any(isinstance(each, Problem) for each in found) or any(map(_is_blank, whole.records.items())):
        return None  # OpenCode does not read such records either
    for session in found:
        if isinstance(session, Session) and session.value is not None:
            messages = session.ordered()
            last = _last(messages, whole.of_turn)
            if last is not None:
                return _document(session.value, messages, last, fork)
    return None


def _is_blank(named: tuple[str, bytes]) -> bool:
    """Whether a message or a part says nothing at all; before the data of a row stand its columns."""
    name, record = named
    table, _, key = name.partition("\n")
    return table not in ("session", "todo") and not (record.partition(b"\n")[2] if key else record).strip()


def _last(messages: list[Message], of_turn: frozenset[str]) -> int | None:
    """Which message ends a turn; None if what was said in it is not (all) there."""
    missing, last = set(of_turn), None
    for number, message in enumerate(messages):
        names = {message.id, *(str(part.value.get("id")) for part in message.parts)}
        if names & missing:
            missing -= names
            last = number
    return None if missing else last


def _document(told: Json, messages: list[Message], last: int, fork: Fork) -> Iterator[Line] | None:
    following = messages[last + 1] if last + 1 < len(messages) else None
    copying = _Copying(fork, None if following is None else moment(following.value, "created"))
    lines = [Line(b'{"info": ' + msgspec.json.encode(_info(told, fork)) + b',\n"messages": [')]
    for number, message in enumerate(messages[: last + 1]):
        copy = copying.message(message)
        data = taken_in(copy)
        if data is None:
            return None
        is_end = number == last or messages[number + 1].value.get("role") != "assistant"
        was = message.id if is_end else None
        lines.append(Line(b"," + data if number else data, copy["info"]["id"], copy_of=was))
    return iter([*lines, Line(b"]}")])


def _info(told: Json, fork: Fork) -> Json:
    """What is said of the session as a whole: what it may do and with which model, but not what it has cost."""
    kept = {name: told[name] for name, kind in _KEPT.items() if name in told and fits(told[name], kind)}
    named = storable(text(told.get("title")) or "Session")
    forked = _FORKED.fullmatch(named)
    title = f"{named} (fork #1)" if forked is None else f"{forked[1]} (fork #{int(forked[2]) + 1})"  # as it does itself
    return {
        "id": fork.session,
        "slug": storable(text(told.get("slug")) or fork.session[-8:].lower()),
        "projectID": "global",
        "directory": fork.cwd,
        "title": title,
        "version": storable(text(told.get("version")) or "unknown"),
        "time": {"created": fork.at, "updated": fork.at},
        **kept,
    }


class _Copying:
    """Gives messages and parts new ids, wherever they are named."""

    def __init__(self, fork: Fork, until: int | None) -> None:
        self._fork = fork
        self._until = until  # when the session went on: what was cleared later is still there
        self._count = 0
        self._names: dict[str, str] = {}
        self._asked: str | None = None  # the last question
        self._model: Json = _NO_MODEL

    def message(self, message: Message) -> Json:
        """A message with its parts."""
        name = self._names[message.id] = self._new("msg")
        info = _told(message.value)
        info = self._answer(info) if info.get("role") == "assistant" else self._question(info, name)
        parts = [self._part(_told(part.value), info, name) for part in message.parts]
        return {"info": {**info, "id": name, "sessionID": self._fork.session}, "parts": parts}

    def _question(self, info: Json, name: str) -> Json:
        self._asked = name
        return {"agent": "build", "model": self._model, **info}  # not said in 2025

    def _answer(self, info: Json) -> Json:
        cwd = self._fork.cwd
        asked = info.get("parentID")
        info = {
            "mode": "build",
            "agent": info.get("mode") or "build",
            "path": {"cwd": cwd, "root": cwd},
            "cost": 0,
            "tokens": _NO_TOKENS,
            **info,
            "parentID": self._asked if asked is None else self._named(asked),
        }
        self._model = {name: info.get(name) for name in _NO_MODEL}
        return {**info, "error": _error(info["error"])} if "error" in info else info

    def _part(self, part: Json, info: Json, message: str) -> Json:
        of = {"id": self._new("prt"), "messageID": message, "sessionID": self._fork.session}
        if part.get("type") == "reasoning":
            part = {"time": {"start": mapping(info.get("time")).get("created")}, **part}
        elif part.get("type") == "tool":
            part = {**part, "state": self._state(mapping(part.get("state")), of)}
        elif part.get("type") == "compaction" and "tail_start_id" in part:
            part = {**part, "tail_start_id": self._named(part["tail_start_id"])}
        return {**part, **of}

    def _state(self, state: Json, of: Json) -> Json:
        state = _told(state)
        time, files = mapping(state.get("time")), state.get("attachments")
        cleared = time.get("compacted")
        if self._until is not None and isinstance(cleared, int) and cleared >= self._until:
            state["time"] = {name: value for name, value in time.items() if name != "compacted"}
        if state.get("status") == "completed":
            state = {"title": "", "metadata": {}, **state}
        if isinstance(files, list):
            state["attachments"] = [{**_told(mapping(file)), **of, "id": self._new("prt")} for file in files]
        return state

    def _named(self, name: Any) -> str | None:
        return self._names.get(name) if isinstance(name, str) else None

    def _new(self, kind: str) -> str:
        """A new id, greater than the last one: OpenCode sorts by them."""
        self._count += 1
        return own_id(kind, self._fork.session, self._fork.at, self._count)


def _told(value: Json) -> Json:
    """What is said: nothing is not."""
    return {name: each for name, each in value.items() if each is not None}


def _error(told: Any) -> Json:
    """An error of one of OpenCode's own kinds; else one that it does not know."""
    error = mapping(told)
    needed, data = ERRORS.get(str(error.get("name"))), mapping(error.get("data"))
    if needed is not None and all(isinstance(data.get(name), kind) for name, kind in needed.items()):
        return error
    words = text(data.get("message")) or text(error.get("message")) or text(error.get("name")) or "error"
    return {"name": "UnknownError", "data": {"message": words}}
