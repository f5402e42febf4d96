"""A story as the body of a request to OpenAI's chat completions, and to whatever else speaks them."""

from collections.abc import Iterator

from agents_ledger.exports.requests import Api, Conversation, Json, Said, document, model_of, words_of
from agents_ledger.exports.texts import compact
from agents_ledger.model.story import Block, Call, Image, Result, Story, Text
from agents_ledger.model.writing import Losses

MEDIA = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MODELS = ("gpt-", "o1", "o3", "o4", "codex-")
MODEL = "gpt-5"  # for stories of other models
_API = Api(None, MEDIA, takes_urls=True)


def request(story: Story, losses: Losses) -> Iterator[str]:
    """The body, in pieces."""
    conversation = Conversation(story, _API, losses)
    head: Json = {"model": model_of(story, MODELS, MODEL)}
    messages = _messages(story, conversation, losses)
    yield from document(head, {"messages": messages}, lambda: _tools(conversation))


def _tools(conversation: Conversation) -> Json:
    found = [{"type": "function", "function": each} for each in functions(conversation)]
    return {"tools": found} if found else {}


def functions(conversation: Conversation) -> list[Json]:
    """The tools that were called; what they take is not in the record."""
    return [{"name": name, "parameters": {"type": "object"}} for name in conversation.tools]


def address(image: Image) -> str | None:
    """A picture as OpenAI takes it."""
    return image.url if image.data is None else f"data:{image.media_type};base64,{image.data}"


def result_text(result: Result, losses: Losses) -> str:
    """The text of a result; OpenAI has no mark for those that failed."""
    if result.is_error:
        losses.note("error-as-text", "OpenAI has no mark for a call that failed: only its words tell")
    return words_of(result)


def _messages(story: Story, conversation: Conversation, losses: Losses) -> Iterator[Json]:
    if story.system is not None:
        yield {"role": "system", "content": story.system}
    for said in conversation.said():
        if said.role == "assistant":
            yield _answer(said)
        elif said.role == "tool":
            yield from _results(said, losses)
        else:
            yield {"role": said.role, "content": _content(said.blocks)}


def _answer(said: Said) -> Json:
    texts = [block.text for block in said.blocks if isinstance(block, Text)]
    calls = [block for block in said.blocks if isinstance(block, Call)]
    told = [
        {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": compact(call.params)}}
        for call in calls
    ]
    return {
        "role": "assistant",
        "content": "\n\n".join(texts) or None,
        **({"tool_calls": told} if told else {}),
    }


def _results(said: Said, losses: Losses) -> Iterator[Json]:
    """Results are text only: pictures follow in the words of a user, behind all of them."""
    pictures: list[Block] = []
    for block in said.blocks:
        if isinstance(block, Result):
            yield {"role": "tool", "tool_call_id": block.call, "content": result_text(block, losses)}
            shown = [part for part in block.content if isinstance(part, Image)]
            pictures += [Text(f"[pictures of {block.call}]"), *shown] if shown else []
    if pictures:
        yield {"role": "user", "content": _content(pictures)}


def _content(blocks: "tuple[Block, ...] | list[Block]") -> str | list[Json]:
    if len(blocks) == 1 and isinstance(blocks[0], Text):
        return blocks[0].text
    return [_part(block) for block in blocks if isinstance(block, Text | Image)]


def _part(block: Text | Image) -> Json:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": address(block)}}
