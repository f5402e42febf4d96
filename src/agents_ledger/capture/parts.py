"""Messages while they are read: parts that the source wrote apart become one, their order kept."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from agents_ledger.model.entries import CodeBlock, File, Lint
from agents_ledger.model.steps import Said


class Part(Struct):
    """One message, as far as it has been read."""

    role: str
    content: str | None = None
    thinking: str | None = None
    source: str | None = None
    context: Any = None
    metadata: Any = None
    blocks: list[dict[str, Any]] | None = None
    files: tuple[File, ...] = ()
    lints: tuple[Lint, ...] = ()
    codeblocks: tuple[CodeBlock, ...] = ()
    at: int = 0
    native_id: str | None = None
    evidence: str | None = None
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
        content=step.content,
        thinking=step.thinking,
        source=step.source,
        context=step.context,
        metadata=step.metadata,
        blocks=None if step.blocks is None else list(step.blocks),
        files=step.files,
        lints=step.lints,
        codeblocks=step.codeblocks,
        at=at,
        native_id=step.native_id,
        evidence=place,
    )


def join(part: Part, step: Said, place: str) -> None:
    """Another part of a message. Where the order is not thinking, text, calls, it is written down."""
    is_usual = part.blocks is None and step.blocks is None
    is_usual = is_usual and not (step.content is not None and (part.content is not None or part.calls))
    is_usual = is_usual and not (step.thinking is not None and (part.thinking or part.content or part.calls))
    if not is_usual:
        before = _blocks_of(part) if part.blocks is None else part.blocks
        part.blocks = before + _moved_blocks(step, part)
    part.content = _joined_text(part.content, step.content)
    part.thinking = _joined_text(part.thinking, step.thinking)
    part.files = part.files if not step.files else part.files + step.files
    part.lints += step.lints
    part.codeblocks += step.codeblocks
    part.metadata = step.metadata if part.metadata is None else part.metadata
    part.evidence = both(part.evidence, place)


def _joined_text(one: str | None, other: str | None) -> str | None:
    if one is None or other is None:
        return other if one is None else one
    return f"{one}\n{other}"


def _blocks_of(part: Part) -> list[dict[str, Any]]:
    """The usual order, written down."""
    found: list[dict[str, Any]] = []
    if part.thinking is not None:
        found.append({"type": "thinking", "from": 0, "to": len(part.thinking)})
    if part.content is not None:
        found.append({"type": "text", "from": 0, "to": len(part.content)})
    found += [{"type": "call", "at": index} for index in range(part.calls)]
    return found


def _moved_blocks(step: Said, part: Part) -> list[dict[str, Any]]:
    """A later part's blocks, where they are in the whole message."""
    own = Part(role="", content=step.content, thinking=step.thinking, calls=len(step.calls))
    starts = {
        "text": 0 if part.content is None else len(part.content) + 1,
        "thinking": 0 if part.thinking is None else len(part.thinking) + 1,
    }
    found = []
    for block in step.blocks if step.blocks is not None else _blocks_of(own):
        kind = block.get("type")
        if kind in starts and "from" in block and "to" in block:
            start = starts[kind]
            found.append({**block, "from": block["from"] + start, "to": block["to"] + start})
        elif kind == "call" and "at" in block:
            found.append({**block, "at": block["at"] + part.calls})
        else:
            found.append(block)
    return found


def both(one: str | None, other: str) -> str:
    """Two places in the evidence."""
    return other if one is None or one == other else f"{one} {other}"
