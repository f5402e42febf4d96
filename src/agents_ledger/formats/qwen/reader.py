"""The reader: each line is a node of the chain; telemetry is, too, and says nothing of the conversation."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field

from agents_ledger.formats.qwen.contents import usage_of
from agents_ledger.model.broken import texts_of
from agents_ledger.model.entries import CallStatus
from agents_ledger.model.formats import Source
from agents_ledger.model.gemini_api import Content, content_of
from agents_ledger.model.ids import written_id
from agents_ledger.model.lines import objects
from agents_ledger.model.loose import Json, count, mapping, text
from agents_ledger.model.steps import AFTER_LAST, Answered, Compacted, Event, Facts, Gap, Noted, Problem, Said
from agents_ledger.model.times import from_iso

_STATUS: dict[str, CallStatus] = {"success": "completed", "error": "failed", "cancelled": "cancelled"}
_COMPRESSED = 1  # a compression that took place
_CHANGES = ("rewind", "branch_checkpoint", "session_model", "goal_state", "mid_turn_user_message")
_QUIET = frozenset(["ui_telemetry", "attribution_snapshot", "at_command", "slash_command", *_CHANGES])


class Line(Struct):
    """A line's place in the chain."""

    session: str
    value: Json
    uuid: str | None
    parent: str | None
    at: int | None
    is_side: bool

    def place(self) -> dict[str, Any]:
        """As a step says it."""
        return {"session": self.session, "native_id": self.uuid, "parent": self.parent, "at": self.at}


class LineReader(Struct):
    """Reads one transcript."""

    known: dict[str, str] = field(default_factory=dict)  # session → what was last said about it as a whole
    unknown: list[str] = field(default_factory=list)
    session: str | None = None  # of the last line
    count: int = 0  # lines so far

    def read(self, record: bytes, name: str) -> Iterator[Event]:
        """The events of a line."""
        del name
        self.count += 1
        for value in objects(record):
            if isinstance(value, Problem):
                yield value
                if value.code in ("broken-line", "deep-nesting"):
                    yield from self._placed_by_ids(record)
            elif text(value.get("sessionId")) is None:
                yield Problem("bad-field", "sessionId")
            else:
                yield from self._line(_placed(value))

    def end(self) -> Iterator[Event]:
        """Nothing more: lines say all."""
        return iter(())

    def _placed_by_ids(self, record: bytes) -> Iterator[Event]:
        """The place in the chain of a line that could not be read: by its ids, if they are legible."""
        ids = texts_of(record, ("sessionId", "uuid", "parentUuid"))
        if (session := text(ids.get("sessionId")) or self.session) is None:
            return
        parent = text(ids.get("parentUuid")) or AFTER_LAST
        if (native_id := text(ids.get("uuid"))) is None:
            yield Gap(session=session, parent=parent)
        else:
            yield Noted(session=session, native_id=native_id, parent=parent, or_last=True)

    def _line(self, line: Line) -> Iterator[Event]:
        self.session = line.session
        yield from self._facts(line)
        kind = line.value.get("type")
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            yield from handler(self, line)
            return
        yield from self.note_unknown(f"type {ascii(kind)[:100]}")
        yield Noted(**line.place())

    def note_unknown(self, what: str) -> Iterator[Event]:
        """A problem, once for each kind."""
        if what not in self.unknown and len(self.unknown) < 100:  # noqa: PLR2004 - as many as anybody reads
            self.unknown.append(what)
            yield Problem("unknown-entry", what)

    def _facts(self, line: Line) -> Iterator[Event]:
        value = line.value
        told = [text(value.get(key)) for key in ("cwd", "gitBranch", "version")]
        name, said = ascii(line.session), ascii(told)  # what is put away has to be text that can be
        if self.known.get(name) == said:
            return
        is_new = name not in self.known
        self.known[name] = said
        project, branch, version = told
        parent, call = _parents(value) if line.is_side else (None, None)
        yield Facts(
            session=line.session,
            created_at=line.at if is_new else None,
            project=project,
            git_branch=branch,
            agent_version=version,
            persona=text(value.get("agentName")),
            parent_session=parent,
            parent_call=call,
        )


def reader(source: Source) -> LineReader:
    """A reader for a transcript."""
    del source
    return LineReader()


def _placed(value: Json) -> Line:
    agent = text(value.get("agentId"))
    is_side = agent is not None and value.get("isSidechain") is True
    session = f"{value['sessionId']}/{agent}" if is_side else value["sessionId"]
    at = from_iso(value.get("timestamp"))
    return Line(session, value, text(value.get("uuid")), text(value.get("parentUuid")), at, is_side)


def _parents(value: Json) -> tuple[str | None, str | None]:
    """A subagent's session and call: its id is its name and the call's."""
    agent, name = text(value.get("agentId")) or "", text(value.get("agentName"))
    call = agent.removeprefix(f"{name}-") if name else agent
    return text(value.get("sessionId")), call if call != agent else None


def _content(message: Any, *, is_ours: bool = False) -> Content:
    return content_of(mapping(message).get("parts") or [], is_ours=is_ours)


def _user(reader: LineReader, line: Line) -> Iterator[Event]:
    is_ours = line.uuid == written_id(line.session, reader.count)
    content = _content(line.value.get("message"), is_ours=is_ours)
    if content.responses:
        yield from _answers(line)
        return
    is_event = line.value.get("subtype") == "notification"
    yield Said(
        **line.place(),
        role="user",
        content=content.text,
        blocks=content.blocks,
        source="event" if is_event else "agent" if line.is_side else "human",
        starts_turn=True,
    )


def _assistant(_: LineReader, line: Line) -> Iterator[Event]:
    content = _content(line.value.get("message"))
    yield Said(
        **line.place(),
        role="assistant",
        content=content.text,
        thinking=content.thinking,
        calls=tuple(content.calls),
        blocks=content.blocks,
        model=text(line.value.get("model")),
        usage=usage_of(line.value.get("usageMetadata")),
        usage_key=line.uuid,
    )


def _tool_result(_: LineReader, line: Line) -> Iterator[Event]:
    yield from _answers(line)


def _answers(line: Line) -> Iterator[Event]:
    """The outcomes of calls, one behind the other; the last one has the line's id, so that others can follow it."""
    content = _content(line.value.get("message"))
    told = mapping(line.value.get("toolCallResult"))
    place = line.place()
    for number, response in enumerate(content.responses):
        is_last = number == len(content.responses) - 1
        name = line.uuid if is_last or line.uuid is None else f"{line.uuid}:{number}"
        result, error = response.outcome
        given = told.get("status") if told.get("callId") in (None, response.call) else None
        status = _STATUS.get(given) if isinstance(given, str) else None
        yield Answered(
            **{**place, "native_id": name},
            call=response.call or "",
            result=result,
            error=error,
            status=status or ("completed" if error is None else "failed"),
        )
        place["parent"] = name or place["parent"]
    if not content.responses:
        yield Problem("bad-field", "message.parts: no functionResponse")
        yield Noted(**place)


def _system(reader: LineReader, line: Line) -> Iterator[Event]:
    kind, payload = text(line.value.get("subtype")), mapping(line.value.get("systemPayload"))
    if kind == "chat_compression" and mapping(payload.get("info")).get("compressionStatus") == _COMPRESSED:
        yield _compacted(line, payload)
        return
    if kind == "custom_title" and (title := text(payload.get("customTitle")) or text(payload.get("title"))):
        yield Facts(session=line.session, title=title)
    elif kind == "parent_session" and (other := text(payload.get("parentSessionId"))):
        yield Facts(session=line.session, forked_from=other)
    elif kind not in _QUIET and kind not in ("chat_compression", "custom_title", "parent_session"):
        yield from reader.note_unknown(f"system {ascii(kind)[:100]}")
    yield Noted(**line.place())


def _compacted(line: Line, payload: Json) -> Compacted:
    """The new context as a whole; its first words are the summary."""
    info, history = mapping(payload.get("info")), payload.get("compressedHistory")
    items = [item for item in (history if isinstance(history, list) else []) if isinstance(item, dict)]
    told: list[Json] = [
        {
            "role": "assistant" if item.get("role") == "model" else "user",
            "content": [{"type": "text", "text": words} for words in _content(item).texts],
        }
        for item in items
    ]
    summary = next((part["text"] for item in told for part in item["content"]), "")
    return Compacted(
        **line.place(),
        summary=summary,
        replacement=told or None,
        tokens_before=count(info.get("originalTokenCount")),
        tokens_after=count(info.get("newTokenCount")),
        trigger="manual" if info.get("triggerReason") == "manual" else "context_limit",
        model=text(line.value.get("model")),
    )


_HANDLERS: dict[str, Callable[[LineReader, Line], Iterator[Event]]] = {
    "user": _user,
    "assistant": _assistant,
    "tool_result": _tool_result,
    "system": _system,
}
