"""What every API asks of a conversation: roles in turn, each call with one result behind it, ids and names it takes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import groupby
from typing import Any, Literal

from msgspec import Struct

from agents_ledger.exports.pictures import picture
from agents_ledger.exports.texts import compact
from agents_ledger.model.pictures import described
from agents_ledger.model.retelling import NO_RESULT
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Story, Text, Thinking
from agents_ledger.model.writing import Losses

Json = dict[str, Any]
Role = Literal["user", "assistant", "tool", "system"]

_SUMMARY = "[summary of the conversation so far]"
_BEGINNING = "[the conversation begins]"
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_ID = 40  # OpenAI's chat completions take no more
_LONGEST_NAME = 64
_DIGITS = 8


class Api(Struct, frozen=True):
    """What an API takes."""

    seals: str | None  # whose thinking it takes back
    media: frozenset[str]  # of pictures
    takes_urls: bool = False


class Said(Struct, frozen=True):
    """One message of a request."""

    role: Role
    blocks: tuple[Block, ...]


class _Open(Struct):
    """A call, by the id that it had, and its result once it is known."""

    id: str
    call: Call
    result: Result | None = None

    def is_for(self, result: Result) -> bool:
        """Whether this is what it answers."""
        return self.result is None and self.id == result.call


class Conversation:
    """A story as an API takes it, message by message; afterwards, the tools that were called in it."""

    def __init__(self, story: Story, api: Api, losses: Losses) -> None:
        self._story = story
        self._api = api
        self._losses = losses
        self._ids: set[str] = set()
        self._open: list[_Open] = []  # calls whose results are being told, in order
        self._strays: list[Block] = []  # results of no call that is told: behind the others
        self.tools: dict[str, None] = {}

    def said(self, roles: Mapping[str, Role] | None = None) -> Iterator[Said]:
        """The messages. What follows each other in the same role is one; `roles` says which ones are the same."""
        own = roles or {}
        told = (Said(own.get(each.role, each.role), each.blocks) for each in self._begun())
        whole = (self._trimmed(each) for each in _joined(told))
        return _joined(each for each in whole if each.blocks)

    def _trimmed(self, said: Said) -> Said:
        blocks = list(said.blocks)
        while said.role == "assistant" and blocks and isinstance(blocks[-1], Thinking):
            blocks.pop()
            self._losses.note("thinking-left-out", "nothing was said behind it")
        return Said(said.role, tuple(blocks))

    def _begun(self) -> Iterator[Said]:
        is_first = True
        for each in self._told():
            if is_first and each.role not in ("user", "system"):
                yield Said("user", (Text(_BEGINNING),))
            is_first = False
            yield each

    def _told(self) -> Iterator[Said]:
        if self._story.summary is not None:
            yield Said("user", (Text(f"{_SUMMARY}\n\n{self._story.summary.text}"),))
        for entry in self._story.entries:
            if entry.role == "tool":
                self._answer(entry)
                continue
            yield from self._answers()
            blocks = tuple(self._entry(entry))
            if blocks:
                yield Said(entry.role, blocks)
        yield from self._answers()

    def _entry(self, entry: Entry) -> Iterator[Block]:
        is_answer = entry.role == "assistant"
        for block in entry.blocks:
            if isinstance(block, Call) and is_answer:
                yield self._call(block)
            elif isinstance(block, Thinking) and is_answer:
                yield from self._thought(block)
            else:
                parts = self._parts((block,))
                yield from map(self._in_words, parts) if is_answer else parts

    def _in_words(self, block: Block) -> Block:
        """What a model said: no API takes pictures of its own back."""
        if not isinstance(block, Image):
            return block
        self._losses.note("image-left-out", "made by the model")
        return Text(f"[{described(block)}]")

    def _answer(self, entry: Entry) -> None:
        for block in entry.blocks:
            waiting = (each for each in self._open if isinstance(block, Result) and each.is_for(block))
            found = next(waiting, None)
            if found is not None and isinstance(block, Result):
                found.result = block
            else:
                self._strays += self._parts((block,))

    def _answers(self) -> Iterator[Said]:
        """The results of all calls, in the order of the calls; then what belongs to none."""
        for each in self._open:
            yield Said("tool", (self._result(each.call, each.result),))
        if self._strays:
            yield Said("user", tuple(self._strays))
        self._open, self._strays = [], []

    def _call(self, block: Call) -> Call:
        tool = tool_name(block.tool)
        if tool != block.tool:
            self._losses.note("tool-renamed", block.tool)
        self.tools[tool] = None
        params = block.params if isinstance(block.params, dict) else {"input": block.params}
        call = Call(self._id(block.id), tool, params)
        self._open.append(_Open(block.id, call))
        return call

    def _id(self, given: str) -> str:
        """An id that the APIs take and that no other call of the request has; the same for the same story."""
        clean = _NOT_IN_IDS.sub("_", given)
        if clean != given or not clean or len(clean) > _LONGEST_ID or clean in self._ids:
            digest = sha256(f"{given}/{len(self._ids)}".encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
            clean = f"{clean[: _LONGEST_ID - _DIGITS - 1]}_{digest}"
        self._ids.add(clean)
        return clean

    def _result(self, call: Call, block: Result | None) -> Result:
        told = () if block is None else block.content
        content = tuple(part for part in self._parts(told) if isinstance(part, Text | Image))
        if block is None or (not content and block.status == "abandoned"):
            self._losses.note("no-result", call.tool)
            return Result(call.id, call.tool, (Text(NO_RESULT),), is_error=True, status="abandoned")
        return Result(call.id, call.tool, content, block.is_error, block.status)

    def _parts(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """What anybody can say: words and pictures; the rest in words."""
        for block in blocks:
            if isinstance(block, Image):
                yield self._picture(block)
            elif isinstance(block, Call):
                yield Text(f"[call: {block.tool} {compact(block.params)}]")
            elif isinstance(block, Result):
                yield Text(f"[result of {block.tool}]")
                yield from self._parts(block.content)
            elif isinstance(block, Text) and block.text.strip():
                yield block

    def _thought(self, block: Thinking) -> Iterator[Thinking]:
        if block.signature and block.api is not None and block.api == self._api.seals:
            yield block
        else:
            self._losses.note("thinking-left-out", "the API takes only what it sealed itself")

    def _picture(self, block: Image) -> Text | Image:
        found = picture(block)
        if found is not None and found.media_type in self._api.media:
            return Image(found.media_type, found.data)
        if self._api.takes_urls and block.url and block.url.startswith("https://"):
            return Image(block.media_type, None, block.url)
        self._losses.note("image-left-out", "its bytes are not here, or it is of a type that the API does not take")
        return Text(f"[{described(block)}]")


def _joined(said: Iterable[Said]) -> Iterator[Said]:
    """Messages of one role that follow each other, as one."""
    for role, several in groupby(said, key=lambda each: each.role):
        yield Said(role, tuple(block for each in several for block in each.blocks))


def tool_name(name: str) -> str:
    """A tool's name that every API takes."""
    clean = _NOT_IN_IDS.sub("_", name)[:_LONGEST_NAME] or "tool"
    return clean if clean[0].isalpha() or clean[0] == "_" else f"_{clean}"[:_LONGEST_NAME]


def words_of(result: Result) -> str:
    """The text of a result."""
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def document(head: Json, items: Mapping[str, Iterable[Json]], tail: Callable[[], Json]) -> Iterator[str]:
    """A JSON object, a line for each item of its one list, as they come; `tail` is what is known behind them."""
    yield "{\n"
    for key, value in head.items():
        yield f"{compact(key)}: {compact(value)},\n"
    for key, values in items.items():
        yield f"{compact(key)}: ["
        before = "\n"
        for value in values:
            yield before + compact(value)
            before = ",\n"
        yield "\n]"
    for key, value in tail().items():
        yield f",\n{compact(key)}: {compact(value)}"
    yield "\n}\n"


def model_of(story: Story, beginnings: tuple[str, ...], otherwise: str) -> str:
    """The turn's own model if it is one of the API's, else a known one."""
    own = story.model or ""
    return own if own.startswith(beginnings) else otherwise
