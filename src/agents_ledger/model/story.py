"""A conversation as an agent would see it, in nobody's own words: what is told to another agent, an API or a person.

A story goes up to one turn of one thread. What a compaction took away is not in it; its summary and what it kept are.
`ledger/story.py` tells it from the rows, with what only the evidence holds (signatures, pictures).
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import Struct

Role = Literal["user", "assistant", "tool", "system"]


class Text(Struct, frozen=True, tag="text"):
    """Words."""

    text: str


class Thinking(Struct, frozen=True, tag="thinking"):
    """What the model thought; signed or sealed in a way that only the API it came from understands."""

    text: str
    signature: str | None = None  # Anthropic's signature or hidden thinking, OpenAI's encrypted content
    id: str | None = None  # the API's own id of it
    api: str | None = None  # whose seal it is: 'anthropic', 'openai' …
    is_hidden: bool = False  # there is nothing to read, only the seal


class Image(Struct, frozen=True, tag="image"):
    """A picture, as base64 or by its address; with neither, only that there was one."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    size_bytes: int | None = None


class Call(Struct, frozen=True, tag="call"):
    """A tool call, as the model made it."""

    id: str
    tool: str
    params: Any = None


class Result(Struct, frozen=True, tag="result"):
    """What came of a call; one that nobody knows the end of has the status 'abandoned' and no content."""

    call: str
    tool: str
    content: tuple["Text | Image", ...] = ()
    is_error: bool = False
    status: str = "completed"


Block = Text | Thinking | Image | Call | Result


class Entry(Struct, frozen=True, kw_only=True):
    """One message, its blocks in order. Each result of a tool is an entry of its own, behind the call's."""

    role: Role
    blocks: tuple[Block, ...]
    turn_id: str
    at: int
    source: str | None = None  # 'human', 'agent', 'context' …
    # put in by the agent's own program (the folder, reminders, rules): another program puts in its own
    is_injected: bool = False
    model: str | None = None
    provider: str | None = None
    is_kept: bool = False  # stands before the newest compaction, which kept it
    # an error of the API in the model's place: its own program shows it, and does not tell its model
    is_unsent: bool = False


class Summary(Struct, frozen=True):
    """What the newest compaction says in place of what came before."""

    text: str
    turn_id: str
    at: int
    tokens_before: int | None = None


class Story(Struct, frozen=True, kw_only=True):
    """All of it. `entries` are told one after the other while the snapshot of the ledger is open, and once only."""

    turn_id: str
    at: int  # of the last turn
    entries: Iterable[Entry]
    summary: Summary | None = None
    system: str | None = None
    origin: str | None = None  # the agent in whose session the turn was written
    session: str | None = None  # that agent's own id of it
    label: str | None = None  # the session's label here
    project: str | None = None  # the working folder
    git_branch: str | None = None
    title: str | None = None
    model: str | None = None
    provider: str | None = None
    persona: str | None = None  # on whose behalf the agent spoke
    facts: dict[str, Any] = {}  # what else its sources say about the session


class Told(Struct, frozen=True):
    """A message of a context that an agent wrote down as a whole."""

    role: Role
    blocks: tuple[Block, ...]
    is_injected: bool = False


class Held(Struct, frozen=True):
    """What a record of a source holds besides the text that the ledger has of it."""

    thoughts: tuple[Thinking, ...] = ()
    images: tuple[Image, ...] = ()
    results: dict[str, tuple[Text | Image, ...]] = {}  # by call: its content in order, pictures included
    context: tuple[Told, ...] | None = None  # of a compaction: everything that the model sees from then on
    is_unsent: bool = False  # the agent shows this, and does not tell its model: an error of the API


def held_together(parts: Iterable[Held]) -> Held:
    """What the values of one record hold. There is one, unless a line end is missing between two of them."""
    found = list(parts)
    if len(found) <= 1:
        return found[0] if found else Held()
    return Held(
        thoughts=tuple(thought for each in found for thought in each.thoughts),
        images=tuple(image for each in found for image in each.images),
        results={call: content for each in found for call, content in each.results.items()},
        context=next((each.context for each in found if each.context is not None), None),
        is_unsent=all(each.is_unsent for each in found),
    )


def nothing_held(_record: bytes) -> Held:
    """Of a format whose records hold nothing else."""
    return Held()


Reveal = Callable[[str, bytes], Held]  # format, record


class Loss(Struct, frozen=True):
    """Something that could not be carried over as it was, and how often."""

    code: str
    detail: str
    count: int = 1
