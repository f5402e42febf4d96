"""Bubbles: Cursor's word for one message, one thought or one tool call."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from agents_ledger.formats.cursor import calls, context
from agents_ledger.formats.cursor.loose import mapping, moment, objects, small, text, texts, uuid_moment
from agents_ledger.formats.cursor.prompts import Outcome
from agents_ledger.model.steps import Compacted, Event, Said

USER = 1  # the type of a person's bubble; 2 is the model's
_DEPTH = 60


class Chat(Struct):
    """What the bubbles of a conversation share."""

    session: str
    data: dict[str, Any]
    latest_at: int | None = None  # of the bubbles so far; the composer's beginning before
    model: str | None = None  # of the bubbles so far; the composer's choice before
    by_agent: bool = False
    running: bool = False  # an answer is being written
    outcomes: dict[str, Outcome] = {}
    requests: dict[str, Any] = {}  # request or bubble id → the context that was sent along
    checkpoints: dict[str, Any] = {}
    names: dict[str, str] = {}  # the server's bubble ids → ours
    place: str | None = None  # the record of the composer, where the bubbles are records too
    depth: int = 0  # of a subagent that is kept inside the call of another one


class Entry(Struct, frozen=True):
    """A place in a conversation: what the list says, and the bubble if it is there."""

    id: str
    header: dict[str, Any]
    bubble: dict[str, Any] | None
    orphan: bool = False  # a row that the list does not name
    starts: bool = False


def events(chat: Chat, entry: Entry) -> Iterator[Event]:
    """The message of a bubble, the facts about subagents that it started, and a summary that stands in it."""
    bubble = entry.bubble if entry.bubble is not None else {}
    found = calls.tools(bubble)
    done = [(tool, chat.outcomes.get(text(tool.get("toolCallId")) or "")) for tool in found]
    asked = tuple(calls.asked(tool, entry.header, outcome, running=chat.running) for tool, outcome in done)
    more = _more(chat, entry, [calls.facts(tool, outcome) for tool, outcome in done])
    yield _said(chat, entry, bubble, asked, more)
    for tool, call in zip(found, asked, strict=True):
        yield from calls.children(chat.session, tool, call.status)
    yield from summaries(chat, entry.id, bubble.get("conversationSummary"), _at(chat, entry, bubble))


def summaries(chat: Chat, bubble: str, value: object, at: int | None) -> Iterator[Compacted]:
    """The compaction that a summary tells of."""
    summary = mapping(value)
    words = text(summary.get("summary"))
    if words is None:
        return
    kept = text(summary.get("clientShouldStartSendingFromInclusiveBubbleId"))
    facts = {key: item for key, item in summary.items() if key != "summary" and isinstance(item, str | bool) and item}
    yield Compacted(
        session=chat.session,
        native_id=f"{bubble}/summary",
        at=at,
        summary=words,
        first_kept=chat.names.get(kept) if kept else None,
        metadata=facts or None,
        identity=_hash(at, "summary", words) if at is not None else None,
    )


def identity(bubble: Mapping[str, Any], role: str, words: str) -> str | None:
    """What a duplicated chat keeps: time, role and text (bubble ids may be new). Without a time there is nothing."""
    at = moment(bubble.get("createdAt")) or moment(mapping(bubble.get("timingInfo")).get("clientStartTime"))
    return None if at is None else _hash(at, role, words)


def _said(chat: Chat, entry: Entry, bubble: dict[str, Any], asked: tuple[Any, ...], more: dict[str, Any]) -> Said:
    role = _role(entry, bubble)
    words = content(bubble)
    chat.model = text(mapping(bubble.get("modelInfo")).get("modelName")) or chat.model
    at = _at(chat, entry, bubble)
    chat.latest_at = at if not entry.orphan else chat.latest_at
    starts = entry.starts or (role == "user" and not entry.orphan)
    request = chat.requests.pop(text(bubble.get("requestId")) or "", None) or chat.requests.pop(entry.id, None)
    blocks = tuple(context.codeblocks(bubble, chat.data.get("codeBlockData")))
    if blocks:
        bubble = {key: value for key, value in bubble.items() if key not in ("codeBlocks", "suggestedCodeBlocks")}
    return Said(
        session=chat.session,
        native_id=entry.id,
        at=at,
        role=role,
        content=words,
        thinking=thinking(bubble),
        calls=asked,
        source=("agent" if chat.by_agent else "human") if role == "user" else None,
        starts_turn=starts,
        model=chat.model if role == "assistant" else None,
        context=context.context(bubble, request),
        metadata=context.metadata(bubble, more),
        files=context.distinct(
            (*context.files(bubble), *(file for tool in calls.tools(bubble) for file in calls.files(tool)))
        ),
        lints=tuple(context.lints(bubble)),
        codeblocks=blocks,
        identity=identity({**entry.header, **bubble}, role, words or "") if starts else None,
        error=_error(bubble),
    )


def content(bubble: Mapping[str, Any]) -> str | None:
    """The text of a bubble; what was typed into the editor if only that is there."""
    return (
        text(bubble.get("text")) or text(bubble.get("rawText")) or _typed(mapping(bubble.get("richText")).get("root"))
    )


def thinking(bubble: Mapping[str, Any]) -> str | None:
    """The model's thoughts."""
    value = bubble.get("thinking")
    if found := text(mapping(value).get("text")) or text(value):
        return found
    blocks = bubble.get("allThinkingBlocks")
    parts = [*texts(blocks), *(block["text"] for block in objects(blocks) if text(block.get("text")))]
    return "\n".join(parts) or None


def _role(entry: Entry, bubble: Mapping[str, Any]) -> Literal["user", "assistant"]:
    kind = bubble.get("type", entry.header.get("type"))
    return "user" if kind == USER and not isinstance(kind, bool) else "assistant"


def _at(chat: Chat, entry: Entry, bubble: Mapping[str, Any]) -> int | None:
    header = entry.header
    return (
        moment(bubble.get("createdAt"))
        or moment(header.get("createdAt"))
        or moment(header.get("startedAtMs"))
        or moment(mapping(bubble.get("timingInfo")).get("clientStartTime"))
        or uuid_moment(entry.id)
        or chat.latest_at
    )


def _more(chat: Chat, entry: Entry, tools: list[Any]) -> dict[str, Any]:
    """What the list, the calls and other rows add to a bubble's metadata."""
    bubble = entry.bubble
    more: dict[str, Any] = {}
    if entry.orphan:
        more["orphan"] = True
    if bubble is None:
        more["lost"] = True
    if tools:
        more["toolFormerData"] = tools[0] if len(tools) == 1 else tools
    if header := {key: value for key, value in entry.header.items() if key not in ("bubbleId", "type", "createdAt")}:
        more["header"] = small(header)
    if held := chat.checkpoints.get(text((bubble or {}).get("checkpointId")) or ""):
        more["checkpoint"] = {key: len(value) for key, value in held.items() if isinstance(value, list | dict)}
    return more


def _error(bubble: Mapping[str, Any]) -> str | None:
    details = mapping(bubble.get("errorDetails"))
    return text(details.get("message")) or text(details.get("error"))


def _typed(node: object, depth: int = 0) -> str | None:
    """The text of a Lexical document."""
    if not isinstance(node, dict) or depth > _DEPTH:
        return None
    if node.get("type") == "linebreak":
        return "\n"
    if found := text(node.get("text")):
        return found
    parts = [part for child in objects(node.get("children")) if (part := _typed(child, depth + 1)) is not None]
    return ("\n" if node.get("type") == "root" else "").join(parts) or None


def _hash(at: int | None, role: str, words: str) -> str:
    return f"{at}:{role}:{hashlib.sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()}"
