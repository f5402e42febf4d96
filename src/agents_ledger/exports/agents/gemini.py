"""Any story as a session that Gemini CLI takes in (`--session-file`) and goes on with."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from agents_ledger.exports.agents.gemini_copying import again, again_whole
from agents_ledger.exports.agents.parts import begun, is_acknowledgement, parts
from agents_ledger.model.gemini_api import WRITTEN_ACKNOWLEDGED, WRITTEN_SUMMARY
from agents_ledger.model.ids import uuid4
from agents_ledger.model.retelling import retold
from agents_ledger.model.story import Call, Entry, Result, Story
from agents_ledger.model.times import iso
from agents_ledger.model.writing import Fork, Line, Losses, Native

AGENT = "gemini"
# Gemini CLI takes what begins so for commands or for its own, and does not send it
_UNSENT = ("/", "?", "<session_context>", "<hook_context>")
_MARK = "User: "


def anew(story: Story, fork: Fork, losses: Losses) -> Iterator[Line]:
    """The lines: a header, then messages; results stand with their calls."""
    teller = _Teller(fork, losses)
    yield teller.header()
    if (summary := story.summary) is not None:
        content = [{"text": summary.text}]
        yield teller.line(summary.turn_id, "user", summary.at, {"content": content}, written_as=WRITTEN_SUMMARY)
    answer: Entry | None = None
    results: list[Entry] = []
    for entry in begun(story, retold(story, AGENT, None, losses)):
        if entry.role == "tool":
            results.append(entry)
            continue
        if answer is not None:
            yield teller.answer(answer, results)
        answer, results = (entry, []) if entry.role == "assistant" else (None, [])
        if answer is None:
            yield teller.said(entry)
    if answer is not None:
        yield teller.answer(answer, results)


class _Teller:
    def __init__(self, fork: Fork, losses: Losses) -> None:
        self._fork = fork
        self._losses = losses
        self._count = 0

    def header(self) -> Line:
        at = iso(self._fork.at)
        project = sha256(self._fork.cwd.encode("utf-8", "surrogateescape")).hexdigest()
        times = {"startTime": at, "lastUpdated": at}
        return Line(
            msgspec.json.encode({"sessionId": self._fork.session, "projectHash": project, **times, "kind": "main"})
        )

    def line(
        self, turn_id: str, kind: str, at: int, fields: Mapping[str, Any], *, written_as: str | None = None
    ) -> Line:
        self._count += 1
        name = f"{self._fork.session}/{written_as or self._count}"  # it stays, while the session gets another id
        return Line(msgspec.json.encode({"id": name, "timestamp": iso(at), "type": kind, **fields}), name, turn_id)

    def said(self, entry: Entry) -> Line:
        content = [part for block in entry.blocks for part in parts(block, self._losses)]
        # Gemini CLI looks at the text of all parts, also where a picture stands before it
        texts = [part for part in content if "text" in part]
        if "".join(part["text"] for part in texts).lstrip().startswith(_UNSENT):
            self._losses.note("text-marked", f"begins as a command does: it stands behind {_MARK!r}")
            texts[0]["text"] = f"{_MARK}{texts[0]['text']}"
        return self.line(entry.turn_id, "user", entry.at, {"content": content})

    def answer(self, entry: Entry, results: list[Entry]) -> Line:
        texts = [block for block in entry.blocks if not isinstance(block, Call)]
        content = [part for block in texts for part in parts(block, self._losses)]
        calls = [self._call(block, results, entry.at) for block in entry.blocks if isinstance(block, Call)]
        told = {"content": content, "thoughts": [], **({"model": entry.model} if entry.model else {})}
        written_as = WRITTEN_ACKNOWLEDGED if is_acknowledgement(entry) else None
        more = {"toolCalls": calls} if calls else {}
        return self.line(entry.turn_id, "gemini", entry.at, {**told, **more}, written_as=written_as)

    def _call(self, call: Call, results: list[Entry], at: int) -> dict[str, Any]:
        made = next(parts(call, self._losses))["functionCall"]
        found = (
            (entry.at, block)
            for entry in results
            for block in entry.blocks
            if isinstance(block, Result) and block.call == call.id
        )
        when, result = next(found, (at, Result(call.id, call.tool, is_error=True)))
        return {
            **made,
            "result": list(parts(result, self._losses)),
            "status": "error" if result.is_error else "success",
            "timestamp": iso(when),
        }


def _file(fork: Fork) -> str:
    stamp = (iso(fork.at) or "")[:16].replace(":", "-")
    project = sha256(fork.cwd.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{project}/chats/session-{stamp}-{fork.session[:8]}.jsonl"


def _place(environ: Mapping[str, str], home: str) -> str:
    return f"{(environ.get('GEMINI_CLI_HOME') or home).rstrip('/')}/.gemini/tmp"


NATIVE = Native(
    program="gemini",
    new_session=lambda _at, random: uuid4(random),
    file=_file,
    place=_place,
    again=again,
    anew=anew,
    resume=lambda _session, file: ("gemini", "--session-file", file),
    reopen=lambda session: ("gemini", "--resume", session),
    again_whole=again_whole,
)
