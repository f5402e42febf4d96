"""The parts of a message: texts, thoughts, calls, their responses, pictures."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from agents_ledger.model.entries import Usage
from agents_ledger.model.lines import values
from agents_ledger.model.steps import Asked
from agents_ledger.model.story import Held, Image, Text, Thinking

Json = dict[str, Any]
_LIMIT = 2**53  # what JavaScript counts exactly
_RANKS = {"thinking": 0, "text": 1, "call": 2}


class Content(Struct):
    """What a message says, in the words of the ledger."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[Asked] = field(default_factory=list)
    responses: list[Json] = field(default_factory=list)
    pictures: list[Json] = field(default_factory=list)
    order: list[Json] = field(default_factory=list)

    @property
    def blocks(self) -> tuple[Json, ...] | None:
        """The order, where it is not thinking, text, calls, each once."""
        ranks = [_RANKS.get(block["type"], -1) for block in self.order]
        spoken = [rank for rank in ranks if rank in (0, 1)]
        is_usual = ranks == sorted(ranks) and len(set(spoken)) == len(spoken) and -1 not in ranks
        return None if is_usual else tuple(self.order)


def content_of(message: Any) -> Content:
    """The parts of a message, sorted."""
    found = Content()
    for part in parts_of(message):
        _take(found, part)
    return found


def parts_of(message: Any) -> Iterator[Json]:
    """The parts that are objects."""
    parts = mapping(message).get("parts")
    yield from (part for part in (parts if isinstance(parts, list) else []) if isinstance(part, dict))


def _take(found: Content, part: Json) -> None:
    words = part.get("text")
    if isinstance(words, str):
        is_thought = part.get("thought") is True
        into = found.thoughts if is_thought else found.texts
        start = sum(len(each) + 1 for each in into)
        into.append(words)
        found.order.append({"type": "thinking" if is_thought else "text", "from": start, "to": start + len(words)})
    elif isinstance(call := part.get("functionCall"), dict):
        found.order.append({"type": "call", "at": len(found.calls)})
        found.calls.append(Asked(text(call.get("name")) or "unknown", text(call.get("id")), call.get("args")))
    elif isinstance(response := part.get("functionResponse"), dict):
        found.responses.append(response)
    elif isinstance(data := part.get("inlineData"), dict):
        size = len(text(data.get("data")) or "") * 3 // 4  # it stands in base 64
        block = {"type": "image", "media_type": text(data.get("mimeType")), "size_bytes": size}
        found.pictures.append(block)
        found.order.append(block)
    elif part:
        found.order.append({"type": next(iter(part))[:100]})


def usage_of(told: Any) -> Usage | None:
    """The tokens of a call to the model; the cache is part of the prompt, the thoughts of the answer."""
    facts = mapping(told)
    prompt, cached = count(facts.get("promptTokenCount")), count(facts.get("cachedContentTokenCount"))
    whole, said = count(facts.get("totalTokenCount")), count(facts.get("candidatesTokenCount"))
    if prompt is None and said is None:
        return None
    answer = whole - prompt if whole is not None and prompt is not None and whole >= prompt else said
    given = prompt - cached if prompt is not None and cached is not None and prompt >= cached else prompt
    return Usage(input=given, output=answer, cached=cached, reasoning=count(facts.get("thoughtsTokenCount")))


def held(record: bytes) -> Held:
    """The pictures of a line, and the seals of its thoughts."""
    line = next((value for value in values(record) if isinstance(value, dict)), {})
    thoughts: list[Thinking] = []
    images: list[Image] = []
    results: dict[str, tuple[Text | Image, ...]] = {}
    for part in parts_of(line.get("message")):
        data, response = mapping(part.get("inlineData")), mapping(part.get("functionResponse"))
        if isinstance(part.get("text"), str) and part.get("thought") is True:
            thoughts.append(Thinking(part["text"], text(part.get("thoughtSignature")), api="gemini"))
        if data:
            images.append(Image(text(data.get("mimeType")), text(data.get("data"))))
        if name := text(response.get("id")):
            told = next((each for each in outcome(response) if isinstance(each, str) and each), None)
            results[name] = () if told is None else (Text(told),)
    if results and images and len(results) == 1:
        name, said = next(iter(results.items()))
        return Held(thoughts=tuple(thoughts), results={name: (*said, *images)})
    return Held(thoughts=tuple(thoughts), images=tuple(images))


def outcome(response: Json) -> tuple[Any, str | None]:
    """What came of a call: its result, or its error."""
    told = response.get("response")
    if not isinstance(told, dict):
        return told, None
    error = text(told.get("error"))
    if error is not None and "output" not in told:
        return None, error
    return (told["output"] if told.keys() <= {"output", "error"} and "output" in told else told), error


def mapping(value: Any) -> Json:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """The value if it is a text with something in it."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int | None:
    """The value if it is a number that counts something."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LIMIT else None
