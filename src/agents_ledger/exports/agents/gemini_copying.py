"""A session of Gemini CLI up to a turn, under a new id: the messages that stood in its list then, as they were."""

from collections.abc import Iterator
from typing import Any

import msgspec

from agents_ledger.model.times import iso
from agents_ledger.model.writing import Fork, Line, Origin

Json = dict[str, Any]
_decode = msgspec.json.Decoder().decode


def again(origin: Origin, fork: Fork) -> Iterator[Line] | None:
    """The lines that Gemini CLI takes in; None if there is nothing to go on from, or if it was a subagent's."""
    header: Json = {}
    messages: dict[str, Json] = {}
    for place, record in origin.records():
        if place > origin.leaf:
            break
        value = _object(record)
        if "sessionId" in value and "projectHash" in value:
            header = value
            messages = _listed(value.get("messages")) or messages
        elif isinstance(value.get("$set"), dict):
            messages = _listed(value["$set"].get("messages", list(messages.values())))
        elif isinstance(value.get("$rewindTo"), str):
            messages = _before(messages, value["$rewindTo"])
        elif isinstance(value.get("id"), str):
            messages[value["id"]] = value  # said again, it says more
    if not header or not messages or header.get("kind") == "subagent":
        return None
    return _lines(header, list(messages.values()), fork)


def _lines(header: Json, messages: list[Json], fork: Fork) -> Iterator[Line]:
    at = iso(fork.at)
    told = {name: value for name, value in header.items() if name != "messages"}
    yield Line(msgspec.json.encode({**told, "sessionId": fork.session, "startTime": at, "lastUpdated": at}))
    for number, message in enumerate(messages, 1):
        # by which it is known again: the session gets another id when it is taken in
        yield Line(msgspec.json.encode({**message, "id": f"{fork.session}/{number}"}))


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
