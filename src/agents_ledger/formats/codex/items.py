"""Response items: what the model was given and what it answered."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from agents_ledger.formats.codex.contents import Content, contents, result
from agents_ledger.formats.codex.fields import Item, rows, table, text, wrong
from agents_ledger.formats.codex.state import State, unique
from agents_ledger.formats.codex.texts import folder, injected, meant, outcome, own, patched
from agents_ledger.model.entries import CallStatus
from agents_ledger.model.steps import Answered, Asked, Event, Facts, Noted, Said

_PASSTHROUGH = "internal_chat_message_metadata_passthrough"
_any_json = msgspec.json.Decoder(msgspec.Raw)


def response_item(state: State, item: Item, about: Item, at: int | None) -> Iterator[Event]:
    """The events of one item; `about` is the metadata that stands beside it."""
    kind = item.get("type")
    handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
    if handler is None:
        yield from state.strange(f"response_item/{kind}" if isinstance(kind, str) else kind)
        return
    yield from wrong(item, kind if isinstance(kind, str) else "item", id=str, call_id=str)
    yield from handler(state, item, about, at)


def _message(state: State, item: Item, about: Item, at: int | None) -> Iterator[Event]:
    yield from wrong(item, "message", role=str, content=(list, str))
    role = item.get("role")
    content = contents(item.get("content"))
    if role == "assistant":
        yield from _answer(state, item, about, content, at)
    elif role == "user":
        yield from _from_user(state, item, content, at)
    else:
        state.pause()
        yield Said(
            session=state.session,
            native_id=unique(text(item, "id")),
            at=at,
            role="system",
            content=content.text,
            blocks=content.blocks,
            source="context",
        )


def _answer(state: State, item: Item, about: Item, content: Content, at: int | None) -> Iterator[Event]:
    native_id = unique(text(item, "id"))
    if about.get("compaction_output") is True:  # the summary that the next `compacted` record holds
        state.pause()
        yield Noted(session=state.session, native_id=native_id, at=at)
        return
    phase = text(item, "phase")
    yield Said(
        session=state.session,
        native_id=native_id,
        at=at,
        role="assistant",
        content=content.text,
        blocks=content.blocks,
        joins=state.part(),
        model=state.model,
        provider=state.provider,
        metadata={"phase": phase} if phase else None,
    )


def _from_user(state: State, item: Item, content: Content, at: int | None) -> Iterator[Event]:
    state.pause()
    native_id = unique(text(item, "id"))
    if not state.placed and (place := folder(content.text or "")) and any(map(injected, content.parts)):
        state.placed = True
        if state.until is None:
            yield Facts(session=state.session, project=place)
    if not _asks(item, content):
        kind = next(filter(None, map(meant, content.parts)), None)
        yield Said(
            session=state.session,
            native_id=native_id,
            at=at,
            role="user",
            content=content.text,
            blocks=content.blocks,
            source="context",
            metadata={"kind": kind} if kind else None,
        )
        return
    yield Said(
        session=state.session,
        native_id=native_id,
        at=at,
        role="user",
        content=content.text,
        blocks=content.blocks,
        files=content.files,
        source=_asker(state, content.text or ""),
        starts_turn=True,
        identity=state.question(content.text or "", native_id, text(table(item, _PASSTHROUGH), "turn_id")),
    )


class TurnCount(Struct):
    """Counts the turns that begin with records: as Codex marks it, with a question, at and behind a compaction."""

    count: int = 0
    is_marked: bool = False  # Codex began a turn, its question follows
    is_compacted: bool = False

    def with_record(self, entry: Item) -> int:
        """The number of turns, this record included."""
        kind, item = entry.get("type"), table(entry, "payload")
        if kind == "event_msg" and item.get("type") in ("task_started", "turn_started"):
            self.count, self.is_marked, self.is_compacted = self.count + 1, True, False
        elif kind == "compacted" or (kind == "response_item" and (self.is_compacted or _is_question(item))):
            self.count += not self.is_marked
            self.is_marked, self.is_compacted = False, kind == "compacted"
        return self.count


def _is_question(item: Item) -> bool:
    is_from_user = item.get("type") == "message" and item.get("role") == "user"
    return is_from_user and _asks(item, contents(item.get("content")))


def _asks(item: Item, content: Content) -> bool:
    """Whether a user's message is one: by the marks of its parts (0.166), else by what injected texts look like."""
    kinds = rows(table(item, _PASSTHROUGH), "content_item_kinds")
    if kinds and len(kinds) == len(rows(item, "content")):
        return any(own(kind) for kind in kinds)
    return not any(injected(part) for part in content.parts)


def _asker(state: State, words: str) -> str:
    if state.subagent and not state.copying:
        return "agent"
    # the outcome of a review, written as if a user had said it: the user began it, by a command
    return "event" if words.lstrip().startswith("<user_action>") else "human"


def _agent_message(state: State, item: Item, _about: Item, at: int | None) -> Iterator[Event]:
    """What another agent said (multi-agent v2)."""
    state.pause()
    content = contents(item.get("content"))
    native_id = unique(text(item, "id"))
    first = state.subagent and state.asked == 0
    starts = state.triggered or first
    state.triggered = False
    turn = text(table(item, _PASSTHROUGH), "turn_id")
    people = {key: name[:200] for key in ("author", "recipient") if (name := text(item, key))}
    yield Said(
        session=state.session,
        native_id=native_id,
        at=at,
        role="user",
        content=content.text,
        blocks=content.blocks,
        source="agent",
        starts_turn=starts,
        identity=state.question(content.text or "", native_id, turn) if starts else None,
        metadata=people or None,
    )


def _reasoning(state: State, item: Item, _about: Item, at: int | None) -> Iterator[Event]:
    parts = contents(rows(item, "summary")).parts + contents(rows(item, "content")).parts
    native_id = unique(text(item, "id"))
    if not any(parts):  # sealed: nothing to read
        state.part()
        yield Noted(session=state.session, native_id=native_id, at=at)
        return
    yield Said(
        session=state.session,
        native_id=native_id,
        at=at,
        role="assistant",
        thinking="\n".join(parts),
        joins=state.part(),
        model=state.model,
        provider=state.provider,
    )


def _called(state: State, item: Item, asked: Asked, at: int | None, patch: str = "") -> Said:
    """A message that consists of one call: the engine joins it to the others of its response."""
    return Said(
        session=state.session,
        native_id=unique(text(item, "id")),
        at=at,
        role="assistant",
        calls=(asked,),
        joins=state.part(),
        model=state.model,
        provider=state.provider,
        files=patched(patch),
    )


def _function_call(state: State, item: Item, _about: Item, at: int | None) -> Iterator[Event]:
    yield from wrong(item, "function_call", name=str, arguments=str, namespace=str)
    name, space = text(item, "name") or "unknown", text(item, "namespace")
    arguments = item.get("arguments")
    asked = Asked(
        f"{space}.{name}" if space else name,
        text(item, "call_id"),
        spelled(arguments) if isinstance(arguments, str) else arguments,
        started_at=at,
    )
    yield _called(state, item, asked, at, arguments if isinstance(arguments, str) else "")


def _custom_call(state: State, item: Item, _about: Item, at: int | None) -> Iterator[Event]:
    yield from wrong(item, "custom_tool_call", name=str, input=str)
    given = item.get("input")
    asked = Asked(text(item, "name") or "unknown", text(item, "call_id"), given, started_at=at)
    yield _called(state, item, asked, at, given if isinstance(given, str) else "")


def _hosted_call(state: State, item: Item, _about: Item, at: int | None) -> Iterator[Event]:
    """A call that the API answers itself (web search), or whose answer comes later (local shell, tool search)."""
    kind = str(item["type"]).removesuffix("_call")
    given = item.get("action", item.get("arguments"))
    answered = kind == "web_search" and item.get("status") == "completed"
    asked = Asked(
        kind,
        text(item, "call_id") or unique(text(item, "id")),
        spelled(given) if isinstance(given, str) else given,
        status="completed" if answered else "pending",
        started_at=at,
        completed_at=at if answered else None,
    )
    yield _called(state, item, asked, at)


def _image_call(state: State, item: Item, _about: Item, at: int | None) -> Iterator[Event]:
    image, prompt = item.get("result"), text(item, "revised_prompt")
    done = isinstance(image, str) and bool(image)
    asked = Asked(
        "image_generation",
        text(item, "call_id") or unique(text(item, "id")),
        {"revised_prompt": prompt} if prompt else None,
        result={"type": "image", "size_bytes": len(image) * 3 // 4} if isinstance(image, str) and image else None,
        status="completed" if done else "pending",
        started_at=at,
        completed_at=at if done else None,
    )
    yield _called(state, item, asked, at)


def _output(state: State, item: Item, _about: Item, at: int | None) -> Iterator[Event]:
    state.pause()
    call = text(item, "call_id")
    if call is None:
        yield from state.strange(f"{item['type']} without call_id")
        return
    given = item.get("output")
    success: object = None
    if isinstance(given, dict):  # {content, success} in 2025
        success, given = given.get("success"), given.get("content", given)
    answer = item.get("tools") if item["type"] == "tool_search_output" else result(given)
    status, error = _ending(answer)
    if success is False and status == "completed":
        status, error = "failed", "not successful"
    yield Answered(
        session=state.session,
        native_id=unique(text(item, "id")),
        at=at,
        call=call,
        result=answer,
        status=status,
        error=error,
        spawned=_spawned(answer),
    )


def _ending(answer: Any) -> tuple[CallStatus, str | None]:
    """How a call ended, by its (first) text."""
    first = contents(answer).parts[:1] if isinstance(answer, list) else (answer,)
    return outcome(first[0]) if first and isinstance(first[0], str) else ("completed", None)


def _spawned(answer: Any) -> str | None:
    """The thread that `spawn_agent` started, by its answer."""
    if not isinstance(answer, str) or not answer.startswith('{"agent_id":"'):
        return None
    try:
        found = msgspec.json.decode(answer)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return text(found, "agent_id")


def _sealed(state: State, item: Item, _about: Item, at: int | None) -> Iterator[Event]:
    """Snapshots and encrypted summaries: nothing to read, a place in the chain at the most."""
    if native_id := unique(text(item, "id")):
        yield Noted(session=state.session, native_id=native_id, at=at)


def spelled(words: str) -> Any:
    """JSON that came as a string, byte for byte; the string itself if it is not JSON."""
    try:
        raw = words.encode()
        _any_json.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return words
    return msgspec.Raw(raw)


Handler = Callable[[State, Item, Item, int | None], Iterator[Event]]
_HANDLERS: Final[dict[str, Handler]] = {
    "message": _message,
    "agent_message": _agent_message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "custom_tool_call": _custom_call,
    "local_shell_call": _hosted_call,
    "web_search_call": _hosted_call,
    "tool_search_call": _hosted_call,
    "image_generation_call": _image_call,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "local_shell_call_output": _output,
    "tool_search_output": _output,
    "mcp_tool_call_output": _output,
    "ghost_snapshot": _sealed,
    "compaction": _sealed,
    "compaction_summary": _sealed,
    "context_compaction": _sealed,
    "compaction_trigger": _sealed,
    "other": _sealed,
}
TYPES: Final = frozenset(_HANDLERS)
