"""Tool calls: state, result (with what was moved out into an artifact), and the session that a call started."""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Raw, Struct

from agents_ledger.formats.agentuse.files import Part, mapping, moment, text
from agents_ledger.model.entries import CallStatus
from agents_ledger.model.lines import values
from agents_ledger.model.steps import Asked, Problem

_STATUS: dict[Any, CallStatus] = {
    "pending": "pending",
    "running": "running",
    "completed": "completed",
    "error": "failed",
}
_CREATED = re.compile(r"\[SubAgent\] Created session ([0-9A-Z]{26}) for (.+)", re.DOTALL)
_CHILD_KEYS = ("childSessionID", "childSessionId", "subagentSessionID", "sessionID", "sessionId")
_ULID = re.compile(r"[0-9A-Z]{26}")
_DEPTH = 4  # how deep a reference to an artifact may lie


class _State(Struct):
    input: Raw = Raw()
    output: Raw = Raw()


class _Tool(Struct):
    state: _State


_decoder = msgspec.json.Decoder(_Tool)


def asked(part: Part, artifacts: Mapping[str, bytes], child: str | None) -> Asked:
    """The call with all that is known about its outcome."""
    state = mapping(part.value.get("state"))
    time = mapping(state.get("time"))
    raw = _raw(part.record)
    status = state.get("status")
    return Asked(
        tool=text(part.value.get("tool")) or "unknown",
        native_id=text(part.value.get("callID")) or part.id,
        params=_exact(raw.input, state.get("input")),
        result=_result(state.get("output"), raw.output, artifacts),
        error=_words(state.get("error")),
        status=_STATUS.get(status, "pending") if isinstance(status, str) else "pending",
        started_at=moment(time.get("start")) or moment(state.get("suspendedAt")),
        completed_at=moment(time.get("end")),
        spawned=child,
    )


def _raw(record: bytes) -> _State:
    """Input and output byte for byte, where they are proper JSON (msgspec takes a Raw without a look at its texts)."""
    try:
        state = _decoder.decode(record).state
        for raw in filter(bytes, (state.input, state.output)):
            msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _State()
    return state


def _exact(raw: Raw, value: Any) -> Any:
    """The bytes of a value if there are some (a copy: they must not keep the whole record), else the value."""
    return Raw(bytes(raw)) if value is not None and bytes(raw) else value


def _result(output: Any, raw: Raw, artifacts: Mapping[str, bytes]) -> Any:
    """A text as a text, all else as JSON; what was moved out stands beside the reference, as its `content`."""
    if isinstance(output, str) or output is None:
        return output
    if isinstance(output, dict) and output.keys() == {"output"} and isinstance(output["output"], str):
        return output["output"]
    if artifacts and b"tool-output" in bytes(raw):
        return _filled(output, artifacts, _DEPTH)
    return _exact(raw, output)


def _filled(value: Any, artifacts: Mapping[str, bytes], depth: int) -> Any:
    """The value, with the content of the artifacts that it refers to."""
    if not depth:
        return value
    if isinstance(value, list):
        return [_filled(item, artifacts, depth - 1) for item in value]
    if not isinstance(value, dict):
        return value
    path = value.get("path")
    if value.get("kind") == "tool-output" and isinstance(path, str):
        name = "/".join(path.replace("\\", "/").split("/")[-3:])
        return {**value, "content": artifact(name, artifacts[name])} if name in artifacts else value
    return {key: _filled(item, artifacts, depth - 1) for key, item in value.items()}


def artifact(name: str, record: bytes) -> Any:
    """What an artifact holds, without its own header."""
    if name.endswith(".json"):
        found = next((value for value in values(record) if not isinstance(value, Problem)), None)
        if isinstance(found, dict) and "output" in found:
            return found["output"]
    whole = record.decode("utf-8", "replace")
    return whole.partition("\n\n")[2] if whole.startswith("# AgentUse Tool Output Artifact\n") else whole


def _words(error: Any) -> str | None:
    """An error as a text, whatever it is."""
    if error is None or isinstance(error, str):
        return error
    message = mapping(error).get("message")
    return message if isinstance(message, str) else f"an error that is a {type(error).__name__}, not a text"


def children(session: str, parts: Iterable[Part]) -> dict[str, str]:
    """Part id → the session that this call started, where the call or the log says so without doubt."""
    found: dict[str, str] = {}
    calls: list[Part] = []
    created: list[tuple[int, str, str]] = []
    for part in parts:
        kind = part.value.get("type")
        if kind == "tool":
            calls.append(part)
            if child := _named(session, mapping(part.value.get("state"))):
                found[part.id] = child
        elif kind == "log":
            line, at = _CREATED.fullmatch(text(part.value.get("message")) or ""), part.start()
            if line is not None and at is not None:
                created.append((at, line[1], line[2]))
    under_way = _UnderWay(call for call in calls if call.id not in found)
    known = set(found.values())
    for at, child, agent in sorted(created, key=itemgetter(0)):
        name = under_way.only(at, _plain(f"subagent__{agent}"))
        if name is not None and child not in known:
            found[name] = child
            known.add(child)
            under_way.remove(name)
    return found


class _UnderWay:
    """The calls to each agent that are under way, as time goes on."""

    def __init__(self, calls: Iterable[Part]) -> None:
        starts = ((start, call) for call in calls if (start := call.start()) is not None)
        self._coming = deque(sorted(starts, key=itemgetter(0)))
        self._ends: list[tuple[int, str]] = []
        self._tools: dict[str, str] = {}  # call → the name of its tool
        self._calls: dict[str, dict[str, None]] = {}  # tool → its calls

    def only(self, at: int, tool: str) -> str | None:
        """The one call of a tool that is under way; None if there are none or several. Times must not go back."""
        while self._coming and self._coming[0][0] <= at:
            _, call = self._coming.popleft()
            self._tools[call.id] = _plain(call.value.get("tool"))
            self._calls.setdefault(self._tools[call.id], {})[call.id] = None
            end = moment(mapping(mapping(call.value.get("state")).get("time")).get("end"))
            if end is not None:
                heappush(self._ends, (end, call.id))
        while self._ends and self._ends[0][0] < at:
            self.remove(heappop(self._ends)[1])
        found = self._calls.get(tool, {})
        return next(iter(found)) if len(found) == 1 else None

    def remove(self, call: str) -> None:
        """Forget a call."""
        if call in self._tools:
            self._calls[self._tools.pop(call)].pop(call, None)


def _named(session: str, state: dict[str, Any]) -> str | None:
    """The session that a call's state names as its child."""
    places = (state.get("resumePayload"), state.get("metadata"), mapping(state.get("output")).get("metadata"))
    for place in map(mapping, places):
        for key in _CHILD_KEYS:
            child = place.get(key)
            if isinstance(child, str) and _ULID.fullmatch(child) and child != session:
                return child
    return None


def _plain(name: Any) -> str:
    """A tool's name as far as it says which agent: names are rewritten on their way into a tool's name."""
    return re.sub(r"[^a-z0-9]", "_", name.lower()) if isinstance(name, str) else ""
