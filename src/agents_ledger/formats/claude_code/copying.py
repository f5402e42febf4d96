"""A transcript up to a turn, under a new session id: the lines of its chain as they are, nothing of other branches."""

from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, TypeVar

import msgspec

from agents_ledger.formats.claude_code.chain import Chain, Link, Said
from agents_ledger.model.writing import Fork, Line, Origin

T = TypeVar("T")
_links = msgspec.json.Decoder(Link)
_said = msgspec.json.Decoder(Said)


def again(origin: Origin, fork: Fork) -> Iterator[Line] | None:
    """The lines that Claude Code needs to be where it was; None if there is no whole chain up to the turn's last."""
    chain, ends = Chain(), [0]
    for piece in _pieces(origin):
        chain.add(_read(piece, _links))
        ends.append(len(chain.names))
    choice = chain.to_last()
    if choice is None:
        return None
    if 0 in choice.lines:
        choice.take_beside(chain, (said for piece in _pieces(origin) for said in _read(piece, _said)))
    is_plain = len(choice.sessions) == 1 and not chain.runs[-1].first.is_sidechain
    chosen = (choice.lines[start:end] for start, end in pairwise(ends))
    return _written(origin, chosen, fork.session, choice.sessions.pop() if is_plain else None)


def _pieces(origin: Origin) -> Iterator[bytes]:
    """Whole lines, many at once, up to the one that begins at the leaf."""
    for start, piece in origin.pieces():
        is_last = origin.leaf < start + len(piece)
        end = piece.find(b"\n", origin.leaf - start) + 1 if is_last else 0
        yield piece[:end] if end else piece
        if is_last:
            return


def _read(piece: bytes, decoder: "msgspec.json.Decoder[T]") -> list[T]:
    """What the lines of a piece say: all at once, unless one of them is broken, or holds two values."""
    try:
        found = decoder.decode_lines(piece)
    except (msgspec.DecodeError, ValueError, RecursionError):
        found = []
    # (msgspec reads one value after the other, wherever a line ends; Claude Code reads no line that holds two)
    is_one_each = len(found) == piece.count(b"\n") + (not piece.endswith(b"\n"))
    return found if is_one_each else [_read_line(line, decoder) for line in _lines(piece)]


def _read_line(line: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return decoder.decode(b"{}")  # Claude Code does not read it either


def _lines(piece: bytes) -> list[bytes]:
    return [line for line in piece.split(b"\n") if line and not line.isspace()]


def _written(origin: Origin, chosen: Iterable[bytearray], new: str, old: str | None) -> Iterator[Line]:
    """The chosen lines of each piece; those of several sessions (or of a subagent) are written anew, one by one."""
    for piece, wanted in zip(_pieces(origin), chosen, strict=True):
        for lines, count in _together(piece, wanted):
            moved = None if old is None else _moved(lines, count, old, new)
            yield Line(moved or b"\n".join(_own(line, new) for line in _lines(lines)), count=count)


def _together(piece: bytes, wanted: bytearray) -> Iterator[tuple[bytes, int]]:
    """The wanted lines of a piece, as many at once as stand together, and how many they are."""
    if wanted and 0 not in wanted:
        yield piece, len(wanted)
        return
    for is_wanted, group in groupby(zip(_lines(piece), wanted, strict=True), key=itemgetter(1)):
        if is_wanted:
            lines = [line for line, _ in group]
            yield b"\n".join(lines), len(lines)


def _moved(lines: bytes, count: int, old: str, new: str) -> bytes | None:
    """Lines of one session under another's id, no other byte of them changed; None if one names it in another way."""
    was, becomes = (b'"sessionId":' + msgspec.json.encode(name) for name in (old, new))
    parts = lines.split(was)
    return becomes.join(parts) if len(parts) > count else None


def _own(line: bytes, session: str) -> bytes:
    """A line of another session; a subagent's becomes one of a conversation of its own."""
    value: dict[str, Any] = msgspec.json.decode(line.decode("utf-8", "replace"))
    value.pop("agentId", None)
    return msgspec.json.encode({**value, "sessionId": session, "isSidechain": False})
