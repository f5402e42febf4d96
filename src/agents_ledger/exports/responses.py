"""A story as the body of a request to OpenAI's responses API, which takes encrypted reasoning back."""

from collections.abc import Iterator

from agents_ledger.exports.openai import MEDIA, MODEL, MODELS, address, functions, result_text
from agents_ledger.exports.requests import Api, Conversation, Json, Said, document, model_of
from agents_ledger.exports.texts import compact
from agents_ledger.model.story import Block, Call, Image, Result, Story, Text, Thinking
from agents_ledger.model.writing import Losses

_API = Api("openai", MEDIA, takes_urls=True)


def request(story: Story, losses: Losses) -> Iterator[str]:
    """The body, in pieces. Nothing is kept by the API: what is thought next comes back encrypted."""
    conversation = Conversation(story, _API, losses)
    head: Json = {"model": model_of(story, MODELS, MODEL)}
    head |= {} if story.system is None else {"instructions": story.system}
    head |= {"store": False, "include": ["reasoning.encrypted_content"]}
    items = (item for said in conversation.said() for item in _items(said, losses))
    yield from document(head, {"input": items}, lambda: _tools(conversation))


def _tools(conversation: Conversation) -> Json:
    found = [{"type": "function", **each, "strict": False} for each in functions(conversation)]
    return {"tools": found} if found else {}


def _items(said: Said, losses: Losses) -> Iterator[Json]:
    """The items of a message: its words together, as far as nothing stands between them."""
    words: list[Text | Image] = []
    for block in said.blocks:
        if isinstance(block, Text | Image):
            words.append(block)
            continue
        yield from _message(said, words)
        words = []
        yield _item(block, losses)
    yield from _message(said, words)


def _message(said: Said, words: list[Text | Image]) -> Iterator[Json]:
    if words and said.role == "assistant":  # with parts it would need an id of the API's
        text = "\n\n".join(part.text for part in words if isinstance(part, Text))
        yield {"type": "message", "role": said.role, "content": text}
    elif words:
        yield {"type": "message", "role": said.role, "content": [_part(part) for part in words]}


def _item(block: Block, losses: Losses) -> Json:
    if isinstance(block, Thinking):
        summary = [{"type": "summary_text", "text": block.text}] if block.text else []
        own = {} if block.id is None else {"id": block.id}
        return {"type": "reasoning", **own, "summary": summary, "encrypted_content": block.signature}
    if isinstance(block, Call):
        return {"type": "function_call", "call_id": block.id, "name": block.tool, "arguments": compact(block.params)}
    assert isinstance(block, Result), "words are told above"  # noqa: S101
    text = result_text(block, losses)
    shown = [part for part in block.content if isinstance(part, Image)]
    output = [_part(part) for part in block.content] if shown else text
    return {"type": "function_call_output", "call_id": block.call, "output": output}


def _part(part: Text | Image) -> Json:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "detail": "auto", "image_url": address(part)}
