"""A story in the words of another agent: what it has words for stays what it is, the rest becomes readable text."""

import re
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from agents_ledger.model.pictures import placeholder
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Story, Text, Thinking
from agents_ledger.model.tools import translate
from agents_ledger.model.writing import Losses

KEPT_UNSENT = "kept"  # in place of an API: the agent keeps thinking, and never sends it
NO_RESULT = "No result: the call was not answered before the conversation was forked."
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_ID = 60  # OpenAI takes 64 characters


def retold(story: Story, agent: str, api: str | None, losses: Losses) -> Iterator[Entry]:
    """Entries for an agent; `api` is whose seals on thinking it can send. Results follow their calls, at once."""
    if story.system:
        losses.note("context-left-out", "the system prompt: the other program has its own")
    teller = _Teller(agent, api, losses, is_own=story.origin == agent)
    for entry in story.entries:
        yield from teller.entry(entry)
    yield from teller.rest()


class _Teller:
    def __init__(self, agent: str, api: str | None, losses: Losses, *, is_own: bool) -> None:
        self._agent = agent
        self._is_own = is_own  # the agent's own tools: they are called as they were
        self._api = api
        self._losses = losses
        self._as_text: set[str] = set()  # calls that were told as text: their results are, too
        self._tools: dict[str, str] = {}  # what calls are called here: so are their results
        self._waiting: list[Entry] = []  # such results: behind those of real calls

    def entry(self, entry: Entry) -> Iterator[Entry]:
        if entry.is_injected:
            self._losses.note("context-left-out", "what the other program adds by itself")
            return
        if entry.role == "tool":
            yield from self._results(entry)
            return
        yield from self.rest()
        blocks = tuple(block for each in entry.blocks for block in self._block(each))
        texts = [block for block in blocks if not isinstance(block, Call)]
        calls = [block for block in blocks if isinstance(block, Call)]
        if blocks:
            yield replace(entry, blocks=(*texts, *calls))

    def rest(self) -> Iterator[Entry]:
        """Results that became text and were not told yet."""
        waiting, self._waiting = self._waiting, []
        yield from waiting

    def _results(self, entry: Entry) -> Iterator[Entry]:
        for block in entry.blocks:
            if not isinstance(block, Result):
                yield from self.entry(replace(entry, role="user", blocks=(block,)))
                continue
            content = tuple(self._content(block))
            if block.call in self._as_text:
                head = Text(f"[{'failed' if block.is_error else 'result'}: {block.tool}]")
                self._waiting.append(replace(entry, role="user", source="context", blocks=(head, *content)))
            else:
                tool = self._tools.pop(block.call, block.tool)
                told = Result(clean_id(block.call), tool, content, block.is_error, block.status)
                yield replace(entry, blocks=(told,))

    def _content(self, block: Result) -> Iterator[Text | Image]:
        if block.status == "abandoned" and not block.content:
            self._losses.note("no-result", block.tool)
            yield Text(NO_RESULT)
        for each in block.content:
            yield self._picture(each) if isinstance(each, Image) else each

    def _block(self, block: Block) -> Iterator[Block]:
        if isinstance(block, Thinking):
            yield from self._thought(block)
        elif isinstance(block, Image):
            yield self._picture(block)
        elif isinstance(block, Call):
            yield self._call(block)
        elif not isinstance(block, Text) or block.text:
            yield block

    def _thought(self, block: Thinking) -> Iterator[Block]:
        if block.signature and self._api in (block.api, "any"):
            yield block
        elif self._api == KEPT_UNSENT:
            self._losses.note("thinking-left-out", f"{self._agent} keeps it, and does not send it")
            yield block
        elif block.is_hidden or not block.text:
            self._losses.note("thinking-left-out", "sealed for the model that thought it")
        else:
            self._losses.note("thinking-as-text", "its seal means nothing to another model")
            yield Text(f"<thinking>\n{block.text}\n</thinking>")

    def _picture(self, block: Image) -> Text | Image:
        if block.data or block.url:
            return block
        self._losses.note("image-left-out", "its bytes are not here")
        return Text(placeholder(block))

    def _call(self, block: Call) -> Block:
        found = (block.tool, block.params, []) if self._is_own else translate(block.tool, block.params, self._agent)
        if found is None:
            self._as_text.add(block.id)
            self._losses.note("tool-as-text", block.tool)
            return Text(f"[call: {block.tool} {_json(block.params)}]")
        tool, params, left = found
        self._tools[block.id] = tool
        for name in left:
            self._losses.note("parameter-left-out", f"{block.tool}.{name}")
        return Call(clean_id(block.id), tool, params)


def clean_id(call: str) -> str:
    """An id of a call that every API takes; the same for the same."""
    clean = _NOT_IN_IDS.sub("_", call)
    return clean if len(clean) <= _LONGEST_ID else clean[:_LONGEST_ID]


def _json(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
