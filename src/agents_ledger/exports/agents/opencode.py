"""Any story as a session that OpenCode imports and goes on with."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agents_ledger.exports.agents.opencode_copying import again
from agents_ledger.exports.pictures import picture
from agents_ledger.model.opencode_ids import own_id, session_id
from agents_ledger.model.pictures import placeholder
from agents_ledger.model.retelling import retold
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Story, Text
from agents_ledger.model.writing import Fork, Line, Losses, Native

AGENT = "opencode"
Json = dict[str, Any]

_VERSION = "1.18.33"  # seen to import what is written here
_GOES_ON = "[the conversation goes on]"  # an answer stands behind something that a user says, not behind a summary
_PROVIDERS = (("claude", "anthropic"), ("gpt", "openai"), ("gemini", "google"))
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def anew(story: Story, fork: Fork, losses: Losses) -> Iterator[Line]:
    """The document, a message on a line; a compaction first, if there was one."""
    teller = _Teller(story, fork, losses)
    yield Line(b'{"info": ' + msgspec.json.encode(teller.info()) + b',\n"messages": [')
    mark = b""
    for turn_id, message in teller.messages():
        yield Line(mark + msgspec.json.encode(message), message["info"]["id"], turn_id)
        mark = b","
    yield Line(b"]}")


class _Teller:
    def __init__(self, story: Story, fork: Fork, losses: Losses) -> None:
        self._story = story
        self._fork = fork
        self._losses = losses
        self._count = 0
        self._at = 0  # of the last message: OpenCode sorts by time, and what a compaction kept is older than it is
        self._asked: str | None = None  # the last message of a user
        self._model = _model(story.model, story.provider)

    def info(self) -> Json:
        fork = self._fork
        return {
            "id": fork.session,
            "slug": fork.session[-8:].lower(),
            "projectID": "global",
            "directory": fork.cwd,
            "title": self._story.title or f"Fork of {self._story.label or self._story.turn_id}",
            "version": _VERSION,
            "time": {"created": fork.at, "updated": fork.at},
        }

    def messages(self) -> Iterator[tuple[str, Json]]:
        """The messages, each with its turn."""
        if (summary := self._story.summary) is not None:
            yield summary.turn_id, self._user(summary.at, [{"type": "compaction", "auto": False}])
            said = [{"type": "text", "text": summary.text}]
            told = self._assistant(summary.at, said, {"mode": "compaction", "agent": "compaction", "summary": True})
            yield summary.turn_id, told
        answer: Entry | None = None
        results: list[Result] = []
        is_begun = False
        for entry in retold(self._story, AGENT, None, self._losses):
            if entry.role == "tool":
                results += [block for block in entry.blocks if isinstance(block, Result)]
                continue
            if answer is not None:
                yield answer.turn_id, self._answer(answer, results)
            answer, results = (entry, []) if entry.role == "assistant" else (None, [])
            if answer is not None and not is_begun:
                yield entry.turn_id, self._user(entry.at, [{"type": "text", "text": _GOES_ON}])
            is_begun = True
            if answer is None:
                yield entry.turn_id, self._user(entry.at, [self._part(block) for block in entry.blocks])
        if answer is not None:
            yield answer.turn_id, self._answer(answer, results)

    def _answer(self, entry: Entry, results: list[Result]) -> Json:
        parts = [
            self._call(block, results, entry.at) if isinstance(block, Call) else self._part(block)
            for block in entry.blocks
        ]
        has_calls = any(part["type"] == "tool" for part in parts)
        model = self._model if entry.model is None else _model(entry.model, entry.provider)
        return self._assistant(entry.at, parts, {**model, "finish": "tool-calls" if has_calls else "stop"})

    def _call(self, call: Call, results: list[Result], at: int) -> Json:
        result = next((each for each in results if each.call == call.id), Result(call.id, call.tool, is_error=True))
        text = "\n".join(part.text for part in result.content if isinstance(part, Text))
        params = call.params if isinstance(call.params, dict) else {"input": call.params}
        state: Json = {"input": params, "time": {"start": at, "end": at}}
        if result.is_error:
            state |= {"status": "error", "error": text}
        else:
            shown = [self._part(part) for part in result.content if isinstance(part, Image)]
            files = [{**part, **self._own("prt"), "sessionID": self._fork.session} for part in shown]
            state |= {"status": "completed", "output": text, "title": call.tool, "metadata": {}}
            state |= {"attachments": files} if files else {}
        return {"type": "tool", "callID": call.id, "tool": call.tool, "state": state}

    def _part(self, block: Block) -> Json:
        if isinstance(block, Image):
            found = picture(block)
            if found is not None:
                return {"type": "file", "mime": found.media_type, "url": f"data:{found.media_type};base64,{found.data}"}
            self._losses.note("image-left-out", "its bytes are not here, or are no picture of a known type")
            return {"type": "text", "text": placeholder(block)}
        assert isinstance(block, Text), "thinking was retold as text, calls have results"  # noqa: S101
        return {"type": "text", "text": block.text}

    def _user(self, at: int, parts: list[Json]) -> Json:
        self._at = at = max(at, self._at)
        made = self._message({"role": "user", "time": {"created": at}, "agent": "build", "model": self._model}, parts)
        self._asked = str(made["info"]["id"])
        return made

    def _assistant(self, at: int, parts: list[Json], facts: Mapping[str, Any]) -> Json:
        self._at = at = max(at, self._at)
        cwd = self._fork.cwd
        info = {
            "role": "assistant",
            "time": {"created": at, "completed": at},
            "parentID": self._asked,
            **self._model,
            "mode": "build",
            "agent": "build",
            "path": {"cwd": cwd, "root": cwd},
            "cost": 0,
            "tokens": _NO_TOKENS,
            "finish": "stop",
        }
        return self._message({**info, **facts}, parts)

    def _message(self, info: Json, parts: list[Json]) -> Json:
        own = {**self._own("msg"), "sessionID": self._fork.session}
        of = {"messageID": own["id"], "sessionID": self._fork.session}
        for part in parts:
            for file in part.get("state", {}).get("attachments", ()):
                file.update(of)
        return {"info": {**info, **own}, "parts": [{**part, **self._own("prt"), **of} for part in parts]}

    def _own(self, kind: str) -> Json:
        """A new id, greater than the last one."""
        self._count += 1
        return {"id": own_id(kind, self._fork.session, self._fork.at, self._count)}


def _model(name: str | None, provider: str | None) -> Json:
    guess = next((each for start, each in _PROVIDERS if name and name.startswith(start)), "unknown")
    return {"providerID": provider or guess, "modelID": name or "unknown"}


def _place(environ: Mapping[str, str], home: str) -> str:
    return f"{(environ.get('XDG_DATA_HOME') or f'{home}/.local/share').rstrip('/')}/opencode/imports"


def _resume(session: str, file: str) -> tuple[str, ...]:
    return ("sh", "-c", f"opencode import {shlex.quote(file)} && opencode --session {shlex.quote(session)}")


NATIVE = Native(
    program="opencode",
    new_session=session_id,
    file=lambda fork: f"{fork.session}.json",
    place=_place,
    again=lambda _origin, _fork: None,
    anew=anew,
    resume=_resume,
    reopen=lambda session: ("opencode", "--session", session),
    again_whole=again,
)
