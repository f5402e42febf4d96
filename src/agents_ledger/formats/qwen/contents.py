"""What the lines of Qwen Code hold besides what they say: tokens, pictures, the seals of thoughts."""

from typing import Any

from agents_ledger.model.entries import Usage
from agents_ledger.model.gemini_api import images_of, parts_of, results_of
from agents_ledger.model.lines import values
from agents_ledger.model.loose import count, mapping, text
from agents_ledger.model.story import Held, Thinking, held_together


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
    return held_together(_held(value) for value in values(record) if isinstance(value, dict))


def _held(line: dict[str, Any]) -> Held:
    parts = mapping(line.get("message")).get("parts")
    thoughts = [
        Thinking(part["text"], text(part.get("thoughtSignature")), api="gemini")
        for part in parts_of(parts)
        if isinstance(part.get("text"), str) and part.get("thought") is True
    ]
    return Held(thoughts=tuple(thoughts), images=tuple(images_of(parts)), results=results_of(parts))
