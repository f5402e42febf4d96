"""What was said, in the words of Gemini's API: parts. Gemini CLI and Qwen Code keep their messages so."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from agents_ledger.model.loose import Json, mapping, text
from agents_ledger.model.pictures import picture_of
from agents_ledger.model.steps import Asked
from agents_ledger.model.story import Image, Text

_RANKS = {"thinking": 0, "text": 1, "call": 2}
# Ids of messages that a fork was written with end in a number, or in one of these words.
WRITTEN_SUMMARY = "summary"  # the summary of a compaction, which the fork begins with
WRITTEN_ACKNOWLEDGED = "acknowledged"  # what the model is made to say to it


class Content(Struct):
    """What a message says, in the words of the ledger."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[Asked] = field(default_factory=list)
    responses: list["Response"] = field(default_factory=list)
    pictures: list[Json] = field(default_factory=list)  # that are no tool's
    order: list[Json] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)  # where the next text and the next thought begin

    @property
    def text(self) -> str | None:
        """Its words."""
        return "\n".join(self.texts) if self.texts else None

    @property
    def thinking(self) -> str | None:
        """What was thought."""
        return "\n".join(self.thoughts) if self.thoughts else None

    @property
    def blocks(self) -> tuple[Json, ...] | None:
        """The order, where it is not thinking, text, calls, each once."""
        ranks = [_RANKS.get(block["type"], -1) for block in self.order]
        spoken = [rank for rank in ranks if rank in (0, 1)]
        is_usual = ranks == sorted(ranks) and len(set(spoken)) == len(spoken) and -1 not in ranks
        return None if is_usual else tuple(self.order)

    def think(self, words: str) -> None:
        """One more thought."""
        self._put(words, self.thoughts, "thinking")

    def say(self, words: str) -> None:
        """One more text."""
        self._put(words, self.texts, "text")

    def ask(self, call: Asked) -> None:
        """One more call."""
        self.order.append({"type": "call", "at": len(self.calls)})
        self.calls.append(call)

    def _put(self, words: str, into: list[str], kind: str) -> None:
        start = self.starts.get(kind, 0)
        self.starts[kind] = start + len(words) + 1
        into.append(words)
        self.order.append({"type": kind, "from": start, "to": start + len(words)})


class Response(Struct):
    """What a tool gave: its response, and the pictures inside it or behind it."""

    value: Json
    pictures: list[Json] = field(default_factory=list)

    @property
    def call(self) -> str | None:
        """The call that it answers."""
        return text(self.value.get("id"))

    @property
    def outcome(self) -> tuple[Any, str | None]:
        """What came of the call, pictures included: its result, or its error."""
        result, error = _outcome(self.value.get("response"))
        words = [{"type": "text", "text": result}] if isinstance(result, str) and result else []
        return ([*words, *self.pictures] if self.pictures else result), error

    @property
    def words(self) -> str | None:
        """The same in words, if it has any."""
        return next((each for each in _outcome(self.value.get("response")) if isinstance(each, str) and each), None)


def content_of(parts: Any, *, is_ours: bool = False) -> Content:
    """The parts of a message, sorted; one that was written from here may have words in place of a picture."""
    found = Content()
    for part in parts_of(parts):
        words = part.get("text")
        block = picture_of(words) if is_ours and isinstance(words, str) else None
        if block is None:
            _take(found, part)
        else:
            found.pictures.append(block)
            found.order.append(block)
    return found


def parts_of(parts: Any) -> Iterator[Json]:
    """The parts that are objects; words alone stand for a text."""
    for part in parts if isinstance(parts, list) else [parts]:
        if isinstance(part, str):
            yield {"text": part}
        elif isinstance(part, dict):
            yield part


def _take(found: Content, part: Json) -> None:
    words = part.get("text")
    if isinstance(words, str):
        found.think(words) if part.get("thought") is True else found.say(words)
    elif isinstance(call := part.get("functionCall"), dict):
        found.ask(Asked(text(call.get("name")) or "unknown", text(call.get("id")), call.get("args")))
    elif isinstance(response := part.get("functionResponse"), dict):
        found.responses.append(Response(response, [_shown(data) for data in _pictures(response.get("parts"))]))
    elif isinstance(data := part.get("inlineData"), dict):
        block = _shown(data)
        (found.responses[-1].pictures if found.responses else found.pictures).append(block)
        found.order.append(block)
    elif part:
        found.order.append({"type": next(iter(part))[:100]})


def _shown(data: Json) -> Json:
    size = len(text(data.get("data")) or "") * 3 // 4  # it stands in base 64
    return {"type": "image", "media_type": text(data.get("mimeType")), "size_bytes": size}


def images_of(parts: Any) -> list[Image]:
    """The pictures among parts that are no tool's."""
    return _images(parts)[0]


def results_of(parts: Any) -> dict[str, tuple[Text | Image, ...]]:
    """What tools gave, by call, where there are pictures in it."""
    _, shown = _images(parts)
    told = zip(content_of(parts).responses, shown, strict=True)
    return {
        response.call: (*(Text(words) for words in [response.words] if words), *images)
        for response, images in told
        if response.call and images
    }


def _images(parts: Any) -> tuple[list[Image], list[list[Image]]]:
    """The pictures before any response of a tool, and those of each."""
    own: list[Image] = []
    shown: list[list[Image]] = []
    for part in parts_of(parts):
        if isinstance(response := part.get("functionResponse"), dict) and not isinstance(part.get("text"), str):
            shown.append([_image(data) for data in _pictures(response.get("parts"))])
        elif data := mapping(part.get("inlineData")):
            (shown[-1] if shown else own).append(_image(data))
    return own, shown


def _image(data: Json) -> Image:
    return Image(text(data.get("mimeType")), text(data.get("data")))


def _pictures(parts: Any) -> list[Json]:
    found = [mapping(part.get("inlineData")) for part in parts_of(parts)]
    return [data for data in found if data]


def _outcome(told: Any) -> tuple[Any, str | None]:
    if not isinstance(told, dict):
        return told, None
    error = text(told.get("error"))
    if error is not None and "output" not in told:
        return None, error
    return (told["output"] if told.keys() <= {"output", "error"} and "output" in told else told), error
