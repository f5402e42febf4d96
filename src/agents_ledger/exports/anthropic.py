"""A story as the body of a request to Anthropic's messages API (`POST /v1/messages`)."""

from collections.abc import Iterator

from agents_ledger.exports.requests import Api, Conversation, Json, Said, document, model_of
from agents_ledger.model.messages_api import content_block
from agents_ledger.model.story import Block, Call, Result, Story
from agents_ledger.model.writing import Losses

_API = Api("anthropic", frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"}), takes_urls=True)
_MODEL = "claude-sonnet-4-5"  # for stories of other models
_MAX_TOKENS = 8192  # the API asks for a limit


def request(story: Story, losses: Losses) -> Iterator[str]:
    """The body, in pieces. Results come first in the message behind their calls."""
    conversation = Conversation(story, _API, losses)
    head: Json = {"model": model_of(story, ("claude",), _MODEL), "max_tokens": _MAX_TOKENS}
    head |= {} if story.system is None else {"system": story.system}
    said = conversation.said({"tool": "user", "system": "user"})
    yield from document(head, {"messages": map(_message, said)}, lambda: _tools(conversation))


def _tools(conversation: Conversation) -> Json:
    """Who shows calls must name the tools; what they take is not in the record."""
    found = [{"name": name, "input_schema": {"type": "object"}} for name in conversation.tools]
    return {"tools": found} if found else {}


def _message(said: Said) -> Json:
    results = [block for block in said.blocks if isinstance(block, Result)]
    others = [block for block in said.blocks if not isinstance(block, Result)]
    if said.role == "assistant":  # calls stand last: behind them the API takes results only
        others.sort(key=lambda block: isinstance(block, Call))
    return {"role": said.role, "content": [_block(block) for block in (*results, *others)]}


def _block(block: Block) -> Json:
    if not isinstance(block, Result):
        return content_block(block)
    content = {"content": [_block(part) for part in block.content]} if block.content else {}
    mark = {"is_error": True} if block.is_error else {}
    return {"type": "tool_result", "tool_use_id": block.call, **content, **mark}
