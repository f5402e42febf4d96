"""A transcript up to a turn, under a new session id: the path of its tree from the root to a leaf, entries as they are.

Files of version 1 have no ids and are a list: they get ids. What is no part of the conversation and would have to be
followed over (labels, openclaw's pointers) is left out, and the entry behind it joined to the one before.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agents_ledger.formats.pi.given import short_id
from agents_ledger.formats.pi.header import header
from agents_ledger.model.writing import Fork, Line, Origin

_PASSED_OVER = frozenset({"label", "leaf"})
_NOT_PI = frozenset({"user", "assistant", "turn"})  # the seed's shape, which pi does not read


class _Link(Struct, gc=False, rename="camel"):
    """What of an entry makes the tree."""

    type: str = ""
    id: str | None = None
    parent_id: str | UnsetType | None = UNSET
    target_id: str | None = None
    version: int | None = None


class _Node(Struct, gc=False):
    place: int
    parent: str | None
    type: str


_decode = msgspec.json.Decoder(_Link).decode


def again(origin: Origin, fork: Fork) -> Iterator[Line] | None:
    """The header and the entries of the path; None if it does not reach the beginning, or is not pi's own."""
    nodes, leaf, version = _tree(origin)
    if leaf is None or nodes is None:
        return None
    if version is None:
        return _numbered(origin, fork)
    path = _path(nodes, leaf)
    return None if path is None else _copied(origin, fork, path, version)


def _tree(origin: Origin) -> tuple[dict[str, _Node] | None, str | None, int | None]:
    """Entries by id, the leaf, and the version (None: the first one, a list without ids)."""
    nodes: dict[str, _Node] = {}
    version: int | None = 3
    for place, record in origin.records():
        if place > origin.leaf:
            break
        link = _link(record)
        if link.type in _NOT_PI:
            return None, None, version
        if link.type == "session":
            version = link.version
            continue
        if link.id is None:
            if version is None and place == origin.leaf:
                return nodes, "", None
            continue
        parent = link.target_id if link.type == "leaf" else link.parent_id
        nodes[link.id] = _Node(place, None if parent is UNSET else parent or None, link.type)
        if place == origin.leaf:
            return nodes, link.id, version or 3
    return nodes, None, version


def _link(record: bytes) -> _Link:
    try:
        return _decode(record)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _Link(type="broken")  # pi does not read it either


def _path(nodes: dict[str, _Node], leaf: str) -> dict[int, str | None] | None:
    """Where the entries of a path are, each with the entry that it follows in the new file."""
    path: dict[int, str | None] = {}
    below: int | None = None
    name: str | None = leaf
    seen: set[str] = set()
    while name is not None:
        node = nodes.get(name)
        if node is None or name in seen:
            return None  # its beginning is elsewhere: the ledger knows more than this file
        seen.add(name)
        if node.type not in _PASSED_OVER:
            if below is not None:
                path[below] = name
            path[node.place] = None
            below = node.place
        name = node.parent
    return path


def _copied(origin: Origin, fork: Fork, path: dict[int, str | None], version: int) -> Iterator[Line]:
    yield header(fork, max(version, 3))
    for place, record in origin.records():
        if place > origin.leaf:
            return
        if place in path:
            yield Line(_joined(record, path[place], version))


def _joined(record: bytes, parent: str | None, version: int) -> bytes:
    """An entry behind another one; no byte of it changes, as a rule."""
    is_same = _link(record).parent_id == parent
    if is_same and not (version < 3 and b'"hookMessage"' in record):  # noqa: PLR2004 - the version that renamed it
        return record
    return msgspec.json.encode(_current({**msgspec.json.decode(record), "parentId": parent}))


def _numbered(origin: Origin, fork: Fork) -> Iterator[Line]:
    """A list of version 1 as a tree of version 3; a compaction's number becomes the id of that entry."""
    yield header(fork, 3)
    parent: str | None = None
    for number, (place, record) in enumerate(_entries(origin)):
        if place > origin.leaf:
            return
        if number == 0:
            continue  # the old header: its model is in the answers, too
        entry: dict[str, Any] = _current(msgspec.json.decode(record))
        first = entry.pop("firstKeptEntryIndex", None)
        if isinstance(first, int):
            entry["firstKeptEntryId"] = _name(fork, max(first, 1))
        name = _name(fork, number)
        yield Line(msgspec.json.encode({**entry, "id": name, "parentId": parent}), name)
        parent = name


def _entries(origin: Origin) -> Iterator[tuple[int, bytes]]:
    """The lines that pi counts: those that are JSON."""
    for place, record in origin.records():
        if _link(record).type != "broken":
            yield place, record


def _current(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry with the names of version 3."""
    message = entry.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        return {**entry, "message": {**message, "role": "custom"}}
    return entry


def _name(fork: Fork, number: int) -> str:
    return short_id(fork.session, number)
