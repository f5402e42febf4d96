"""The command line's store: messages kept by their hash, and a root node that says which, in which order."""

import binascii
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.formats.cursor import prompts, sessions, wire
from agents_ledger.formats.cursor.loose import decoded, file_path, length, lighter, objects, small, text, whole, word
from agents_ledger.formats.cursor.tables import BLOBS, META
from agents_ledger.formats.cursor.transcript import stamped
from agents_ledger.model.steps import Answered, Asked, At, Compacted, Event, Facts, Problem, Said

_DEPTH = 16
_SPENT, _WORKSPACE, _BRANCH = 5, 9, 21  # fields of the root node


class StoreReader(Struct):
    """Reads a `store.db`."""

    path: str
    blobs: dict[str, bytes] = {}
    meta: bytes = b""
    place: str = ""  # the name of the row of `meta`

    def read(self, record: bytes, name: str) -> Iterator[Event]:
        """Nothing yet: the rows come by their hashes."""
        table, _, key = name.partition("\n")
        if table == BLOBS:
            self.blobs[key] = record
        elif table == META and (key == "0" or not self.meta):
            self.meta, self.place = record, name
        yield from ()

    def end(self) -> Iterator[Event]:
        """The conversation."""
        data = _metadata(self.meta)
        session = text(data.get("agentId")) or _folder(self.path)
        root = text(data.get("latestRootBlobId"))
        yield At(self.place)
        yield _facts(session, data, self.blobs.get(root or "", b""))
        if not self.blobs:
            return
        if root is None or root not in self.blobs:
            yield Problem("lost-row", f"root {root}")
        talk = _Talk(session, text(data.get("lastUsedModel")), dict(self.blobs))
        yield from talk.tell(root or "")


class _Talk(Struct):
    """A conversation while it is told."""

    session: str
    model: str | None
    blobs: dict[str, bytes]
    told: dict[str, int] = {}  # hash → how often it was told: the same words have the same hash

    def tell(self, root: str) -> Iterator[Event]:
        """What the root lists; before it what its summary replaced, and after it what no list names any more."""
        listed = self._listed(root)
        values = {name: prompts.message(blob) for name, blob in self.blobs.items()}
        cut = next((at for at in reversed(range(len(listed))) if _is_summary(values.get(listed[at]))), None)
        if cut is not None:
            before = self._older(listed)
            yield from self._all(before, values)
            yield At(f"{BLOBS}\n{listed[cut]}")
            yield self._compaction(listed, cut, values, set(before))
            listed = [name for at, name in enumerate(listed) if at > cut and name not in before]
        yield from self._all(listed, values)
        rest = sorted(name for name, value in values.items() if value is not None and name not in self.told)
        yield from self._all([name for name in rest if not _is_summary(values[name])], values, orphan=True)

    def _listed(self, name: str, depth: int = 0) -> list[str]:
        """The messages below a node, in order; a node may list other nodes."""
        found: list[str] = []
        for child in wire.references(self.blobs.get(name, b"")):
            blob = self.blobs.get(child, b"{")
            deeper = self._listed(child, depth + 1) if blob[:1] != b"{" and depth < _DEPTH else []
            found += deeper or [child]
        return found

    def _older(self, listed: list[str]) -> list[str]:
        """The longest list of an older root that has what this one lacks."""
        here = set(listed)
        lists = [wire.references(blob) for blob in self.blobs.values() if blob[:1] != b"{"]
        return max(lists, key=lambda names: (len(set(names) - here), names), default=[])

    def _all(
        self, names: list[str], values: Mapping[str, dict[str, Any] | None], *, orphan: bool = False
    ) -> Iterator[Event]:
        for name in names:
            value = values.get(name)
            count = self.told[name] = self.told.get(name, 0) + 1
            if name not in self.blobs:
                yield Problem("lost-row", f"blobs {name}")
            elif value is not None:
                yield At(f"{BLOBS}\n{name}")
                yield from self._message(name if count == 1 else f"{name}#{count}", value, orphan=orphan)

    def _message(self, name: str, value: dict[str, Any], *, orphan: bool) -> Iterator[Event]:
        role, words = value["role"], prompts.said_text(value["content"])
        if role == "tool":
            for at, (call, outcome) in enumerate(prompts.outcomes(value)):
                yield Answered(
                    session=self.session,
                    native_id=f"{name}/{at}" if at else name,
                    call=call,
                    result=outcome.result,
                    error=outcome.error,
                    status=outcome.status,
                    spawned=outcome.spawned,
                )
                if outcome.spawned is not None:
                    yield Facts(session=outcome.spawned, parent_session=self.session, parent_call=call)
        elif role in ("system", "user", "assistant"):
            source = prompts.kind_of_user(words) if role == "user" else "context" if role == "system" else None
            yield Said(
                session=self.session,
                native_id=name,
                at=stamped(words) if role == "user" else None,
                role=role,
                content=words,
                thinking=_thoughts(value["content"]),
                calls=tuple(_calls(value["content"])),
                blocks=_blocks(value["content"]),
                source=source,
                starts_turn=not orphan and source in ("human", "event"),
                model=self.model if role == "assistant" else None,
                metadata=_more(value, orphan=orphan),
            )
        else:
            yield Problem("unknown-entry", word(role))

    def _compaction(
        self, listed: list[str], cut: int, values: Mapping[str, dict[str, Any] | None], before: set[str]
    ) -> Compacted:
        name = listed[cut]
        self.told[name] = 1
        kept = next((later for later in listed[cut + 1 :] if later in before), None)
        summary = prompts.said_text((values[name] or {}).get("content"))
        return Compacted(session=self.session, native_id=name, summary=summary or "", first_kept=kept, identity=name)


def _metadata(value: bytes) -> dict[str, Any]:
    """The row of `meta`: JSON in hexadecimal."""
    try:
        return decoded(binascii.unhexlify(value.strip()))[0] or {}
    except (binascii.Error, ValueError):
        return decoded(value)[0] or {} if value else {}


def _folder(path: str) -> str:
    parts = path.partition("#")[0].replace("\\", "/").split("/")
    return parts[-2] if len(parts) > 1 and parts[-2] else parts[-1]


def _facts(session: str, data: Mapping[str, Any], root: bytes) -> Facts:
    found = sessions.facts(session, data, {"source": "store"})
    extra, project, branch = dict(found.extra or {}), found.project, found.git_branch
    for number, value in wire.fields(root):
        if not isinstance(value, bytes):
            continue
        inner = dict(wire.fields(value)) if number in (_SPENT, _BRANCH) else {}
        if number == _SPENT and isinstance(inner.get(1), int):
            extra["contextTokensUsed"], extra["contextTokenLimit"] = whole(inner[1]), whole(inner.get(2))
        elif number == _WORKSPACE:
            project = project or file_path(value.decode("utf-8", "replace"))
        elif number == _BRANCH and isinstance(named := inner.get(2), bytes):
            branch = branch or named.decode("utf-8", "replace") or None
    return msgspec.structs.replace(found, extra=extra, project=project, git_branch=branch)


def _is_summary(value: Mapping[str, Any] | None) -> bool:
    return value is not None and prompts.options(value).get("isSummary") is True


def _thoughts(content: object) -> str | None:
    parts = [part["text"] for part in objects(content) if part.get("type") == "reasoning" and text(part.get("text"))]
    return "\n".join(parts) or None


def _calls(content: object) -> Iterator[Asked]:
    for part in objects(content):
        if part.get("type") == "tool-call":
            call = text(part.get("toolCallId"))
            yield Asked(
                tool=text(part.get("toolName")) or "tool",
                native_id=call,
                params=lighter(part.get("args", part.get("input"))),
            )


def _blocks(content: object) -> tuple[dict[str, Any], ...] | None:
    """The order of a message's parts, where it is not thoughts, text, calls."""
    ranks = {"reasoning": 0, "text": 1, "tool-call": 2}
    counts = [0, 0, 0]
    order: list[dict[str, Any]] = []
    found: list[int] = []
    for part in objects(content):
        rank = ranks.get(word(part.get("type")), 3)
        said = text(part.get("text")) or ""
        if rank > len(counts) - 1:
            order.append({"type": word(part.get("type")), "size_bytes": length(part)})
        elif rank == ranks["tool-call"]:
            order.append({"type": "call", "at": counts[rank]})
            counts[rank] += 1
        elif said:
            order.append({"type": "text" if rank else "thinking", "from": counts[rank], "to": counts[rank] + len(said)})
            counts[rank] += len(said) + 1
        else:
            continue
        found.append(rank)
    return None if found == sorted(found) and 3 not in found else tuple(order)  # noqa: PLR2004 - ranks, above


def _more(value: Mapping[str, Any], *, orphan: bool) -> Any:
    kept = {key: item for key, item in prompts.options(value).items() if key != "highLevelToolCallResult"}
    facts = {"id": text(value.get("id")), "cursor": small(kept), "orphan": True if orphan else None}
    return {key: item for key, item in facts.items() if item is not None} or None
