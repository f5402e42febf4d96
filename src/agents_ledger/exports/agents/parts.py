"""Messages as Gemini and its relatives keep them: a role and parts."""

from collections.abc import Iterator
from typing import Any

from agents_ledger.exports.pictures import picture
from agents_ledger.model.pictures import placeholder
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Story, Text
from agents_ledger.model.writing import Losses

Json = dict[str, Any]
# what Gemini CLI and Qwen Code let the model say to the summary of a compaction
_ACKNOWLEDGEMENT = (Text("Got it. Thanks for the additional context!"),)


def begun(story: Story, entries: Iterator[Entry]) -> Iterator[Entry]:
    """The entries; behind a summary the model says first that it has read it, unless it speaks there anyway."""
    first = next(entries, None)
    if story.summary is not None and (first is None or first.role != "assistant"):
        at, turn_id = story.summary.at, story.summary.turn_id
        yield Entry(role="assistant", blocks=_ACKNOWLEDGEMENT, turn_id=turn_id, at=at)
    if first is not None:
        yield first
    yield from entries


def is_acknowledgement(entry: Entry) -> bool:
    """Whether an entry is what the model says to a summary in `begun`: nobody said it."""
    return entry.blocks is _ACKNOWLEDGEMENT


def parts(block: Block, losses: Losses) -> Iterator[Json]:
    """The parts of a block; a result's pictures stand behind it."""
    if isinstance(block, Text):
        yield {"text": block.text}
    elif isinstance(block, Image):
        yield _picture(block, losses)
    elif isinstance(block, Call):
        params = block.params if isinstance(block.params, dict) else {"input": block.params}
        yield {"functionCall": {"id": block.id, "name": block.tool, "args": params}}
    elif isinstance(block, Result):
        text = "\n".join(part.text for part in block.content if isinstance(part, Text))
        told = {"error" if block.is_error else "output": text}
        yield {"functionResponse": {"id": block.call, "name": block.tool, "response": told}}
        yield from (_picture(part, losses) for part in block.content if isinstance(part, Image))


def _picture(image: Image, losses: Losses) -> Json:
    found = picture(image)
    if found is None:
        losses.note("image-left-out", "its bytes are not here, or are no picture of a known type")
        return {"text": placeholder(image)}
    return {"inlineData": {"mimeType": found.media_type, "data": found.data}}
