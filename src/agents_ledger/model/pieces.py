"""A message in its pieces, in the order in which they were said: thinking, texts, calls, images."""

from typing import Any, Literal

from msgspec import Struct

from agents_ledger.model.rows import MessageRow
from agents_ledger.model.texts import read_json


class Piece(Struct, frozen=True):
    """A piece of a message. A `call` is the message's own call number `at`; a `thing` has facts in place of a text."""

    kind: Literal["thinking", "text", "call", "thing"]
    text: str = ""
    at: int = 0
    facts: dict[str, Any] = {}


def pieces(message: MessageRow) -> list[Piece]:
    """All of a message; where nothing else was written down, first what was thought, then what was said."""
    blocks = read_json(message.blocks_json) if message.blocks_json else None
    found = [_piece(block, message) for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    known = {piece.kind for piece in found}
    whole = [("thinking", message.thinking), ("text", message.content)]
    before = [Piece(kind, text) for kind, text in whole if text and kind not in known]  # type: ignore[arg-type]
    return before + [piece for piece in found if piece.kind in ("call", "thing") or piece.text]


def _piece(block: dict[str, Any], message: MessageRow) -> Piece:
    kind, first, last, at = (block.get(name) for name in ("type", "from", "to", "at"))
    if kind in ("thinking", "text") and isinstance(first, int) and isinstance(last, int):
        whole = message.thinking if kind == "thinking" else message.content
        return Piece(kind, (whole or "")[first:last])
    if kind == "call" and isinstance(at, int):
        return Piece("call", at=at)
    return Piece("thing", facts=block)
