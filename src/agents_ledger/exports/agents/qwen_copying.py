"""A chat of Qwen Code up to a turn, under a new session id: the lines of its chain as they are, nothing else."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.model.writing import Fork, Line, Origin


class _Link(Struct, gc=False, rename="camel"):
    """What of a line makes the chain."""

    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    is_sidechain: bool | None = None


_decode = msgspec.json.Decoder(_Link).decode


def again(origin: Origin, fork: Fork) -> Iterator[Line] | None:
    """The lines that Qwen Code needs to be where it was; None if the chain is not whole, or a subagent's."""
    places: dict[str, int] = {}
    parents: dict[str, str | None] = {}
    link = _Link()
    for place, record in origin.records():
        if place > origin.leaf:
            break
        link = _link(record)
        if link.uuid is not None:
            places[link.uuid], parents[link.uuid] = place, link.parent_uuid
    wanted = None if link.is_sidechain else _chain(link.uuid, parents)
    return None if wanted is None else _copied(origin, fork, {places[name] for name in wanted})


def _link(record: bytes) -> _Link:
    try:
        return _decode(record)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _Link()  # Qwen Code does not read it either


def _chain(last: str | None, parents: dict[str, str | None]) -> set[str] | None:
    """The lines that lead to the last one."""
    found: set[str] = set()
    name = last
    while name is not None and name in parents and name not in found:
        found.add(name)
        name = parents[name]
    return found if found and name is None else None


def _copied(origin: Origin, fork: Fork, wanted: set[int]) -> Iterator[Line]:
    for place, record in origin.records():
        if place > origin.leaf:
            return
        if place in wanted:
            yield Line(_moved(record, fork.session))


def _moved(record: bytes, session: str) -> bytes:
    """A line under another session's id, as a rule with no other byte of it changed."""
    was, becomes = (b'"sessionId":' + msgspec.json.encode(name) for name in (_link(record).session_id, session))
    if record.count(was) == 1:
        return record.replace(was, becomes)
    value: dict[str, Any] = msgspec.json.decode(record)
    return msgspec.json.encode({**value, "sessionId": session})
