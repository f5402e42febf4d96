"""What was said, in the words of Anthropic's messages API: those of Claude Code's transcripts, too."""

from typing import Any

from agents_ledger.model.story import Call, Image, Text, Thinking


def content_block(block: Text | Thinking | Image | Call) -> dict[str, Any]:
    """One block of a message's content; results of tools are not among them, a transcript has these in its own way."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Thinking):
        hidden = {"type": "redacted_thinking", "data": block.signature}
        return hidden if block.is_hidden else {"type": "thinking", "thinking": block.text, "signature": block.signature}
    if isinstance(block, Image):
        return {"type": "image", "source": _source(block)}
    return {"type": "tool_use", "id": block.id, "name": block.tool, "input": block.params}


def _source(image: Image) -> dict[str, Any]:
    if image.data is None:
        return {"type": "url", "url": image.url}
    return {"type": "base64", "media_type": image.media_type or "image/png", "data": image.data}
