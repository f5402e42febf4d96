"""The files of a session folder, read and sorted: session, tools, context, messages with their parts, artifacts."""

import math
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from agents_ledger.model.lines import values
from agents_ledger.model.steps import At, Problem

_MESSAGE = re.compile(r"([^/]+)/(?:(message)\.json|part/([^/]+)\.json|artifact/([^/]+))", re.DOTALL)
_ALPHABET = {letter: at for at, letter in enumerate("0123456789ABCDEFGHJKMNPQRSTVWXYZ")}
_ULID_LENGTH, _TIME_LENGTH = 26, 10
_FACT_BYTES = 16_384  # more than this is no small fact; it stays in the evidence
_LIMIT = 2**53  # what JavaScript counts exactly


class Part(Struct):
    """One file of a message: a text, a tool call, a marker."""

    id: str
    file: str  # the name that its record was given with
    value: dict[str, Any]
    record: bytes

    def start(self) -> int | None:
        """When it began, as it says itself."""
        state = mapping(self.value.get("state"))
        time = mapping(state.get("time")) or mapping(self.value.get("time"))
        return moment(time.get("start")) or moment(state.get("suspendedAt"))

    def order(self) -> tuple[int, str]:
        """Its place among the others: ids of one millisecond are not in order, and markers have no time."""
        start = self.start()
        return (ulid_time(self.id) or 0 if start is None else start), self.id


class Message(Struct):
    """One exchange: the prompt, and all that came of it."""

    id: str
    file: str = ""  # the name of its message.json
    value: dict[str, Any] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)

    def order(self) -> tuple[int, str]:
        """Its place among the others."""
        return moment(mapping(self.value.get("time")).get("created")) or ulid_time(self.id) or 0, self.id


class Contents(Struct):
    """All files of a session folder."""

    session: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)


def sort_files(files: Mapping[str, bytes], contents: Contents) -> Iterator[At | Problem]:
    """Puts each file where it belongs in `contents`; gives what is wrong with them."""
    messages: dict[str, Message] = {}
    for name, record in files.items():
        found = _MESSAGE.fullmatch(name.replace("\\", "/"))
        if name.endswith(".tmp"):  # half a write: what it was to become is another file
            continue
        if found and found[4] is not None:
            contents.artifacts[f"{found[1]}/artifact/{found[4]}"] = record
        elif found:
            message = messages.setdefault(found[1], Message(found[1]))
            value = yield from _object(name, record)
            if found[2]:
                message.file, message.value = name, value
            elif value:
                message.parts.append(Part(found[3], name, value, record))
        elif name in {"session.json", "tools.json", "context.json"}:
            setattr(contents, name.removesuffix(".json"), (yield from _object(name, record)))
        else:
            yield At(name)
            yield Problem("unknown-entry", f"file {name[:200]}")
    yield from _put_in_order(messages.values(), contents)


def _put_in_order(messages: Iterable[Message], contents: Contents) -> Iterator[At | Problem]:
    """The messages by time; not those whose message.json is not there (yet): files may arrive one by one."""
    for message in sorted(messages, key=Message.order):
        if message.value:
            message.parts.sort(key=Part.order)
            contents.messages.append(message)
        else:
            yield from (At(part.file) for part in message.parts[:1])
            yield Problem("missing-header", f"{message.id}/message.json")


def _object(name: str, record: bytes) -> Generator[At | Problem, None, dict[str, Any]]:
    """The JSON object of a file: the first one, where two writers left two; empty if there is none."""
    result: dict[str, Any] | None = None
    for value in values(record):
        if isinstance(value, Problem):
            yield At(name)
            yield Problem(value.code, f"{name[:200]}: {value.detail}")
        elif result is None and isinstance(value, dict):
            result = value
        elif result is None:
            yield At(name)
            yield Problem("not-an-object", name[:200])
    return result or {}


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """The value if it is a text with something in it."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int | None:
    """The value if it is a number that counts something."""
    if isinstance(value, float) and math.isfinite(value):
        value = round(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LIMIT else None


def moment(value: Any) -> int | None:
    """The value if it is a time in Unix ms."""
    return count(value) or None


def is_small(value: Any) -> bool:
    """Whether a value can be told as a fact beside the content: something, writable as JSON, and short."""
    if value is None:
        return False
    try:
        return len(msgspec.json.encode(value)) <= _FACT_BYTES
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, TypeError):
        return False


def ulid_time(ulid: str) -> int | None:
    """The Unix ms that an id begins with."""
    if len(ulid) != _ULID_LENGTH:
        return None
    time = 0
    for letter in ulid[:_TIME_LENGTH].upper():
        if letter not in _ALPHABET:
            return None
        time = time * 32 + _ALPHABET[letter]
    return time
