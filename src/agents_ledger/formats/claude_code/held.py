"""What a line holds besides its text: signatures of thinking, pictures."""

from typing import Any

from agents_ledger.model.lines import values
from agents_ledger.model.story import Held, Image, Text, Thinking, held_together

_API = "anthropic"


def held(record: bytes) -> Held:
    """The seals and pictures of one line."""
    return held_together(_held(value) for value in values(record) if isinstance(value, dict))


def _held(line: dict[str, Any]) -> Held:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return Held(
        thoughts=tuple(thought for block in blocks if (thought := _thought(block)) is not None),
        images=tuple(_image(block) for block in blocks if block.get("type") == "image"),
        results={str(block["tool_use_id"]): _result(block) for block in blocks if "tool_use_id" in block},
        is_unsent=line.get("isApiErrorMessage") is True,
    )


def _thought(block: dict[str, Any]) -> Thinking | None:
    if block.get("type") == "thinking":
        return Thinking(str(block.get("thinking") or ""), block.get("signature"), api=_API)
    if block.get("type") == "redacted_thinking":
        return Thinking("", block.get("data"), api=_API, is_hidden=True)
    return None


def _result(block: dict[str, Any]) -> tuple[Text | Image, ...]:
    content = block.get("content")
    if not isinstance(content, list):
        return (Text(content),) if isinstance(content, str) else ()
    found = [item for item in content if isinstance(item, dict)]
    return tuple(_image(item) if item.get("type") == "image" else Text(_words(item)) for item in found)


def _words(item: dict[str, Any]) -> str:
    text = item.get("text")
    return text if isinstance(text, str) else f"[{item.get('type', 'unknown')}]"


def _image(block: dict[str, Any]) -> Image:
    source = block.get("source")
    if not isinstance(source, dict):
        return Image()
    data, kind = source.get("data"), source.get("media_type")
    return Image(kind, data if isinstance(data, str) else None, source.get("url"))
