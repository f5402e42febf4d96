"""Messages while they are read: parts that the source wrote apart become one, their order kept."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from agents_ledger.model.entries import CodeBlock, File, Lint
from agents_ledger.model.steps import Said


class Pieces:
    """A text that grows piece by piece. It is put together once: to do so at each piece takes quadratic time."""

    __slots__ = ("_first", "_rest", "length")

    def __init__(self, first: str | None) -> None:
        self._first = first
        self._rest: list[str] | None = None  # most texts are one piece
        self.length = 0 if first is None else len(first)  # of the whole text

    def add(self, piece: str | None) -> None:
        """Append a piece on a new line."""
        if piece is None:
            return
        if self._first is None:
            self._first, self.length = piece, len(piece)
            return
        if self._rest is None:
            self._rest = []
        self._rest.append(piece)
        self.length += len(piece) + 1

    @property
    def is_none(self) -> bool:
        """Whether there is no piece, not even an empty one."""
        return self._first is None

    def whole(self) -> str | None:
        """The whole text; None if there is no piece."""
        return self._first if self._first is None or self._rest is None else "\n".join([self._first, *self._rest])


class Part(Struct):
    """One message, as far as it has been read."""

    role: str
    content: Pieces
    thinking: Pieces
    source: str | None = None
    context: Any = None
    metadata: Any = None
    blocks: list[dict[str, Any]] | None = None
    files: list[File] = []
    lints: list[Lint] = []
    codeblocks: list[CodeBlock] = []
    at: int = 0
    native_id: str | None = None
    evidence: list[str] = []  # places
    calls: int = 0  # how many it has made


def is_loose_result(role: str, metadata: Any) -> bool:
    """Whether a message is the result of a call that was not read. Its position among other messages means nothing."""
    if role != "tool":
        return False
    known = msgspec.json.decode(metadata) if isinstance(metadata, Raw) else metadata  # (of a turn that was stored)
    return isinstance(known, dict) and "call" in known and "status" in known


def is_context(part: Part) -> bool:
    """Whether a message was put before the model by the program, and is nobody's own words."""
    return part.source == "context" or part.role == "system"


def part_of(step: Said, at: int, place: str) -> Part:
    """A message that begins."""
    return Part(
        role=step.role,
        content=Pieces(step.content),
        thinking=Pieces(step.thinking),
        source=step.source,
        context=step.context,
        metadata=step.metadata,
        blocks=None if step.blocks is None else list(step.blocks),
        files=list(step.files),
        lints=list(step.lints),
        codeblocks=list(step.codeblocks),
        at=at,
        native_id=step.native_id,
        evidence=[place],
    )


def join(part: Part, step: Said, place: str) -> None:
    """Another part of a message. Where the order is not thinking, text, calls, it is written down."""
    is_usual = part.blocks is None and step.blocks is None
    is_usual = is_usual and not (step.content is not None and (not part.content.is_none or part.calls))
    has_more = part.thinking.length or part.content.length or part.calls
    is_usual = is_usual and not (step.thinking is not None and has_more)
    if not is_usual:
        if part.blocks is None:
            part.blocks = _usual_blocks(part.thinking, part.content, part.calls)
        part.blocks += _moved_blocks(step, part)
    part.content.add(step.content)
    part.thinking.add(step.thinking)
    part.files += step.files
    part.lints += step.lints
    part.codeblocks += step.codeblocks
    part.metadata = step.metadata if part.metadata is None else part.metadata
    note_place(part.evidence, place)


def _usual_blocks(thinking: Pieces, content: Pieces, calls: int) -> list[dict[str, Any]]:
    """The usual order, written down."""
    found: list[dict[str, Any]] = []
    if not thinking.is_none:
        found.append({"type": "thinking", "from": 0, "to": thinking.length})
    if not content.is_none:
        found.append({"type": "text", "from": 0, "to": content.length})
    found += [{"type": "call", "at": index} for index in range(calls)]
    return found


def _moved_blocks(step: Said, part: Part) -> list[dict[str, Any]]:
    """A later part's blocks, where they are in the whole message."""
    starts = {
        "text": 0 if part.content.is_none else part.content.length + 1,
        "thinking": 0 if part.thinking.is_none else part.thinking.length + 1,
    }
    found = []
    blocks = step.blocks
    if blocks is None:
        blocks = tuple(_usual_blocks(Pieces(step.thinking), Pieces(step.content), len(step.calls)))
    for block in blocks:
        kind = block.get("type")
        if kind in starts and "from" in block and "to" in block:
            start = starts[kind]
            found.append({**block, "from": block["from"] + start, "to": block["to"] + start})
        elif kind == "call" and "at" in block:
            found.append({**block, "at": block["at"] + part.calls})
        else:
            found.append(block)
    return found


def note_place(places: list[str], place: str) -> None:
    """Add a place in the evidence, unless it is the only one already."""
    if places != [place]:
        places.append(place)
