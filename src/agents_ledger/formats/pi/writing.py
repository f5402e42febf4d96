"""Any story as a transcript that pi and openclaw resume."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from shlex import quote
from typing import Any

import msgspec

from agents_ledger.formats.pi.copying import again
from agents_ledger.formats.pi.given import long_id, short_id
from agents_ledger.formats.pi.header import header
from agents_ledger.formats.pi.names import persona_of
from agents_ledger.model.ids import uuid7
from agents_ledger.model.retelling import retold
from agents_ledger.model.story import Call, Entry, Image, Result, Story, Text, Thinking
from agents_ledger.model.times import iso
from agents_ledger.model.writing import Fork, Line, Losses, Native

_VERSION = 3
_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": _COST}
# the API and provider that pi knows a model by, by the agent that it spoke through
_MODELS = {
    "claude-code": ("anthropic-messages", "anthropic"),
    "codex": ("openai-responses", "openai"),
}
_MAIN = "main"
_AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ANY = "any"  # pi keeps every seal, and shows it to nobody but its own model


def anew_for(agent: str, own_id: Callable[[str, int], str], story: Story, fork: Fork, losses: Losses) -> Iterator[Line]:
    """The entries: what a compaction kept stands before it, as pi has it."""
    yield header(fork, _VERSION)
    tree = _Tree(fork, own_id)
    summary = story.summary
    entries = retold(story, agent, _ANY, losses)
    first = list(_until_answer(entries))
    if not first or first[-1].role != "assistant":
        yield tree.nobody(story.turn_id, story.at)
    for entry in chain(first, entries):
        if summary is not None and not entry.is_kept:
            yield tree.compaction(summary.text, summary.turn_id, summary.at, summary.tokens_before)
            summary = None
        for message in _messages(entry, story):
            yield tree.message(message, entry.turn_id, entry.at)
    if summary is not None:
        yield tree.compaction(summary.text, summary.turn_id, summary.at, summary.tokens_before)


def _until_answer(entries: Iterator[Entry]) -> Iterator[Entry]:
    for entry in entries:
        yield entry
        if entry.role == "assistant":
            return


class _Tree:
    """Entries one after the other; their ids follow from the session's."""

    def __init__(self, fork: Fork, own_id: Callable[[str, int], str]) -> None:
        self._session = fork.session
        self._own_id = own_id
        self._first: str | None = None
        self._last: str | None = None
        self._count = 0

    def message(self, message: dict[str, Any], turn_id: str, at: int) -> Line:
        return self._entry("message", turn_id, at, {"message": {**message, "timestamp": at}})

    def nobody(self, turn_id: str, at: int) -> Line:
        """A cancelled answer, which pi tells nobody; without any answer it writes the whole file once more (0.73)."""
        answer = {"role": "assistant", "content": [], "api": "none", "provider": "none", "model": "none"}
        line = self.message({**answer, "usage": _USAGE, "stopReason": "aborted"}, turn_id, at)
        self._first = None  # a compaction does not keep it
        return line

    def compaction(self, summary: str, turn_id: str, at: int, tokens: int | None) -> Line:
        kept = self._first or self._name()  # its own id: nothing is kept
        facts = {"summary": summary, "firstKeptEntryId": kept, "tokensBefore": tokens or 0}
        return self._entry("compaction", turn_id, at, facts)

    def _entry(self, kind: str, turn_id: str, at: int, facts: Mapping[str, Any]) -> Line:
        name = self._name()
        value = {"type": kind, "id": name, "parentId": self._last, "timestamp": iso(at), **facts}
        self._first, self._last = self._first or name, name
        self._count += 1
        return Line(msgspec.json.encode(value), name, turn_id)

    def _name(self) -> str:
        return self._own_id(self._session, self._count)


def _messages(entry: Entry, story: Story) -> Iterator[dict[str, Any]]:
    if entry.role == "assistant":
        yield _answer(entry, story)
        return
    for block in entry.blocks:
        if isinstance(block, Result):
            yield {
                "role": "toolResult",
                "toolCallId": block.call,
                "toolName": block.tool,
                "content": [_block(part) for part in block.content],
                "isError": block.is_error,
            }
    said = [_block(block) for block in entry.blocks if not isinstance(block, Result)]
    if said:
        yield {"role": "user", "content": said}


def _answer(entry: Entry, story: Story) -> dict[str, Any]:
    known = ("anthropic-messages", entry.provider or story.provider or "unknown")
    api, provider = _MODELS.get(story.origin or "", known)
    has_calls = any(isinstance(block, Call) for block in entry.blocks)
    return {
        "role": "assistant",
        "content": [_block(block) for block in entry.blocks],
        "api": api,
        "provider": provider,
        "model": entry.model or story.model or "unknown",
        "usage": _USAGE,
        "stopReason": "toolUse" if has_calls else "stop",
    }


def _block(block: Text | Thinking | Image | Call | Result) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Thinking):
        hidden = {"redacted": True} if block.is_hidden and block.api != "openai" else {}
        return {"type": "thinking", "thinking": block.text, "thinkingSignature": _seal(block), **hidden}
    if isinstance(block, Image):
        return {"type": "image", "data": block.data or "", "mimeType": block.media_type or "image/png"}
    assert isinstance(block, Call), "results are messages of their own"  # noqa: S101
    return {"type": "toolCall", "id": block.id, "name": block.tool, "arguments": block.params}


def _seal(block: Thinking) -> str | None:
    """OpenAI's reasoning is kept as the whole item."""
    if block.api != "openai":
        return block.signature
    summary = [{"type": "summary_text", "text": block.text}] if block.text else []
    item = {"type": "reasoning", "id": block.id, "summary": summary, "encrypted_content": block.signature}
    return msgspec.json.encode(item).decode()


def _pi_file(fork: Fork) -> str:
    stamp = (iso(fork.at) or "").replace(":", "-").replace(".", "-")
    folder = fork.cwd.removeprefix("/").replace("/", "-").replace("\\", "-").replace(":", "-")
    return f"--{folder}--/{stamp}_{fork.session}.jsonl"


def _pi_place(environ: Mapping[str, str], home: str) -> str:
    sessions = environ.get("PI_CODING_AGENT_SESSION_DIR")
    agent = environ.get("PI_CODING_AGENT_DIR") or f"{home}/.pi/agent"
    return _at_home(sessions or f"{agent}/sessions", home)


def _openclaw_place(environ: Mapping[str, str], home: str) -> str:
    state = environ.get("OPENCLAW_STATE_DIR") or f"{home}/.openclaw"
    return _at_home(f"{state}/agents", home)


def _openclaw_agent(fork: Fork) -> str:
    """Whose session it is, of several agents that one openclaw may have."""
    return fork.persona if fork.persona and _AGENT_ID.fullmatch(fork.persona) else _MAIN


def _openclaw_resume(session: str, file: str) -> tuple[str, ...]:
    """Since 2026.7.2 it takes a file into its database first; unasked, it would begin with nothing."""
    agent = persona_of(file) or _MAIN
    taken, asked = ("", "") if agent == _MAIN else (f" --session-sqlite-agent {agent}", f" --agent {agent}")
    import_it = f"openclaw doctor --session-sqlite import{taken}"
    return ("sh", "-c", f"{import_it} && openclaw agent{asked} --session-id {quote(session)}")


def _at_home(folder: str, home: str) -> str:
    return home + folder[1:] if folder == "~" or folder.startswith("~/") else folder


def _pi(story: Story, fork: Fork, losses: Losses) -> Iterator[Line]:
    return anew_for("pi", short_id, story, fork, losses)


def _openclaw(story: Story, fork: Fork, losses: Losses) -> Iterator[Line]:
    return anew_for("openclaw", long_id, story, fork, losses)


def _openclaw_listed(fork: Fork, file: str) -> tuple[str, dict[str, Any]]:
    """What is not in its list is archived by openclaw (2026.9.6) as recovered, and never resumed."""
    entry = {"sessionId": fork.session, "updatedAt": fork.at, "sessionFile": file}
    return f"agent:{_openclaw_agent(fork)}:explicit:{fork.session}", entry


PI = Native(
    program="pi",
    new_session=uuid7,
    file=_pi_file,
    place=_pi_place,
    again=again,
    anew=_pi,
    resume=lambda _session, file: ("pi", "--session", file),
)
OPENCLAW = Native(
    program="openclaw",
    new_session=uuid7,
    file=lambda fork: f"{_openclaw_agent(fork)}/sessions/{fork.session}.jsonl",
    place=_openclaw_place,
    again=again,
    anew=_openclaw,
    resume=_openclaw_resume,
    reopen=lambda session: ("openclaw", "agent", "--session-id", session),
    listed=_openclaw_listed,
)


def natives() -> dict[str, Native]:
    """Who resumes what is written here."""
    return {"pi": PI, "openclaw": OPENCLAW}
