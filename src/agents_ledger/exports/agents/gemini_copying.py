"""A session of Gemini CLI up to a turn, under a new id: the messages that stood in its list then, as they were."""

from collections.abc import Iterator
from typing import Any

import msgspec

from agents_ledger.model.loose import Json, mapping, text
from agents_ledger.model.times import iso
from agents_ledger.model.writing import Fork, Line, Origin, Whole

_GIVEN = "functionResponse"
_decode = msgspec.json.Decoder().decode


def again(origin: Origin, fork: Fork) -> Iterator[Line] | None:
    """The lines that Gemini CLI takes in; None if there is nothing to go on from, or if it was a subagent's."""
    header: Json = {}
    messages: dict[str, Json] = {}
    for place, record in origin.records():
        value = _object(record)
        if place > origin.leaf:
            if _is_list(value) or isinstance(value.get("id"), str):
                messages |= _answering(messages, value)
                break
        elif "sessionId" in value and "projectHash" in value:
            header = value
            messages = _listed(value.get("messages")) or messages
        elif isinstance(value.get("$set"), dict):
            messages = _listed(value["$set"].get("messages", list(messages.values())))
        elif isinstance(value.get("$rewindTo"), str):
            messages = _before(messages, value["$rewindTo"])
        elif isinstance(value.get("id"), str):
            messages[value["id"]] = value  # said again, it says more
    return _copied(header, list(messages.values()), fork)


def again_whole(whole: Whole, fork: Fork) -> Iterator[Line] | None:
    """The same from a document, as sessions were kept until 2026."""
    for record in whole.records.values():
        header = _object(record)
        messages = _listed(header.get("messages"))
        places = [number for number, name in enumerate(messages) if name in whole.of_turn]
        if whole.of_turn <= messages.keys() and places:
            return _copied(header, list(messages.values())[: places[-1] + 1], fork)
    return None


def _is_list(value: Json) -> bool:
    """Whether a record begins the list of messages anew, or takes some of them back."""
    told = value.get("$set")
    return "projectHash" in value or "$rewindTo" in value or (isinstance(told, dict) and "messages" in told)


def _answering(messages: dict[str, Json], value: Json) -> dict[str, Json]:
    """A message that only says what the last one's calls gave: where a list was compressed, they stand behind it."""
    last = next(reversed(messages.values()), {})
    asked = {text(mapping(part.get("functionCall")).get("id")) for part in _parts(last)} - {None}
    given = _gives(value)
    is_answer = bool(given) and all(text(mapping(each).get("id")) in asked for each in given)
    return {value["id"]: value} if is_answer and isinstance(value.get("id"), str) else {}


def _gives(message: Json) -> list[Any]:
    """What tools gave, if a message says nothing else; pictures may stand beside it."""
    parts = _parts(message)
    return [] if any("text" in part for part in parts) else [part[_GIVEN] for part in parts if _GIVEN in part]


def _parts(message: Json) -> list[Json]:
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _copied(header: Json, messages: list[Json], fork: Fork) -> Iterator[Line] | None:
    is_whole = "sessionId" in header and "projectHash" in header and messages
    return _lines(header, messages, fork) if is_whole and header.get("kind") != "subagent" else None


def _lines(header: Json, messages: list[Json], fork: Fork) -> Iterator[Line]:
    at = iso(fork.at)
    told = {name: value for name, value in header.items() if name != "messages"}
    yield Line(msgspec.json.encode({**told, "sessionId": fork.session, "startTime": at, "lastUpdated": at}))
    for number, message in enumerate(messages, 1):
        name = f"{fork.session}/{number}"  # by which it is known again: the session gets another id when it is taken in
        following = messages[number] if number < len(messages) else {}
        is_end = message.get("type") == "gemini" and following.get("type") != "gemini"
        of = str(message["id"]) if is_end and not _gives(following) else None
        yield Line(msgspec.json.encode({**message, "id": name}), name, copy_of=of)


def _object(record: bytes) -> Json:
    try:
        value = _decode(record)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}  # Gemini CLI does not read it either
    return value if isinstance(value, dict) else {}


def _listed(told: Any) -> dict[str, Json]:
    found = told if isinstance(told, list) else []
    return {one["id"]: one for one in found if isinstance(one, dict) and isinstance(one.get("id"), str)}


def _before(messages: dict[str, Json], name: str) -> dict[str, Json]:
    """Those before a message; none, if it is not there."""
    names = list(messages)
    return {each: messages[each] for each in names[: names.index(name) if name in messages else 0]}
