"""A rollout up to a turn, under a new thread id: its records as they are, those of its origin included."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.formats.codex.items import TurnCount
from agents_ledger.model.lines import objects
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
_GLUED = re.compile(rb"\}[ \t\r,]*+\{")  # perhaps: it may also stand in a text


class _Payload(Struct, gc=False):
    type: str | None = None


class _Envelope(Struct, gc=False):
    type: str | None = None
    ordinal: int | None = None
    payload: _Payload | None = None


class _Record(Struct, gc=False):
    """A record, and where its line begins."""

    place: int
    data: bytes
    turn: int = 0  # of several records on one line: how many turns have begun there


_decode = msgspec.json.Decoder(_Envelope).decode


def again(origin: Origin, fork: Fork) -> Iterator[Line] | None:
    """The records that Codex needs to be where it was.

    None for files that it does not read any more (before 0.40), and if the turn is part of a line that cannot be cut.
    """
    records = _records(origin)
    first = next(records, None)
    if first is None or _envelope(first.data).type != "session_meta" or _is_uncut(origin):
        return None
    meta = msgspec.json.decode(first.data)
    return _copied(origin, fork, meta) if isinstance(meta.get("payload"), dict) else None


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
    last_turn = _last_turn(origin)
    for index, record in enumerate(_records(origin)):
        if index == 0:
            continue
        if record.place > origin.leaf:
            found = _envelope(record.data)
            kind = found.payload.type if found.payload is not None else None
            if found.type != "token_usage_record" and not (found.type == "event_msg" and kind in _ENDING):
                return
            yield record.data
            if kind in _ENDS:
                return
        elif record.place < origin.leaf or record.turn <= last_turn:
            yield record.data
        else:
            return  # it stands on the turn's last line, and belongs to the next turn


def _last_turn(origin: Origin) -> int:
    """The turn's number on the line where it ends."""
    return 0 if origin.start < origin.leaf else 1


def _is_uncut(origin: Origin) -> bool:
    """Whether the turn begins on its last line, and others do as well: which of them it is, is not known."""
    if _last_turn(origin) == 0:
        return False
    return any(record.place == origin.leaf and record.turn > 1 for record in _records(origin))


def _records(origin: Origin) -> Iterator[_Record]:
    """The records, one each. Codex reads none of those that stand together on one line."""
    for place, line in origin.records():
        if _GLUED.search(line) is None or _is_whole(line):
            yield _Record(place, line)
            continue
        turns = TurnCount()
        for value in objects(line):
            if isinstance(value, dict):
                yield _Record(place, _encoded(value), turns.with_record(value))


def _is_whole(line: bytes) -> bool:
    try:
        _decode(line)
    except msgspec.ValidationError:
        return True
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return True


def _encoded(value: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(value)
    except ValueError:  # half a character
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _inherited(origin: Origin, base: dict[str, Any], depth: int) -> Iterator[bytes]:
    """The records that a fork by reference begins with, those of its origin's origin first."""
    thread, until = base.get("thread_id"), base.get("end_ordinal_exclusive")
    other = origin.base(thread) if isinstance(thread, str) and depth < _BASES else None
    if other is None or not isinstance(until, int):
        return
    for index, record in enumerate(_records(other)):
        if index == 0:
            further = msgspec.json.decode(record.data).get("payload", {}).get("history_base")
            if isinstance(further, dict):
                end = min(until, further.get("end_ordinal_exclusive", until))
                yield from _inherited(other, {**further, "end_ordinal_exclusive": end}, depth + 1)
            continue
        if (_envelope(record.data).ordinal or 0) >= until:
            return
        yield record.data


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
