"""The blocks of a message: texts, thinking, calls and their order, without the bytes of images."""

from collections.abc import Sequence
from typing import Any

from msgspec import Raw, Struct

from agents_ledger.formats.pi.fields import kept, present, word
from agents_ledger.formats.pi.lines import Block, Content
from agents_ledger.model.steps import Asked

_RANKS = {"thinking": 0, "text": 1, "call": 2}


class Parts(Struct):
    """What a message consists of."""

    content: str | None = None
    thinking: str | None = None
    calls: tuple[Asked, ...] = ()
    blocks: tuple[dict[str, Any], ...] | None = None  # only where the order is not thinking, text, calls
    answers: tuple[Block, ...] = ()  # results of tools, in the seed's shape
    images: int = 0
    bad: bool = False


def parts_of(content: Content) -> Parts:
    """A message's content, taken apart."""
    if content is None or isinstance(content, str):
        return Parts(content=content)
    parts, order, lengths = Parts(), [], {"text": -1, "thinking": -1}
    texts: dict[str, list[str]] = {"text": [], "thinking": []}
    calls: list[Asked] = []
    for block in content:
        kind, text = block.type, block.thinking if block.type == "thinking" else block.text
        if kind in ("text", "thinking") and isinstance(text, str):
            begin = lengths[kind] + 1
            lengths[kind] = begin + len(text)
            texts[kind].append(text)
            place = {"type": kind, "from": begin, "to": lengths[kind]}
            order.append({**place, "redacted": True} if block.redacted is True else place)
        elif kind in ("toolCall", "tool_use"):
            order.append({"type": "call", "at": len(calls)})
            calls.append(_call(block))
            parts.bad = parts.bad or word(block.name) is None
        elif kind == "tool_result":
            parts.answers = (*parts.answers, block)
        else:
            order.append(_other(block))
            parts.images += kind == "image"
            parts.bad = parts.bad or kind in ("text", "thinking") or not isinstance(kind, str)
    parts.content = "\n".join(texts["text"]) if texts["text"] else None
    parts.thinking = "\n".join(texts["thinking"]) if texts["thinking"] else None
    parts.calls = tuple(calls)
    parts.blocks = None if _common(order, texts) else tuple(order)
    return parts


def _common(order: Sequence[dict[str, Any]], texts: dict[str, list[str]]) -> bool:
    """Whether the blocks stand in the order that needs no saying: one thinking, one text, the calls."""
    if len(texts["text"]) > 1 or len(texts["thinking"]) > 1:
        return False
    ranks = [_RANKS.get(str(block["type"]), -1) for block in order]
    return all(rank >= 0 for rank in ranks) and ranks == sorted(ranks) and not any("redacted" in b for b in order)


def _call(block: Block) -> Asked:
    params = block.arguments if block.type == "toolCall" else block.input
    return Asked(tool=word(block.name) or "unknown", native_id=word(block.id), params=kept(params))


def _other(block: Block) -> dict[str, Any]:
    """A block that is kept in the evidence only: its kind and small facts."""
    kind = word(block.type)
    if kind != "image":
        return {"type": (kind or "unknown")[:60]}
    return {"type": "image", **(present(media_type=word(block.mime_type), size_bytes=_size(block.data)) or {})}


def _size(data: Raw) -> int | None:
    """How many bytes base64 stands for."""
    text = bytes(data).strip(b'"') if isinstance(data, Raw) else data
    if not isinstance(text, bytes | str) or not text:
        return None
    padding = len(text) - len(text.rstrip(b"=" if isinstance(text, bytes) else "="))
    return len(text) * 3 // 4 - padding


def result_of(content: Content) -> Any:
    """A tool's result as the model saw it: one text, or a list of blocks."""
    if content is None or isinstance(content, str):
        return content
    if len(content) == 1 and isinstance(content[0].text, str):
        return content[0].text
    return [
        {"type": "text", "text": block.text} if isinstance(block.text, str) else _other(block) for block in content
    ] or ""


def text_of(content: Content) -> str:
    """All texts of it, as one."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content or () if isinstance(block.text, str))
