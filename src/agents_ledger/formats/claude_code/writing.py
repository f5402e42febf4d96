"""Any story as a transcript that Claude Code resumes."""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from agents_ledger.formats.claude_code.copying import again
from agents_ledger.formats.claude_code.prompts import CONTINUED
from agents_ledger.model.ids import uuid4
from agents_ledger.model.messages_api import content_block
from agents_ledger.model.retelling import retold
from agents_ledger.model.story import Block, Call, Entry, Result, Story, Text
from agents_ledger.model.times import iso
from agents_ledger.model.writing import Fork, Line, Losses, Native

AGENT = "claude-code"
_VERSION = "2.1.325"  # the newest that was seen to resume what is written here
_SLUG = re.compile(r"[^a-zA-Z0-9]")
_SYNTHETIC = "<synthetic>"  # in place of a model: the program said it
_USAGE = {"input_tokens": 0, "output_tokens": 0}


def anew(story: Story, fork: Fork, losses: Losses) -> Iterator[Line]:
    """The lines: a summary first, if there is one, then what was said."""
    chain = _Chain(fork)
    if story.summary is not None:
        yield from chain.compaction(story.summary.text, story.summary.turn_id, story.summary.at)
    for entry in retold(story, AGENT, "anthropic", losses):
        if entry.role == "assistant":
            marks = {"isApiErrorMessage": True} if entry.is_unsent else {}
            message = _answer(entry, chain.next_uuid())
            yield chain.line("assistant", entry.turn_id, entry.at, {"message": message, **marks})
        else:
            yield chain.line("user", entry.turn_id, entry.at, {"message": {"role": "user", "content": _said(entry)}})


class _Chain:
    """Lines one after the other; their ids follow from the session's."""

    def __init__(self, fork: Fork) -> None:
        self._fork = fork
        self._last: str | None = None
        self._count = 0

    def next_uuid(self) -> str:
        self._count += 1
        digest = sha256(f"{self._fork.session}/{self._count}".encode()).digest()
        return uuid4(digest[:16])

    def line(self, kind: str, turn_id: str, at: int, fields: Mapping[str, Any]) -> Line:
        uuid = self.next_uuid()
        value = {
            "parentUuid": self._last,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._fork.cwd,
            "sessionId": self._fork.session,
            "version": _VERSION,
            "gitBranch": self._fork.git_branch or "",
            "type": kind,
            **fields,
            "uuid": uuid,
            "timestamp": iso(at),
        }
        self._last = uuid
        return Line(msgspec.json.encode(value), uuid, turn_id)

    def compaction(self, summary: str, turn_id: str, at: int) -> Iterator[Line]:
        """A boundary and the summary behind it, as Claude Code writes them."""
        about = {"trigger": "manual", "preTokens": 0}
        boundary = {"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
        yield self.line("system", turn_id, at, {**boundary, "level": "info", "compactMetadata": about})
        text = summary if summary.startswith(CONTINUED) else f"{CONTINUED}. This is what it came to:\n\n{summary}"
        message = {"role": "user", "content": text}
        marks = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        yield self.line("user", turn_id, at, {"message": message, **marks})


def _said(entry: Entry) -> str | list[dict[str, Any]]:
    if len(entry.blocks) == 1 and isinstance(entry.blocks[0], Text):
        return entry.blocks[0].text
    return [_block(block) for block in entry.blocks]


def _answer(entry: Entry, uuid: str) -> dict[str, Any]:
    has_calls = any(isinstance(block, Call) for block in entry.blocks)
    return {
        "id": f"msg_{uuid.replace('-', '')[:24]}",
        "type": "message",
        "role": "assistant",
        "model": _SYNTHETIC if entry.is_unsent else entry.model or "unknown",
        "content": [_block(block) for block in entry.blocks],
        "stop_reason": "tool_use" if has_calls else "end_turn",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _block(block: Block) -> dict[str, Any]:
    if not isinstance(block, Result):
        return content_block(block)
    parts = block.content
    content: Any = parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else [_block(part) for part in parts]
    return {"type": "tool_result", "tool_use_id": block.call, "content": content, "is_error": block.is_error}


def _file(fork: Fork) -> str:
    return f"{_SLUG.sub('-', fork.cwd)}/{fork.session}.jsonl"


def _place(environ: Mapping[str, str], home: str) -> str:
    named = environ.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    return f"{(named or f'{home}/.claude').rstrip('/')}/projects"


def _resume(session: str, _file: str) -> tuple[str, ...]:
    return ("claude", "--resume", session)


NATIVE = Native(
    program="claude",
    new_session=lambda _at, random: uuid4(random),
    file=_file,
    place=_place,
    again=again,
    anew=anew,
    resume=_resume,
)


def natives() -> dict[str, Native]:
    """Who resumes what is written here."""
    return {AGENT: NATIVE}
