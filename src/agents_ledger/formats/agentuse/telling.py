"""Any story as a session folder that AgentUse resumes: one message, whose parts are all that was said.

AgentUse sends the prompt, texts, calls and results of the first message again, in the order of their times. Thinking
and pictures it keeps, and sends neither. Ids follow from the session and the time, one for each millisecond: so what
was written here is known again, whatever the program adds.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from agents_ledger.formats.agentuse import writing
from agents_ledger.formats.agentuse.copying import AGENT, again, own_id
from agents_ledger.formats.agentuse.files import mapping, text
from agents_ledger.model.entries import Usage
from agents_ledger.model.ids import ulid
from agents_ledger.model.retelling import KEPT_UNSENT, retold
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Story, Text, Thinking
from agents_ledger.model.writing import Fork, Line, Losses, Native

Json = dict[str, Any]
_VERSION = "0.15.0"  # the one whose sessions are known
_NOBODY = "fork"  # the agent's id, where the story was none of AgentUse's
_PROVIDERS = (("claude", "anthropic"), ("gpt", "openai"), ("gemini", "google"))
_GOES_ON = "[the conversation goes on]"  # a message has a prompt, also where an answer comes first


def anew(story: Story, fork: Fork, losses: Losses) -> Iterator[Line]:
    """The files of the folder: parts as they come, then what tells of them all."""
    is_own = story.origin == AGENT
    teller = _Teller(story, fork, losses)
    entries = retold(replace(story, system=None) if is_own else story, AGENT, KEPT_UNSENT, losses)
    yield from teller.parts(entries)
    yield from teller.rest(system=[story.system] if is_own and story.system else [])


class _Teller:
    """Parts one after the other, each in a millisecond of its own."""

    def __init__(self, story: Story, fork: Fork, losses: Losses) -> None:
        self._story, self._fork, self._losses = story, fork, losses
        self._at = 0
        self._message: str | None = None
        self._begun = 0
        self._task = ""

    def parts(self, entries: Iterator[Entry]) -> Iterator[Line]:
        summary = self._story.summary
        if summary is not None:
            self._begin(summary.text, summary.at)
        answer: Entry | None = None
        results: dict[str, tuple[int, Result]] = {}
        for entry in entries:
            if entry.role == "tool":
                results |= {block.call: (entry.at, block) for block in entry.blocks if isinstance(block, Result)}
                continue
            if answer is not None:
                yield from self._answer(answer, results)
            answer, results = (entry, {}) if entry.role == "assistant" else (None, {})
            if answer is None:
                yield from self._said(entry)
        if answer is not None:
            yield from self._answer(answer, results)

    def rest(self, system: list[str]) -> Iterator[Line]:
        """message.json, tools.json, and session.json, by which it is one."""
        if self._message is None:
            self._begin(_GOES_ON, self._story.at)
        fork, model = self._fork, _model(self._story)
        root = fork.root or fork.cwd
        message = writing.message(
            self._message or "",
            fork.session,
            self._begun,
            task=self._task,
            user=None,
            system=system,
            model=model,
            mode="build",
            root=root,
            cwd=fork.cwd,
        )
        message["time"]["completed"] = self._at
        yield self._file(f"{self._message}/message.json", message)
        yield self._file("tools.json", {"tools": []})
        info = writing.session(
            fork.session,
            fork.at,
            agent=_agent(self._story, fork),
            model=model,
            version=_VERSION,
            root=root,
            cwd=fork.cwd,
        )
        yield self._file("session.json", {**info, "status": "completed"})

    def _begin(self, task: str, at: int) -> None:
        """The prompt: it stands in message.json, which is written when all is known."""
        self._begun, self._task = self._tick(at), task
        self._message = own_id(self._begun, self._fork.session)

    def _said(self, entry: Entry) -> Iterator[Line]:
        words = "\n\n".join(block.text for block in entry.blocks if isinstance(block, Text))
        pictures = [block for block in entry.blocks if isinstance(block, Image)]
        words = words or "\n".join(_described(picture) for picture in pictures)
        if self._message is None:
            self._begin(words, entry.at)
        else:
            at = self._tick(entry.at)
            yield self._part(writing.text(words, at, at, role="user"), entry)
        yield from (self._picture(picture, entry) for picture in pictures)

    def _answer(self, entry: Entry, results: Mapping[str, tuple[int, Result]]) -> Iterator[Line]:
        if self._message is None:
            self._begin(_GOES_ON, entry.at)
        self._tick(entry.at)
        yield self._part(writing.step_start(), entry)
        calls = [block for block in entry.blocks if isinstance(block, Call)]
        for block in entry.blocks:
            if not isinstance(block, Call):
                yield from self._spoken(block, entry)
        yield from self._calls(calls, entry, results)
        self._tick(entry.at)
        yield self._part(writing.step_finish(Usage()), entry)

    def _spoken(self, block: Block, entry: Entry) -> Iterator[Line]:
        at = self._tick(entry.at)
        if isinstance(block, Text):
            yield self._part(writing.text(block.text, at, at), entry)
        elif isinstance(block, Thinking):
            seal = {key: value for key in ("signature", "id", "api") if (value := getattr(block, key)) is not None}
            yield self._part(writing.reasoning(block.text, at, at, seal or None), entry)
        elif isinstance(block, Image):
            yield self._picture(block, entry)

    def _calls(self, calls: list[Call], entry: Entry, results: Mapping[str, tuple[int, Result]]) -> Iterator[Line]:
        """Calls of one step run at the same time: AgentUse has no other mark for that."""
        known = [(call, *results.get(call.id, (entry.at, Result(call.id, call.tool, is_error=True)))) for call in calls]
        end = max([self._at + len(calls) + 1, *(at for _, at, _ in known)])
        for call, _, result in known:
            start = self._tick(entry.at)
            words = "\n".join(self._words(part) for part in result.content)
            state = writing.failed(call.params, words, start, end) if result.is_error else None
            state = state or writing.completed(call.params, words, start, end)
            yield self._part(writing.tool(call.id, call.tool, state), entry)
        self._at = end if calls else self._at

    def _words(self, part: Text | Image) -> str:
        if isinstance(part, Text):
            return part.text
        self._losses.note("image-left-out", "of a result: AgentUse has texts only")
        return _described(part)

    def _picture(self, image: Image, entry: Entry) -> Line:
        self._losses.note("image-left-out", "AgentUse keeps it, and does not send it")
        kind = image.media_type or "image/png"
        self._tick(entry.at)
        return self._part(writing.file(image.url or f"data:{kind};base64,{image.data or ''}", kind), entry)

    def _part(self, value: Json, entry: Entry) -> Line:
        """A part of this millisecond."""
        name = own_id(self._at, self._fork.session)
        whole = {**value, "id": name, "sessionID": self._fork.session, "messageID": self._message}
        return self._file(f"{self._message}/part/{name}.json", whole, name, entry.turn_id)

    def _file(self, name: str, value: Json, native_id: str | None = None, turn_id: str | None = None) -> Line:
        return Line(writing.text_of(value), native_id, turn_id, file=name)

    def _tick(self, at: int) -> int:
        self._at = max(self._at + 1, at)
        return self._at


def _described(image: Image) -> str:
    return f"[image: {image.media_type or 'of unknown type'}]"


def _model(story: Story) -> str:
    """As AgentUse names models: `provider:model`."""
    model = story.model or "unknown"
    guessed = (provider for prefix, provider in _PROVIDERS if model.startswith(prefix))
    return f"{story.provider or next(guessed, 'unknown')}:{model}"


def _agent(story: Story, fork: Fork) -> Json:
    """Who speaks: the same agent, if it was one of AgentUse's."""
    known = mapping(story.facts.get("agent")) if fork.persona else {}
    name = fork.persona or _NOBODY
    told = [text(known.get(key)) for key in ("description", "filePath")]
    return writing.agent(name, text(known.get("name")) or name, *told, is_sub=False)


def _file(fork: Fork) -> str:
    root = writing.project_hash(fork.root or fork.cwd)
    return f"{root}/session/{writing.folder_name(fork.session, fork.persona or _NOBODY)}"


def _place(environ: Mapping[str, str], home: str) -> str:
    return f"{(environ.get('XDG_DATA_HOME') or f'{home}/.local/share').rstrip('/')}/agentuse/project"


NATIVE = Native(
    program="agentuse",
    new_session=ulid,
    file=_file,
    place=_place,
    again=lambda _origin, _fork: None,
    anew=anew,
    resume=lambda session, _file: ("agentuse", "run", "--session-id", session),
    again_folder=again,
)


def natives() -> dict[str, Native]:
    """Who resumes what is written here."""
    return {AGENT: NATIVE}
