"""Any story as a session that Qwen Code resumes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agents_ledger.exports.agents.parts import begun, parts
from agents_ledger.exports.agents.qwen_copying import again
from agents_ledger.model.ids import uuid4, written_id
from agents_ledger.model.retelling import retold
from agents_ledger.model.story import Entry, Result, Story
from agents_ledger.model.times import iso
from agents_ledger.model.writing import Fork, Line, Losses, Native

AGENT = "qwen"
_VERSION = "0.15.10"  # seen to resume what is written here
_SLUG = re.compile(r"[^a-zA-Z0-9]")


def anew(story: Story, fork: Fork, losses: Losses) -> Iterator[Line]:
    """The lines: a compression first, if there was one, then what was said, each line behind the other."""
    chain = _Chain(fork)
    if story.summary is not None:
        summary = story.summary
        yield chain.line(summary.turn_id, "system", summary.at, _compression(summary.text))
    for entry in begun(story, retold(story, AGENT, None, losses)):
        yield chain.line(entry.turn_id, *_record(entry, losses))


class _Chain:
    def __init__(self, fork: Fork) -> None:
        self._fork = fork
        self._last: str | None = None
        self._count = 0

    def line(self, turn_id: str, kind: str, at: int, fields: Mapping[str, Any]) -> Line:
        self._count += 1
        uuid = written_id(self._fork.session, self._count)
        value = {
            "uuid": uuid,
            "parentUuid": self._last,
            "sessionId": self._fork.session,
            "timestamp": iso(at),
            "type": kind,
            "cwd": self._fork.cwd,
            "version": _VERSION,
            **({"gitBranch": self._fork.git_branch} if self._fork.git_branch else {}),
            **fields,
        }
        self._last = uuid
        return Line(msgspec.json.encode(value), uuid, turn_id)


def _record(entry: Entry, losses: Losses) -> tuple[str, int, dict[str, Any]]:
    said = [part for block in entry.blocks for part in parts(block, losses)]
    if entry.role == "assistant":
        return "assistant", entry.at, {"model": entry.model or "unknown", "message": {"role": "model", "parts": said}}
    if entry.role != "tool":
        return "user", entry.at, {"message": {"role": "user", "parts": said}}
    result = next(block for block in entry.blocks if isinstance(block, Result))
    told = {"callId": result.call, "status": "error" if result.is_error else "success"}
    return "tool_result", entry.at, {"message": {"role": "user", "parts": said}, "toolCallResult": told}


def _compression(summary: str) -> dict[str, Any]:
    history = [{"role": "user", "parts": [{"text": summary}]}]
    info = {"originalTokenCount": 0, "newTokenCount": 0, "compressionStatus": 1}
    return {"subtype": "chat_compression", "systemPayload": {"info": info, "compressedHistory": history}}


def _place(environ: Mapping[str, str], home: str) -> str:
    named = environ.get("QWEN_RUNTIME_DIR") or environ.get("QWEN_HOME") or f"{home}/.qwen"
    return f"{named.rstrip('/')}/projects"


NATIVE = Native(
    program="qwen",
    new_session=lambda _at, random: uuid4(random),
    file=lambda fork: f"{_SLUG.sub('-', fork.cwd)}/chats/{fork.session}.jsonl",
    place=_place,
    again=again,
    anew=anew,
    resume=lambda session, _file: ("qwen", "--resume", session),
)
