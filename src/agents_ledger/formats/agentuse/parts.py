"""Parts of a message as steps. Parts of one call to the model are joined into one message of the assistant."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from agents_ledger.formats.agentuse.calls import asked
from agents_ledger.formats.agentuse.files import Part, count, is_small, mapping, moment, text
from agents_ledger.model.entries import File
from agents_ledger.model.steps import Compacted, Event, Noted, Problem, Said

# What is told about a suspended call; its token and the address with it are keys to the human's answer: never.
_TOLD = ("kind", "prompt", "channel", "expiresAt", "childSessionID", "childAgentName", "toolName")
_TRIGGERS = {"limit": "context_limit", "step": "context_limit"}


class Exchange(Struct):
    """Where in a message we are."""

    session: str
    message: str
    source: str  # of a prompt: 'human', 'cron', 'webhook', 'agent'
    model: str | None = None
    provider: str | None = None
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    children: dict[str, str] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    last_compaction: str | None = None
    unknown: set[str] = field(default_factory=set)
    # the step under way: its key, whether it has called tools, and until when they ran
    key: str | None = None
    calls: bool = False
    busy_until: int = 0

    def read(self, part: Part) -> Iterator[Event]:
        """The events of a part."""
        kind = part.value.get("type")
        name = kind if isinstance(kind, str) else type(kind).__name__
        if handler := _HANDLERS.get(name):
            yield from handler(self, part)
            return
        if name not in self.unknown:
            self.unknown.add(name)
            yield Problem("unknown-entry", f"part {name[:100]}")
        yield from _note(self, part)

    def step_of(self, part: Part) -> str:
        """The key of the call to the model that a part belongs to.

        Without any mark of steps a new one begins with whatever starts after all tools have ended.
        """
        start = part.start()
        if self.key is None or (self.calls and start is not None and start >= self.busy_until):
            self.end_step()
            self.key = f"{self.message}/{part.id}"
        return self.key or ""

    def end_step(self) -> None:
        """What follows is another call to the model."""
        self.key, self.calls, self.busy_until = None, False, 0


def _text(exchange: Exchange, part: Part) -> Iterator[Event]:
    """What the model said; or, of the role "user", the prompt of a run that was resumed."""
    content = part.value.get("text")
    if not isinstance(content, str):
        yield Problem("bad-field", f"{part.id}: text")
        content = None
    if part.value.get("role") != "user":
        yield _assistant(exchange, part, content=content)
        return
    exchange.end_step()
    # Whatever started the run, a human resumes it. A synthetic one was written by the program (a judge's critique).
    resumed = "agent" if exchange.source == "agent" else "human"
    yield Said(
        session=exchange.session,
        native_id=part.id,
        at=part.start(),
        role="user",
        content=content,
        source="event" if part.value.get("synthetic") is True else resumed,
        starts_turn=True,
        metadata=_facts(part),
    )


def _reasoning(exchange: Exchange, part: Part) -> Iterator[Event]:
    thinking = part.value.get("text")
    if not isinstance(thinking, str):
        yield Problem("bad-field", f"{part.id}: text")
        thinking = None
    yield _assistant(exchange, part, thinking=thinking)


def _tool(exchange: Exchange, part: Part) -> Iterator[Event]:
    for key in ("tool", "callID"):
        if text(part.value.get(key)) is None:
            yield Problem("bad-field", f"{part.id}: {key}")
    call = asked(part, exchange.artifacts, exchange.children.get(part.id))
    yield _assistant(exchange, part, calls=(call,))
    exchange.calls = True
    # A call that never ended belongs to a run that was killed or waits: nothing can follow it in its own step.
    exchange.busy_until = max(exchange.busy_until, call.completed_at or call.started_at or 0)


def _assistant(exchange: Exchange, part: Part, **what: Any) -> Said:
    """A piece of the assistant's message."""
    return Said(
        session=exchange.session,
        native_id=part.id,
        at=part.start(),
        role="assistant",
        joins=exchange.step_of(part),
        model=exchange.model,
        provider=exchange.provider,
        metadata=_facts(part),
        **what,
    )


def _facts(part: Part) -> dict[str, Any] | None:
    """Small facts beside the content, under the part's id so that those of joined parts do not collide."""
    value, state = part.value, mapping(part.value.get("state"))
    facts: dict[str, Any] = {key: True for key in ("superseded", "synthetic") if value.get(key) is True}
    for key in ("parentCallID",):
        if found := text(value.get(key)):
            facts[key] = found
    if title := text(state.get("title")):
        facts["title"] = title
    if suspended := moment(state.get("suspendedAt")):
        facts["suspendedAt"] = suspended
    payload = mapping(state.get("resumePayload"))
    if told := {key: payload[key] for key in _TOLD if is_small(payload.get(key))}:
        facts["waits"] = told
    return {part.id: facts} if facts else None


def _file(exchange: Exchange, part: Part) -> Iterator[Event]:
    """A file that was given to the agent; its bytes stay where they are."""
    value, source = part.value, mapping(part.value.get("source"))
    url = text(value.get("url")) or ""
    embedded = url.startswith("data:")
    path = text(source.get("path")) or text(value.get("filename")) or (None if embedded else text(url))
    block: dict[str, Any] = {"type": "file", "media_type": text(value.get("mime"))}
    if embedded:
        block["size_bytes"] = len(url)
    yield Said(
        session=exchange.session,
        native_id=part.id,
        at=part.start(),
        role="user",
        content=text(mapping(source.get("text")).get("value")),
        source="context",
        files=(File(path, "attached"),) if path else (),
        blocks=(block,),
        metadata=_facts(part),
    )


def _agent(exchange: Exchange, part: Part) -> Iterator[Event]:
    """An agent that the prompt names."""
    yield Said(
        session=exchange.session,
        native_id=part.id,
        at=part.start(),
        role="user",
        content=text(mapping(part.value.get("source")).get("value")),
        source="context",
        blocks=({"type": "agent", "name": text(part.value.get("name"))},),
        metadata=_facts(part),
    )


def _step_start(exchange: Exchange, part: Part) -> Iterator[Event]:
    exchange.end_step()
    yield from _note(exchange, part)


def _step_finish(exchange: Exchange, part: Part) -> Iterator[Event]:
    """The end of a step; what it cost is a fact of its message (the sum of all is the message's own)."""
    if exchange.key is None:
        yield from _note(exchange, part)
    else:
        told = {key: part.value[key] for key in ("tokens", "cost", "modelStepUsage") if is_small(part.value.get(key))}
        yield Said(
            session=exchange.session,
            native_id=part.id,
            role="assistant",
            joins=exchange.key,
            metadata={part.id: {"step": told}},
        )
    exchange.end_step()


def _patch(exchange: Exchange, part: Part) -> Iterator[Event]:
    """Files that the step before it wrote."""
    files = part.value.get("files")
    paths = [path for path in files if isinstance(path, str) and path] if isinstance(files, list) else []
    if not isinstance(files, list) or len(paths) != len(files):
        yield Problem("bad-field", f"{part.id}: files")
    yield Said(
        session=exchange.session,
        native_id=part.id,
        at=part.start(),
        role="assistant",
        joins=exchange.step_of(part),
        files=tuple(File(path, "written") for path in dict.fromkeys(paths)),
        metadata={part.id: {"patch": text(part.value.get("hash"))}},
    )


def _compaction(exchange: Exchange, part: Part) -> Iterator[Event]:
    """The context was compacted. The summary is not written down, but the new context may be (context.json)."""
    value = part.value
    exchange.end_step()
    reason = value.get("reason")
    told = {
        key: value[key]
        for key in ("reason", "messagesBefore", "messagesAfter", "usagePercentBefore")
        if is_small(value.get(key))
    }
    yield Compacted(
        session=exchange.session,
        native_id=part.id,
        at=part.start(),
        tokens_before=count(value.get("tokensBefore")),
        tokens_after=count(value.get("tokensAfter")),
        trigger=_TRIGGERS.get(reason) if isinstance(reason, str) else None,
        model=exchange.model,
        provider=exchange.provider,
        replacement=replacement(exchange, part),
        metadata=told or None,
    )


def replacement(exchange: Exchange, part: Part) -> Any:
    """The context after the last compaction: of the saved one, which only grew, as many messages as were left then."""
    messages, left = exchange.context.get("messages"), count(part.value.get("messagesAfter"))
    saved, start = moment(exchange.context.get("updatedAt")), part.start()
    if part.id != exchange.last_compaction or not isinstance(messages, list) or not left or left > len(messages):
        return None
    return messages[:left] if saved is None or start is None or saved >= start else None


def _error(exchange: Exchange, part: Part) -> Iterator[Event]:
    """A call to the model failed; if it was a compaction's, the turn went on."""
    value = part.value
    if value.get("source") == "compaction":
        yield from _note(exchange, part)
        return
    exchange.end_step()
    words = [word for key in ("message", "code", "detail") if (word := text(value.get(key)))]
    yield Said(
        session=exchange.session,
        native_id=part.id,
        at=part.start(),
        role="assistant",
        model=exchange.model,
        provider=exchange.provider,
        error="\n".join(words) or "unknown error",
        metadata={part.id: {"statusCode": count(value.get("statusCode")), "code": text(value.get("code"))}},
    )


def _log(exchange: Exchange, part: Part) -> Iterator[Event]:
    """A line of the program's log. 0.15 logs each call to the model: its only mark of where a step begins."""
    if (text(part.value.get("message")) or "").startswith("Calling model:"):
        exchange.end_step()
    yield from _note(exchange, part)


def _note(exchange: Exchange, part: Part) -> Iterator[Event]:
    """A node of the chain that is no message."""
    yield Noted(session=exchange.session, native_id=part.id, at=part.start())


_HANDLERS: dict[str, Callable[[Exchange, Part], Iterator[Event]]] = {
    "text": _text,
    "reasoning": _reasoning,
    "tool": _tool,
    "file": _file,
    "agent": _agent,
    "step-start": _step_start,
    "step-finish": _step_finish,
    "snapshot": _note,
    "patch": _patch,
    "compaction": _compaction,
    "corrections": _note,
    "learning": _note,
    "verify": _note,
    "error": _error,
    "log": _log,
}
