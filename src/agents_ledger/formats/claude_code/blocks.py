"""Content blocks: texts, thinking and calls in their order, and small facts about what is too large to repeat."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from agents_ledger.formats.claude_code.lines import Block, plain
from agents_ledger.model.entries import File
from agents_ledger.model.steps import Asked, Problem

_FILES = {
    "Read": "read",
    "NotebookRead": "read",
    "Write": "written",
    "Edit": "written",
    "MultiEdit": "written",
    "NotebookEdit": "written",
}
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_COMMON = {"thinking": 0, "text": 1, "call": 2}  # the order that needs no `blocks`


class Touched(Struct, frozen=True, gc=False):
    """The parameters of a call that name a file."""

    file_path: str | None = None
    notebook_path: str | None = None
    offset: int | None = None
    limit: int | None = None


class Pile(Struct, gc=False):
    """What the blocks of one line hold together."""

    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Asked] = []
    files: list[File] = []
    order: list[dict[str, Any]] = []
    problems: list[Problem] = []

    def fields(self) -> dict[str, Any]:
        """The fields of the step: with the order of the blocks, where it is not the common one."""
        found: dict[str, Any] = {}
        if self.texts:
            found["content"] = "\n".join(self.texts)
        if self.thoughts:
            found["thinking"] = "\n".join(self.thoughts) or None
        if self.calls:
            found["calls"] = tuple(self.calls)
        if self.files:
            found["files"] = tuple(self.files)
        if not self._common():
            found["blocks"] = self._placed()
        return found

    def _common(self) -> bool:
        """Whether thinking, text and calls say the order by themselves."""
        if len(self.texts) > 1 or len(self.thoughts) > 1:
            return False
        ranks = [_COMMON.get(block["type"], -1) for block in self.order]
        return -1 not in ranks and ranks == sorted(ranks)

    def _placed(self) -> tuple[dict[str, Any], ...]:
        """The order of the blocks, each with its place in the joined text or among the calls."""
        places = {"text": 0, "thinking": 0, "call": 0}
        placed = []
        for block in self.order:
            word = block["type"]
            if word == "call":
                placed.append({"type": "call", "at": places["call"]})
                places["call"] += 1
            elif "length" in block:
                start = places[word]
                placed.append({"type": word, "from": start, "to": start + block["length"]})
                places[word] = start + block["length"] + 1
            else:
                placed.append(block)
        return tuple(placed)


def piled(content: str | list[Block] | None, at: int | None) -> Pile:
    """The blocks of a message, without the results of tools."""
    pile = Pile()
    if isinstance(content, str):
        pile.texts.append(content)
        pile.order.append({"type": "text", "length": len(content)})
        return pile
    for block in content or ():
        if block.type == "text":
            text = block.text or ""
            pile.texts.append(text)
            pile.order.append({"type": "text", "length": len(text)})
        elif block.type == "thinking":
            thought = block.thinking or ""
            pile.thoughts.append(thought)
            pile.order.append({"type": "thinking", "length": len(thought)})
        elif block.type in _CALLS:
            _add_call(pile, block, at)
        elif not block.tool_use_id and block.type != "tool_result":
            pile.order.append(facts(block))
    return pile


def facts(block: Block) -> dict[str, Any]:
    """Small facts about a block whose bytes stay in the evidence: an image, a document, hidden thinking."""
    if block.type == "redacted_thinking":
        return {"type": "redacted_thinking", "size_bytes": _size(block.data)}
    return {"type": block.type or "unknown", **source_facts(block.source)}


def source_facts(source: Any) -> dict[str, Any]:
    """Media type and size of an image's or document's `source`, or where it is."""
    source, _ = plain(source)
    if not isinstance(source, dict):
        return {}
    found = {word: source[word] for word in ("media_type", "url", "file_id") if isinstance(source.get(word), str)}
    if isinstance(data := source.get("data"), str):
        found["size_bytes"] = _decoded_size(data) if source.get("type") == "base64" else len(data)
    return found


def _decoded_size(data: str) -> int:
    """How many bytes base64 text stands for."""
    return max(0, len(data) * 3 // 4 - data[-2:].count("="))


def _size(data: Any) -> int:
    return max(0, len(bytes(data)) - 2) if isinstance(data, Raw) else len(str(data))


def _add_call(pile: Pile, block: Block, at: int | None) -> None:
    """A tool call, and the file that it reads or writes."""
    params, problems = _params(block.input)
    pile.problems.extend(problems)
    pile.calls.append(Asked(tool=block.name or "", native_id=block.id, params=params, started_at=at))
    pile.order.append({"type": "call"})
    if block.name in _FILES and (file := _file(block.name, params)):
        pile.files.append(file)


def _params(value: Any) -> tuple[Any, list[Problem]]:
    """Parameters byte for byte, as a copy that does not keep the whole line; decoded if they are not UTF-8."""
    if not isinstance(value, Raw):
        return value, []
    data = bytes(value)
    if not data:
        return None, []
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return plain(value)
    return Raw(data), []


_touched = msgspec.json.Decoder(Touched).decode


def _file(tool: str, params: Any) -> File | None:
    """The file that a call names."""
    try:
        touched = _touched(params) if isinstance(params, Raw) else msgspec.convert(params, Touched)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    path = touched.file_path or touched.notebook_path
    if not path:
        return None
    kind = _FILES[tool]
    if kind == "written" or not _positive(touched.offset):
        return File(path, "written" if kind == "written" else "read")
    end = touched.offset + touched.limit - 1 if touched.offset and _positive(touched.limit) and touched.limit else None
    return File(path, "read", touched.offset, end)


def _positive(number: int | None) -> bool:
    return number is not None and 0 < number < 1 << 31
