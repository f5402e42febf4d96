"""A transcript up to a turn, under a new session id: the lines of its chain as they are, nothing of other branches."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.model.writing import Fork, Line, Origin

_NEVER = 1 << 62


class _Part(Struct, gc=False):
    tool_use_id: str | None = None


class _Message(Struct, gc=False):
    id: str | None = None
    content: str | list[_Part] | None = None


class _Link(Struct, gc=False, rename="camel"):
    """What of a line makes the chain."""

    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    session_id: str | None = None
    message: _Message | None = None

    @property
    def follows(self) -> str | None:
        """The line before it; of a compaction's boundary the one that is not in front of the model any more."""
        return self.parent_uuid or self.logical_parent_uuid

    @property
    def answer(self) -> str | None:
        """The answer that it is a part of."""
        return None if self.message is None else self.message.id

    @property
    def is_result(self) -> bool:
        """Whether it brings a tool's result."""
        content = None if self.message is None else self.message.content
        return isinstance(content, list) and any(part.tool_use_id for part in content)


_Span = tuple[int, int]  # first byte and end of one line or of several that stand together


class _Chain(Struct):
    """Every line up to the leaf that others can follow, where they are, and the leaf itself."""

    nodes: dict[str | None, _Link] = {}
    spans: list[_Span] = []
    leaf: str | None = None


_decoder = msgspec.json.Decoder(_Link)


def again(origin: Origin, fork: Fork) -> Iterator[Line] | None:
    """The lines that Claude Code needs to be where it was; None if there is no whole chain up to the turn's last."""
    chain = _chain(origin)
    chosen = None if chain.leaf is None else _chosen(chain.nodes, chain.leaf)
    if chosen is None:
        return None
    if len(chosen) < len(chain.nodes):
        chain.spans = list(_places(origin, chosen))
    sessions = {chain.nodes[uuid].session_id for uuid in chosen}
    if chain.nodes[chain.leaf].is_sidechain or len(sessions) > 1:
        return _copied(origin, fork, chain.spans)
    return _moved(origin, fork, chain.spans, sessions.pop())


def _chain(origin: Origin) -> _Chain:
    chain = _Chain()
    for start, whole in origin.pieces():
        piece = _cut(whole, origin.leaf - start)
        links = _all_links(piece)
        chain.nodes.update({link.uuid: link for link in links})
        if None not in chain.nodes:
            chain.spans.append((start, start + len(piece)))
        else:
            del chain.nodes[None]
            each = zip(_ends(piece), links, strict=False) if len(links) == piece.count(b"\n") else _each(piece)
            chain.spans += [(start + begin, start + end) for (begin, end), link in each if link.uuid is not None]
        if start + len(whole) > origin.leaf:
            chain.leaf = links[-1].uuid if links else None
            break
    return chain


def _cut(piece: bytes, leaf: int) -> bytes:
    """A piece up to the end of the line that begins at the leaf."""
    if leaf >= len(piece):
        return piece
    end = piece.find(b"\n", leaf)
    return piece if end < 0 else piece[: end + 1]


def _ends(piece: bytes) -> list[_Span]:
    """Where the lines of a piece begin and end."""
    found, at, find = [], 0, piece.find
    while (end := find(b"\n", at)) >= 0:
        found.append((at, end + 1))
        at = end + 1
    if at < len(piece):
        found.append((at, len(piece)))
    return found


def _all_links(piece: bytes) -> list[_Link]:
    """The links of whole lines: all at once, unless one of them is broken."""
    try:
        return _decoder.decode_lines(piece)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return [link for _, link in _each(piece)]


def _each(piece: bytes) -> Iterator[tuple[_Span, _Link]]:
    """The same line by line, with where each begins and ends."""
    for begin, end in _ends(piece):
        yield (begin, end), _link(piece[begin:end])


def _link(record: bytes) -> _Link:
    try:
        return _decoder.decode(record)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _Link()  # Claude Code does not read it either


def _chosen(nodes: dict[str | None, _Link], leaf: str) -> set[str | None] | None:
    """The lines from the beginning to a leaf; parallel calls and their results stand beside the chain."""
    chosen: set[str | None] = set()
    first = next(iter(nodes))
    uuid: str | None = leaf
    while uuid is not None and uuid not in chosen:
        chosen.add(uuid)
        link = nodes[uuid]
        above = link.parent_uuid or link.logical_parent_uuid
        if above is not None and above not in nodes:
            if link.parent_uuid is None or uuid == first:
                break  # the file begins here, as Claude Code sees it
            return None  # a line between is broken, and Claude Code does not read it: the ledger knows more
        uuid = above
    if len(chosen) < len(nodes):
        answers = {nodes[uuid].answer for uuid in chosen} - {None}
        for name, other in nodes.items():
            if other.answer in answers or (other.is_result and other.follows in chosen):
                chosen.add(name)
    return chosen


def _places(origin: Origin, chosen: set[str | None]) -> Iterator[_Span]:
    """Where the chosen lines are."""
    for start, whole in origin.pieces():
        piece = _cut(whole, origin.leaf - start)
        for (begin, end), link in _each(piece):
            if link.uuid is not None and link.uuid in chosen:
                yield start + begin, start + end
        if start + len(whole) > origin.leaf:
            return


def _moved(origin: Origin, fork: Fork, spans: list[_Span], session: str | None) -> Iterator[Line]:
    """The chosen lines, as many at once as stand together; no byte but the session's id changes."""
    old, new = (b'"sessionId":' + msgspec.json.encode(name) for name in (session, fork.session))
    for piece in _pieces(origin, spans):
        data = piece.removesuffix(b"\n")
        count = data.count(b"\n") + 1
        parts = data.split(old)
        if len(parts) > count:
            yield Line(new.join(parts), count=count)
        else:  # empty lines, or written in another way
            lines = [_own(line, fork.session) for line in data.split(b"\n") if line.strip()]
            yield Line(b"\n".join(lines), count=len(lines))


def _copied(origin: Origin, fork: Fork, spans: list[_Span]) -> Iterator[Line]:
    """The chosen lines one by one: a subagent's, or of a file with several sessions."""
    for lines in _pieces(origin, spans):
        for line in lines.splitlines():
            yield Line(_own(line, fork.session))


def _pieces(origin: Origin, spans: list[_Span]) -> Iterator[bytes]:
    """The bytes of some spans, each as long as it stands in one piece."""
    wanted = iter(_joined(spans))
    begin, end = next(wanted)
    for start, piece in origin.pieces():
        while begin < start + len(piece):
            stop = min(end, start + len(piece))
            yield piece[max(begin, start) - start : stop - start]
            if end > stop:
                break
            begin, end = next(wanted, (_NEVER, _NEVER))


def _joined(spans: list[_Span]) -> Iterator[_Span]:
    """Spans that stand together as one."""
    begin, last = spans[0]
    for start, end in spans:
        if start > last:
            yield begin, last
            begin = start
        last = end
    yield begin, last


def _own(record: bytes, session: str) -> bytes:
    """A line of another session; a subagent's becomes one of a conversation of its own."""
    line: dict[str, Any] = msgspec.json.decode(record.decode("utf-8", "replace"))
    line.pop("agentId", None)
    return msgspec.json.encode({**line, "sessionId": session, "isSidechain": False})
