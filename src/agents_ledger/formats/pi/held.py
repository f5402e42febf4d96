"""What an entry holds besides its text: signatures of thinking, pictures."""

from typing import Any

import msgspec

from agents_ledger.formats.pi.database import line_in
from agents_ledger.model.lines import values
from agents_ledger.model.story import Held, Image, Text, Thinking, held_together

_APIS = {"anthropic-messages": "anthropic", "openai-responses": "openai", "openai-codex-responses": "openai"}


def held(record: bytes) -> Held:
    """The seals and pictures of one entry: a line, or a row, in which it stands behind a line end."""
    line = line_in(record) if b"\n" in record else record
    return held_together(_held(value) for value in values(line or b"") if isinstance(value, dict))


def _held(entry: dict[str, Any]) -> Held:
    message = entry.get("message")
    message = message if isinstance(message, dict) else entry
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if message.get("role") == "toolResult":
        return Held(results={str(message.get("toolCallId")): tuple(map(_part, blocks))})
    return Held(
        thoughts=tuple(_thought(block, message) for block in blocks if block.get("type") == "thinking"),
        images=tuple(_image(block) for block in blocks if block.get("type") == "image"),
    )


def _part(block: dict[str, Any]) -> Text | Image:
    return _image(block) if block.get("type") == "image" else Text(str(block.get("text") or ""))


def _thought(block: dict[str, Any], message: dict[str, Any]) -> Thinking:
    api = message.get("api")
    seal, own = block.get("thinkingSignature"), _APIS.get(api) if isinstance(api, str) else None
    text, is_hidden = str(block.get("thinking") or ""), block.get("redacted") is True
    if own == "openai" and isinstance(seal, str):
        return _reasoning(text, seal)
    return Thinking(text, seal if isinstance(seal, str) else None, api=own, is_hidden=is_hidden)


def _reasoning(text: str, seal: str) -> Thinking:
    """OpenAI's reasoning: pi keeps the whole item as the signature."""
    try:
        item = msgspec.json.decode(seal)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return Thinking(text)
    if not isinstance(item, dict):
        return Thinking(text)
    sealed, name = item.get("encrypted_content"), item.get("id")
    return Thinking(text, sealed if isinstance(sealed, str) else None, name, "openai", is_hidden=not text)


def _image(block: dict[str, Any]) -> Image:
    data, kind = block.get("data"), block.get("mimeType")
    return Image(kind if isinstance(kind, str) else None, data if isinstance(data, str) else None)
