"""What a record holds besides its text: pictures, and the context after a compression."""

from collections.abc import Iterator

from agents_ledger.formats.gemini.messages import answer_of, is_context
from agents_ledger.model.gemini_api import content_of, images_of, parts_of, results_of
from agents_ledger.model.lines import values
from agents_ledger.model.loose import Json, mapping, text
from agents_ledger.model.story import Block, Call, Held, Result, Text, Told


def held(record: bytes) -> Held:
    """The pictures of a line of a log, or the context that it sets."""
    value = next((one for one in values(record) if isinstance(one, dict)), {})
    messages = mapping(value.get("$set")).get("messages")
    if isinstance(messages, list):
        told = [one for one in messages if isinstance(one, dict) and not is_context(one)]
        return Held(context=tuple(said for one in told for said in _told(one)))
    parts, calls = value.get("content"), value.get("toolCalls")
    results = results_of(parts)
    for call in calls if isinstance(calls, list) else ():
        results |= results_of(mapping(call).get("result"))
    return Held(images=tuple(images_of(parts)), results=results)


def _told(value: Json) -> Iterator[Told]:
    """A message of a context; what tools gave is told by itself."""
    parts = value.get("content")
    if value.get("type") == "gemini":
        content = answer_of(value)
        calls = [Call(call.native_id or "", call.tool, call.params) for call in content.calls]
        blocks: tuple[Block, ...] = (*map(Text, filter(None, content.texts)), *calls)
    else:
        yield from _results(value)
        texts = [Text(part["text"]) for part in parts_of(parts) if text(part.get("text"))]
        blocks = (*texts, *images_of(parts))
    if blocks:
        yield Told("assistant" if value.get("type") == "gemini" else "user", blocks)


def _results(value: Json) -> Iterator[Told]:
    parts = value.get("content")
    shown = results_of(parts)
    for response in content_of(parts).responses:
        result, error = response.outcome
        said = (Text(response.words),) if response.words else ()
        name, tool = response.call or "", text(response.value.get("name")) or "unknown"
        yield Told("tool", (Result(name, tool, shown.get(name, said), is_error=result is None and error is not None),))
