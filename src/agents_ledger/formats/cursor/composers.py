"""A composer: the rows of one conversation, put in order."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from agents_ledger.formats.cursor import prompts, sessions, wire
from agents_ledger.formats.cursor.bubbles import USER, Chat, Entry, events, summaries
from agents_ledger.formats.cursor.loose import decoded, mapping, moment, objects, text, uuid_moment
from agents_ledger.formats.cursor.tables import BLOB, BUBBLE, COMPOSER, HEADS, KEYS, name_of
from agents_ledger.model.steps import At, Event, Problem, Said

_DEPTH = 4  # subagents inside subagents


class Rows(Struct):
    """The rows of one composer, as they are."""

    composer: bytes | None = None  # None: no such row; b"": its value is NULL
    head: bytes | None = None
    bubbles: dict[str, bytes] = {}
    requests: dict[str, bytes] = {}
    checkpoints: dict[str, bytes] = {}
    states: list[bytes] = []
    bubble_states: list[bytes] = []


def conversation(session: str, rows: Rows, blobs: Mapping[str, bytes]) -> Iterator[Event]:
    """Everything that the rows of a composer tell."""
    place = _place(session, rows)
    data, problems = _own(session, rows)
    yield At(place)
    yield from problems
    head = decoded(rows.head)[0] if rows.head else None
    if head is not None and not data and not rows.bubbles:
        yield sessions.facts(session, head)
    if data or rows.bubbles:
        bubbles: dict[str, dict[str, Any]] = {}
        for name, row in rows.bubbles.items():
            found, wrong = decoded(row) if row else (None, [])
            yield At(name_of(BUBBLE, session, name))
            yield from wrong
            if found is not None:
                bubbles[name] = found
            else:
                yield Problem("lost-row", f"bubbleId:{session}:{name}")
        told = {**(head or {}), **data}
        chat = _chat(session, told, rows)
        chat.outcomes = prompts.all_outcomes(blobs.values())
        chat.place = place
        yield At(place)
        yield sessions.facts(session, told)
        yield from _opening(chat, rows, blobs)
        yield from spoken(chat, bubbles, set(rows.bubbles))


def spoken(chat: Chat, bubbles: dict[str, dict[str, Any]], known: set[str]) -> Iterator[Event]:
    """The messages of a composer, whose bubbles are rows (`bubbles`), or stand inside it."""
    entries = list(_entries(chat, bubbles))
    if chat.place is not None:
        yield At(chat.place)
    lost = [entry.id for entry in entries if entry.bubble is None and entry.id not in known]
    yield from (Problem("lost-row", f"bubbleId:{chat.session}:{name}") for name in lost)
    told = False
    for entry in entries:
        if chat.place is not None:
            yield At(name_of(BUBBLE, chat.session, entry.id) if entry.id in known else chat.place)
        yield from events(chat, entry)
        told = told or bool(mapping((entry.bubble or {}).get("conversationSummary")))
        yield from _embedded(chat, entry.bubble or {})
    latest = mapping(chat.data.get("latestConversationSummary"))
    if not told and latest:
        if chat.place is not None:
            yield At(chat.place)
        inner = mapping(latest.get("summary")) or latest
        yield from summaries(chat, text(latest.get("lastBubbleId")) or "latest", inner, None)


def inline(session: str, data: dict[str, Any], depth: int = 0) -> Iterator[Event]:
    """A composer whose conversation stands inside it (2024, and subagents kept in their call)."""
    chat = _chat(session, data, Rows())
    chat.depth = depth
    yield from spoken(chat, {}, set())


def _place(session: str, rows: Rows) -> str:
    """The row that stands for the whole: the composer's, its head, or if both are gone its first bubble."""
    if rows.composer is None and rows.head is None and rows.bubbles:
        return name_of(BUBBLE, session, next(iter(rows.bubbles)))
    return f"{HEADS}\n{session}" if rows.composer is None else name_of(COMPOSER, session)


def _own(session: str, rows: Rows) -> tuple[dict[str, Any], list[Problem]]:
    if rows.composer:
        data, problems = decoded(rows.composer)
        if data is not None:
            return data, problems
        return {}, [*problems, Problem("lost-row", f"composerData:{session}")]
    missing = rows.composer is not None or bool(rows.bubbles)
    return {}, [Problem("lost-row", f"composerData:{session}")] if missing else []


def _chat(session: str, data: dict[str, Any], rows: Rows) -> Chat:
    requests = {name: decoded(row)[0] for name, row in rows.requests.items() if row}
    checkpoints = {name: decoded(row)[0] for name, row in rows.checkpoints.items() if row}
    return Chat(
        session=session,
        data=data,
        latest_at=moment(data.get("createdAt")),
        model=sessions.model_name(data),
        by_agent=sessions.is_subagent(session, data),
        running=data.get("status") == "generating"
        or (bool(data.get("generatingBubbleIds")) and data.get("status") not in ("completed", "aborted")),
        requests={name: value for name, value in requests.items() if value},
        checkpoints={name: value for name, value in checkpoints.items() if value},
    )


def _opening(chat: Chat, rows: Rows, blobs: Mapping[str, bytes]) -> Iterator[Event]:
    """The system prompt and the context that was sent before the first question, where Cursor kept them."""
    roots = [wire.state(chat.data.get("conversationState"))]
    for state in (*reversed(rows.states), *rows.bubble_states):
        roots += [state, blobs.get(state.strip().decode("latin-1"), b"")]
    names = next((found for root in roots if (found := wire.references(root))), [])
    for name, value in prompts.opening(names, blobs):
        yield At(f"{KEYS}\n{BLOB}{name}")
        yield Said(
            session=chat.session,
            native_id=name,
            at=chat.latest_at,
            role=value["role"],
            content=prompts.said_text(value["content"]),
            source="context",
        )


def _entries(chat: Chat, bubbles: dict[str, dict[str, Any]]) -> Iterator[Entry]:
    """The bubbles in their order: the list's; after it those that no list names, by time."""
    inside = {
        text(bubble.get("bubbleId")) or f"#{at}": bubble
        for at, bubble in enumerate(objects(chat.data.get("conversation")))
    }
    stored = mapping(chat.data.get("conversationMap"))
    inside.update({name: bubble for name, bubble in stored.items() if isinstance(bubble, dict)})
    listed = {
        name: header
        for header in objects(chat.data.get("fullConversationHeadersOnly"))
        if (name := text(header.get("bubbleId"))) is not None
    } or {name: {} for name in inside}
    chat.names = {server: name for name, header in listed.items() if (server := text(header.get("serverBubbleId")))}
    chat.names.update({name: name for name in (*bubbles, *inside)})
    first = True
    for name, header in listed.items():
        yield Entry(name, header, bubbles.get(name, inside.get(name)), starts=first)
        first = False
    rest = [(name, bubble) for name, bubble in {**inside, **bubbles}.items() if name not in listed]
    for name, bubble in sorted(rest, key=lambda item: (_when(*item), item[0])):
        # without any list (its row was lost) the rest is the conversation itself
        starts = first or (not listed and bubble.get("type") == USER)
        yield Entry(name, {}, bubble, orphan=True, starts=starts)
        first = False


def _when(name: str, bubble: Mapping[str, Any]) -> int:
    return moment(bubble.get("createdAt")) or uuid_moment(name) or 0


def _embedded(chat: Chat, bubble: Mapping[str, Any]) -> Iterator[Event]:
    """The subagents whose conversation is kept inside their call."""
    data = bubble.get("toolFormerData")
    for tool in [data] if isinstance(data, dict) else list(objects(data)):
        inner = mapping(mapping(tool.get("additionalData")).get("composerData"))
        call = text(tool.get("toolCallId"))
        if inner and call and chat.depth < _DEPTH:
            inner = {key: value for key, value in inner.items() if key != "fullConversationHeadersOnly"}
            yield sessions.facts(f"{sessions.TASK}{call}", inner)
            yield from inline(f"{sessions.TASK}{call}", inner, chat.depth + 1)
