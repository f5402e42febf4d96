"""The reader: collects the files of a session folder, and tells the whole story at the end."""

import hashlib
import re
from collections.abc import Generator, Iterator
from typing import Any

from msgspec import Struct, field

from agents_ledger.formats.agentuse.belonging import line_of
from agents_ledger.formats.agentuse.calls import asked, children
from agents_ledger.formats.agentuse.files import Contents, Message, count, is_small, mapping, moment, sort_files, text
from agents_ledger.formats.agentuse.parts import Exchange
from agents_ledger.model.entries import Usage
from agents_ledger.model.formats import Source
from agents_ledger.model.steps import At, Closed, Event, Facts, Noted, Problem, Said, Spent
from agents_ledger.model.texts import storable

_SOURCES = {"scheduled": "cron", "api": "webhook"}
_CONTINUES = re.compile(r"Continue from previous AgentUse session ([0-9A-Za-z]{26})\.")


class BundleReader(Struct):
    """Reads one session folder. Files are rewritten in place and in no order, so nothing is said before the end."""

    path: str
    files: dict[str, bytes] = field(default_factory=dict)

    def read(self, record: bytes, name: str) -> Iterator[Event]:
        """Nothing yet."""
        self.files[name] = bytes(record)
        return iter(())

    def end(self) -> Iterator[Event]:
        """The session, its messages in order, and how it ended."""
        contents = Contents()
        yield from sort_files(self.files, contents)
        if not contents.session:  # perhaps it comes later: all else is understood with it
            yield Problem("missing-header", "session.json")
            return
        line = line_of(self.path)
        session = line[-1] if line else text(contents.session.get("id")) or self.path
        parent = text(contents.session.get("parentSessionID")) or (line[-2] if len(line) > 1 else None)
        yield At("session.json")
        yield facts(session, parent, contents)
        yield from _story(session, _source(parent, contents.session), contents)


def reader(source: Source) -> BundleReader:
    """A reader for the folder of a session."""
    return BundleReader(storable(source.path))


def facts(session: str, parent: str | None, contents: Contents) -> Facts:
    """What the folder says about the session as a whole."""
    value, agent = contents.session, mapping(contents.session.get("agent"))
    time, version, named = mapping(value.get("time")), text(value.get("version")), text(value.get("id"))
    first = mapping(contents.messages[0].value.get("user")) if contents.messages else {}
    prompt = mapping(first.get("prompt"))
    return Facts(
        session=session,
        created_at=moment(time.get("created")),
        updated_at=moment(time.get("updated")),
        title=text(agent.get("name")),
        project=text(mapping(value.get("project")).get("root")),
        agent_version=None if version == "unknown" else version,
        persona=text(agent.get("id")) or text(agent.get("name")),
        channel="slack" if value.get("trigger") == "slack" else None,
        aliases=(named,) if named and named != session else (),
        parent_session=parent,
        task=text(prompt.get("user")) if parent else None,
        task_status=text(value.get("status")) if parent else None,
        extra=_extra(contents, text(prompt.get("user"))),
    )


def _extra(contents: Contents, instruction: str | None) -> dict[str, Any]:
    """Everything else that the files say about the session, as far as it is small."""
    extra = {
        key: value
        for key, value in contents.session.items()
        if key not in {"id", "parentSessionID", "version", "time"} and is_small(value)
    }
    answers = {
        message.id: {key: told[key] for key in ("mode", "cost", "summary", "context") if is_small(told.get(key))}
        for message in contents.messages
        if (told := mapping(message.value.get("assistant")))
    }
    if answers and is_small(answers):
        extra["messages"] = answers
    if contents.context:
        saved = contents.context.get("messages")
        extra["context"] = {
            "updatedAt": moment(contents.context.get("updatedAt")),
            "messages": len(saved) if isinstance(saved, list) else None,
        }
    if instruction and (before := _CONTINUES.match(instruction)):
        extra["continues"] = before[1]
    return extra


def _source(parent: str | None, session: dict[str, Any]) -> str:
    """Who asks."""
    trigger = session.get("trigger")
    if parent or mapping(session.get("agent")).get("isSubAgent") is True:
        return "agent"
    return _SOURCES.get(trigger, "human") if isinstance(trigger, str) else "human"


def _story(session: str, source: str, contents: Contents) -> Iterator[Event]:
    """The messages, one after the other."""
    compactions = [
        part.id for message in contents.messages for part in message.parts if part.value.get("type") == "compaction"
    ]
    unknown: set[str] = set()
    system: str | None = None
    for message in contents.messages:
        answer = mapping(message.value.get("assistant"))
        model, provider = _model(answer)
        exchange = Exchange(
            session,
            message.id,
            source,
            model,
            provider,
            artifacts=contents.artifacts,
            children=children(session, message.parts),
            context=contents.context,
            last_compaction=compactions[-1] if compactions else None,
            unknown=unknown,
        )
        yield At(message.file)
        system = yield from _opening(exchange, message, contents, system)
        for part in message.parts:
            yield At(part.file)
            yield from exchange.read(part)
        yield from _spawned(exchange, message)
        yield At(message.file)
        yield from _spent(exchange, message)
        yield from _failure(exchange, message)
    if contents.messages:
        yield At("session.json")
        yield from _ending(session, contents)


def _model(answer: dict[str, Any]) -> tuple[str | None, str | None]:
    """Model and provider; 0.15 writes `anthropic:claude-…` as the model's id."""
    model, provider = text(answer.get("modelID")), text(answer.get("providerID"))
    if model and provider:
        model = model.removeprefix(f"{provider}:") or model
    return model, provider


def _opening(
    exchange: Exchange, message: Message, contents: Contents, before: str | None
) -> Generator[Event, None, str | None]:
    """What the message begins with: settings, the system's texts where they are new, the prompt."""
    answer = mapping(message.value.get("assistant"))
    created = moment(mapping(message.value.get("time")).get("created"))
    texts = answer.get("system")
    texts = [item for item in texts if isinstance(item, str)] if isinstance(texts, list) else []
    system = hashlib.sha256("\n\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest() if texts else None
    yield Noted(
        session=exchange.session,
        at=created,
        model=exchange.model,
        provider=exchange.provider,
        tools=_tools(contents),
        workspace=text(mapping(answer.get("path")).get("cwd")),
        system_prompt_hash=system,
    )
    if system != before:
        for item in texts:
            yield Said(session=exchange.session, at=created, role="system", content=item, source="context")
    yield from _prompt(exchange, message, created)
    return system


def _tools(contents: Contents) -> tuple[str, ...] | None:
    """The names of the tools that the model was offered."""
    tools = contents.tools.get("tools")
    if not isinstance(tools, list):
        return None
    return tuple(name for tool in tools if (name := text(mapping(tool).get("name"))))


def _prompt(exchange: Exchange, message: Message, created: int | None) -> Iterator[Event]:
    """The agent's task and, after an empty line as the model saw it, the instruction of this run."""
    prompt = mapping(mapping(message.value.get("user")).get("prompt"))
    task, instruction = prompt.get("task"), text(prompt.get("user"))
    if not isinstance(task, str):
        yield Problem("bad-field", f"{message.id}: user.prompt.task")
        task = ""
    content = f"{task}\n\n{instruction}" if instruction else task
    blocks = None
    if instruction:
        blocks = (
            {"type": "text", "from": 0, "to": len(task)},
            {"type": "text", "from": len(task) + 2, "to": len(content)},
        )
    yield Said(
        session=exchange.session,
        native_id=message.id,
        at=created,
        role="user",
        content=content,
        blocks=blocks,
        source=exchange.source,
        starts_turn=True,
    )


def _spawned(exchange: Exchange, message: Message) -> Iterator[Event]:
    """What is known here about the sessions that calls of this message started."""
    for part in message.parts:
        if child := exchange.children.get(part.id):
            yield At(part.file)
            call = asked(part, {}, child)
            given = mapping(mapping(part.value.get("state")).get("input"))
            yield Facts(
                session=child,
                parent_session=exchange.session,
                parent_call=call.native_id,
                task=text(given.get("task")),
                task_status=call.status,
            )


def _spent(exchange: Exchange, message: Message) -> Iterator[Event]:
    """The tokens of all calls to the model, which the message sums up (a resumed run adds to it)."""
    answer = mapping(message.value.get("assistant"))
    tokens = mapping(answer.get("tokens"))
    cache = mapping(tokens.get("cache"))
    read, write = count(cache.get("read")), count(cache.get("write"))
    given, cached = count(tokens.get("input")), (read or 0) + (write or 0)
    # 0.15 counts the cache as input; where the sum is larger than the input, it did not.
    usage = Usage(
        input=given - cached if given is not None and given >= cached else given,
        output=count(tokens.get("output")),
        cached=read,
        cache_write=write,
        reasoning=count(tokens.get("reasoning")),
    )
    if any((given, usage.output, read, write)):
        yield Spent(
            session=exchange.session,
            at=moment(mapping(message.value.get("time")).get("completed")),
            usage=usage,
            usage_key=message.id,
            model=exchange.model,
            provider=exchange.provider,
        )


def _failure(exchange: Exchange, message: Message) -> Iterator[Event]:
    """A message that says itself that it failed."""
    error = mapping(mapping(message.value.get("assistant")).get("error"))
    if error:
        at = moment(mapping(message.value.get("time")).get("completed"))
        words = text(error.get("message")) or text(error.get("type")) or "unknown error"
        yield Closed(session=exchange.session, at=at, status="failed", error=words)


def _ending(session: str, contents: Contents) -> Iterator[Event]:
    """How the session ended; one that runs, waits or was killed has not."""
    value, error = contents.session, mapping(contents.session.get("error"))
    completed = moment(mapping(contents.messages[-1].value.get("time")).get("completed"))
    if value.get("status") == "completed":
        yield Closed(session=session, at=completed)
    elif value.get("status") == "error":
        words = [word for key in ("message", "code", "detail") if (word := text(error.get(key)))]
        yield Closed(
            session=session,
            at=moment(error.get("time")) or completed,
            status="failed",
            error="\n".join(words) or "unknown error",
        )
