"""A rollout up to a turn, under a new thread id: its records as they are, those of its origin included."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.model.times import iso
from agents_ledger.model.writing import Fork, Line, Origin

# what Codex writes behind the last item of a turn
_ENDING = frozenset(
    {"token_count", "task_complete", "turn_complete", "turn_aborted", "agent_message", "item_completed"}
)
_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted"})
_NOT_OURS = ("forked_from_id", "forked_from_ordinal_exclusive", "history_base", "subagent_history_start_ordinal")
_PARENTS = ("parent_thread_id", "agent_nickname", "agent_role", "agent_path")
_ORDINAL = re.compile(rb'^(\{"timestamp":"[^"]*","ordinal":)\d+')
_BASES = 100


class _Payload(Struct, gc=False):
    type: str | None = None


class _Envelope(Struct, gc=False):
    type: str | None = None
    ordinal: int | None = None
    payload: _Payload | None = None


_decode = msgspec.json.Decoder(_Envelope).decode


def again(origin: Origin, fork: Fork) -> Iterator[Line] | None:
    """The records that Codex needs to be where it was; None for files that it does not read any more (before 0.40)."""
    for _place, record in origin.records():
        head = _envelope(record)
        if head.type != "session_meta":
            return None
        meta = msgspec.json.decode(record)
        return _copied(origin, fork, meta) if isinstance(meta.get("payload"), dict) else None
    return None


def _copied(origin: Origin, fork: Fork, meta: dict[str, Any]) -> Iterator[Line]:
    yield Line(msgspec.json.encode(_header(meta, fork)))
    old = str(meta["payload"].get("id"))
    base = meta["payload"].get("history_base")
    number = 1 if isinstance(base, dict) else None  # what is put together is counted anew
    if isinstance(base, dict):
        for record in _inherited(origin, base, 0):
            yield Line(_counted(record, number))
            number = (number or 0) + 1
    elif "ordinal" not in meta:
        yield Line(msgspec.json.encode({**meta, "timestamp": iso(fork.at)}))  # as legacy forks repeat their origin's
    for record in _own(origin):
        data = _renamed(record, old, fork.session)
        yield Line(data if number is None else _counted(data, number))
        number = None if number is None else number + 1


def _header(meta: dict[str, Any], fork: Fork) -> dict[str, Any]:
    payload = {key: value for key, value in meta["payload"].items() if key not in (*_NOT_OURS, *_PARENTS)}
    payload.update({"id": fork.session, "timestamp": iso(fork.at), "forked_from_id": meta["payload"].get("id")})
    if "session_id" in payload:
        payload["session_id"] = fork.session
    if not isinstance(payload.get("source"), str):  # a subagent's thread becomes one of its own
        payload.update({"source": "cli", "thread_source": "user"})
    numbered = {"ordinal": 0} if "ordinal" in meta else {}
    return {"timestamp": iso(fork.at), **numbered, "type": "session_meta", "payload": payload}


def _own(origin: Origin) -> Iterator[bytes]:
    """The records behind the header, up to the end of the turn."""
    for index, (place, record) in enumerate(origin.records()):
        if index == 0:
            continue
        if place > origin.leaf:
            found = _envelope(record)
            kind = found.payload.type if found.payload is not None else None
            if found.type != "token_usage_record" and not (found.type == "event_msg" and kind in _ENDING):
                return
            yield record
            if kind in _ENDS:
                return
        else:
            yield record


def _inherited(origin: Origin, base: dict[str, Any], depth: int) -> Iterator[bytes]:
    """The records that a fork by reference begins with, those of its origin's origin first."""
    thread, until = base.get("thread_id"), base.get("end_ordinal_exclusive")
    other = origin.base(thread) if isinstance(thread, str) and depth < _BASES else None
    if other is None or not isinstance(until, int):
        return
    for index, (_place, record) in enumerate(other.records()):
        if index == 0:
            further = msgspec.json.decode(record).get("payload", {}).get("history_base")
            if isinstance(further, dict):
                end = min(until, further.get("end_ordinal_exclusive", until))
                yield from _inherited(other, {**further, "end_ordinal_exclusive": end}, depth + 1)
            continue
        if (_envelope(record).ordinal or 0) >= until:
            return
        yield record


def _counted(record: bytes, number: int | None) -> bytes:
    return _ORDINAL.sub(rb"\g<1>" + str(number).encode(), record, count=1)


def _renamed(record: bytes, old: str, new: str) -> bytes:
    """A record that names its thread names the new one; texts that mention it stay as they are."""
    if old.encode() not in record:
        return record
    for key in ("thread_id", "session_id", "conversation_id"):
        record = record.replace(f'"{key}":"{old}"'.encode(), f'"{key}":"{new}"'.encode())
    return record


def _envelope(record: bytes) -> _Envelope:
    try:
        return _decode(record)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _Envelope()
