"""A story as the body of a request to the Gemini API (`POST …/models/MODEL:generateContent`)."""

from collections.abc import Iterator

from agents_ledger.exports.requests import Api, Conversation, Json, Said, document, words_of
from agents_ledger.model.story import Block, Call, Image, Result, Story, Text, Thinking
from agents_ledger.model.writing import Losses

_API = Api("gemini", frozenset({"image/png", "image/jpeg", "image/webp"}))
# what Gemini 3 takes in place of its own signature on calls that another model made
_UNSIGNED = "skip_thought_signature_validator"


def request(story: Story, losses: Losses) -> Iterator[str]:
    """The body, in pieces; the model is named in the address."""
    conversation = Conversation(story, _API, losses)
    head: Json = {} if story.system is None else {"systemInstruction": {"parts": [{"text": story.system}]}}
    said = conversation.said({"tool": "user", "system": "user"})
    yield from document(head, {"contents": map(_content, said)}, lambda: _tools(conversation))


def _tools(conversation: Conversation) -> Json:
    found = [{"name": name, "description": "not in the record"} for name in conversation.tools]
    return {"tools": [{"functionDeclarations": found}]} if found else {}


def _content(said: Said) -> Json:
    blocks = sorted(said.blocks, key=lambda block: not isinstance(block, Result))  # results first
    parts = [part for block in blocks for part in _parts(block)]
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None and not any("thoughtSignature" in part for part in parts):
        first["thoughtSignature"] = _UNSIGNED
    return {"role": "model" if said.role == "assistant" else "user", "parts": parts}


def _parts(block: Block) -> Iterator[Json]:
    if isinstance(block, Text):
        yield {"text": block.text}
    elif isinstance(block, Thinking):
        yield {"text": block.text, "thought": True, "thoughtSignature": block.signature}
    elif isinstance(block, Image):
        yield {"inlineData": {"mimeType": block.media_type, "data": block.data}}
    elif isinstance(block, Call):
        yield {"functionCall": {"id": block.id, "name": block.tool, "args": block.params}}
    else:
        told = {"error" if block.is_error else "output": words_of(block)}
        yield {"functionResponse": {"id": block.call, "name": block.tool, "response": told}}
        yield from (part for each in block.content if isinstance(each, Image) for part in _parts(each))
