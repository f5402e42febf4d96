"""A transcript: a header, then entries that form a tree; versions 1 to 4, and the seed's own shape.

Versions can't be trusted (three programs write "3" with different entries), so each entry is read by its type.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from msgspec import UNSET, Struct

from agents_ledger.formats.pi import boundaries, messages, nexus, prompts
from agents_ledger.formats.pi.entries import CUT
from agents_ledger.formats.pi.fields import moment, plain, usage_key, usage_of, word
from agents_ledger.formats.pi.lines import Entry, Message, entries
from agents_ledger.formats.pi.messages import Where, after
from agents_ledger.formats.pi.names import marked
from agents_ledger.model.broken import texts_of
from agents_ledger.model.steps import AFTER_LAST, Event, Facts, Gap, Moved, Noted, Problem, Said, Spent
from agents_ledger.model.texts import storable

_HEADER = ("type", "id", "timestamp", "cwd", "parentSession", "branchedFrom")
_MAX_UNKNOWN = 50
_MAX_TOOLS = 500


class Transcript(Struct):
    """Reads a transcript line by line. What it knows of earlier lines is in its fields."""

    session: str  # by the file's name, until the header says it
    stem: str = ""
    named: bool = False  # the file's name has the last word on the session
    origin: str | None = None
    persona: str | None = None
    archive: str | None = None
    header_id: str | None = None
    forked_id: str | None = None
    count: int = 0  # entries so far; pi counts the header as 0
    headed: bool = False
    asked: bool = False
    subagent: str | None = None  # the session whose prompts come from another agent
    prompted: bool = False
    leaf: str | None = None
    tools: list[str] = []
    unknown: list[str] = []

    def read(self, record: bytes, name: str) -> Iterator[Event]:  # noqa: ARG002 - one file, whatever its name
        """The events of one line."""
        for value in entries(record):
            if isinstance(value, Problem):
                yield value
                self.count += value.code == "not-an-object"  # pi counts what is JSON
                if value.code in ("broken-line", "deep-nesting"):
                    yield from self._placed_by_ids(record)
                continue
            if isinstance(value, dict):
                yield from self._header(value)
            else:
                if self.count == 0 and not self.headed:
                    yield Problem("missing-header", self.stem[:200])
                    if nexus.is_extended(value) or value.type in ("user", "assistant"):
                        self.origin = self.origin or "nexus"
                    yield self._facts()
                yield from self._entry(value)
            self.count += 1

    def end(self) -> Iterator[Event]:
        """Nothing: a transcript may grow."""
        return iter(())

    def _facts(self, **fields: Any) -> Facts:
        fields = {"origin": self.origin, "persona": self.persona, "archive_source": self.archive, **fields}
        return Facts(session=self.session, **fields)

    def _header(self, header: dict[str, Any]) -> Iterator[Event]:
        """The first line, or one of a session that is embedded in this file."""
        found = word(header.get("id"))
        if found is None:
            yield Problem("bad-field", "id")
        fields = nexus.session_fields(header)
        if self.count == 0 and self.origin is None and nexus.is_header(header):
            self.origin = "nexus"  # once for all: whose a session is must not depend on how much of it was read
        yield from self._enter(found, "parent_session" in fields)
        if found and found != self.session:
            fields["aliases"] = (found,)
        self.headed, self.header_id = True, found or self.header_id
        path = word(header.get("parentSession")) or word(header.get("branchedFrom"))
        if path is not None and (session := marked(path)):
            fields, path = {"forked_from": session, **fields}, None
        self.forked_id = fields.get("forked_from")
        if "parent_session" in fields or header.get("isSubagent") is True:
            self.subagent = self.session
        extra = {key: value for key, value in header.items() if key not in _HEADER}
        yield self._facts(**fields, forked_path=path, extra=extra or None)
        model = word(header.get("modelId")) or word(header.get("model"))
        if model:  # version 1 has no entry for the first model
            yield Noted(session=self.session, model=model, provider=word(header.get("provider")))

    def _enter(self, found: str | None, embedded: bool) -> Iterator[Event]:
        """Go on with the session that a header names."""
        if found is None:
            return
        if self.headed or self.count > 0:
            if found == self.header_id:
                return
            if not embedded:
                yield Problem("mixed-sessions", found[:200])
            if embedded or not self.named:
                self.session = found
        elif not self.named or self.stem.endswith(found):
            self.session = found

    def _entry(self, entry: Entry) -> Iterator[Event]:
        """Any other line: by its type, from its place in the tree."""
        where = self._where(entry)
        for value, name in ((entry.id, "id"), (entry.uuid, "uuid")):
            if value is not None and word(value) is None:
                yield Problem("bad-field", name)
        if entry.parent_id is not UNSET and entry.parent_id not in (None, "") and word(entry.parent_id) is None:
            yield Problem("bad-field", "parentId")
        if _is_remark(entry):
            return
        read = self._READERS.get(entry.type) if isinstance(entry.type, str) else None
        yield from self._stranger(_name(entry.type), where) if read is None else read(self, entry, where)
        if entry.append_mode == "side" and entry.type != "leaf":
            if self.leaf is not None:  # openclaw: written beside the conversation, which goes on where it was
                yield Moved(session=where["session"], to=self.leaf)
        elif entry.type != "leaf":
            self.leaf = where["native_id"] or self.leaf

    def _placed_by_ids(self, record: bytes) -> Iterator[Event]:
        """The place in the tree of an entry that could not be read: by its ids, if they are legible."""
        ids = texts_of(record, ("type", "id", "parentId"))
        if ids.get("type") == "session":
            return
        parent = word(ids.get("parentId")) or AFTER_LAST
        if (native_id := word(ids.get("id"))) is None:
            yield Gap(session=self.session, parent=parent)
        else:
            yield Noted(session=self.session, native_id=native_id, parent=parent, or_last=True)

    def _where(self, entry: Entry) -> Where:
        """The place of an entry: by its ids; after the last one, if it has none (version 1)."""
        session = word(entry.session_id)
        if session is None or session in (self.header_id, self.forked_id):
            session = self.session
        native_id = word(entry.id) or word(entry.uuid)
        parent = AFTER_LAST
        if native_id is None:
            # A file without its first lines counts differently from the whole one.
            native_id = f"{'line' if self.headed else 'tail'}-{self.count}"
        if entry.parent_id is None or entry.parent_id == "":
            return Where(session=session, native_id=native_id, parent=None, at=_at(entry))
        if entry.parent_id is not UNSET and entry.parent_id != native_id:
            parent = word(entry.parent_id) or AFTER_LAST
        return Where(session=session, native_id=native_id, parent=parent, at=_at(entry))

    def _stranger(self, name: str, where: Where) -> Iterator[Event]:
        """A type of entry that this version does not know: a node all the same."""
        name = storable(name)
        if name not in self.unknown and len(self.unknown) < _MAX_UNKNOWN:
            self.unknown.append(name)
            yield Problem("unknown-entry", name)
        yield Noted(**where)

    def _message(self, entry: Entry, where: Where) -> Iterator[Event]:
        message = entry.message
        if message is None:
            yield Problem("bad-field", "message")
            yield Noted(**where)
            return
        role = message.role if isinstance(message.role, str) else entry.type
        if role == "user":
            self.asked = True
            source = "agent" if where["session"] == self.subagent else "human"
            yield from messages.asked(entry, message, where, source)
        elif role == "assistant":
            yield from messages.replied(entry, message, where)
        elif role in ("toolResult", "tool"):
            yield from messages.returned(entry, message, where)
        elif role == "bashExecution":
            yield from messages.ran(message, where, first=not self.asked)
            self.asked = True
        elif role in ("custom", "hookMessage"):  # its name until version 2
            yield from messages.injected(message, message.content, where)
        elif role == "system":
            yield from self._system(message, where)
        else:
            yield from self._stranger(f"message: {role[:40]}", where)

    def _system(self, message: Message, where: Where) -> Iterator[Event]:
        text = prompts.prompt_of(message)
        if text:
            remarks = prompts.remarks(message)
            yield Said(**where, role="system", content=text, source="context", metadata=remarks)
            where = after(where)
        self.tools = prompts.changed(self.tools, message)[:_MAX_TOOLS]
        # Later ones only say what changed; the whole prompt is in none of them.
        whole = None if self.prompted or not text else prompts.prompt_hash(text)
        self.prompted = True
        yield Noted(**where, tools=tuple(self.tools) or None, system_prompt_hash=whole)

    def _custom_message(self, entry: Entry, where: Where) -> Iterator[Event]:
        yield from messages.injected(entry, entry.content, where)

    def _compaction(self, entry: Entry, where: Where) -> Iterator[Event]:
        yield from boundaries.compacted(entry, where)
        system = entry.system_message
        if system is not None:
            self.tools = prompts.changed([], system)[:_MAX_TOOLS]
            text = prompts.prompt_of(system)
            yield Noted(
                **after(where),
                tools=tuple(self.tools) or None,
                system_prompt_hash=prompts.prompt_hash(text) if text else None,
            )

    def _branch_summary(self, entry: Entry, where: Where) -> Iterator[Event]:
        yield from boundaries.came_back(entry, where)

    def _reset(self, entry: Entry, where: Where) -> Iterator[Event]:
        yield from boundaries.reset(entry, where)

    def _model_change(self, entry: Entry, where: Where) -> Iterator[Event]:
        yield Noted(**where, model=word(entry.model_id) or word(entry.model), provider=word(entry.provider))

    def _thinking_level(self, entry: Entry, where: Where) -> Iterator[Event]:
        yield Noted(**where)
        if level := word(entry.thinking_level):
            yield Facts(session=where["session"], extra={"thinking_level": level})

    def _custom(self, entry: Entry, where: Where) -> Iterator[Event]:
        """An extension's own state; clawdbot tells the model in effect this way."""
        data = plain(entry.data) if entry.custom_type == "model-snapshot" else None
        if isinstance(data, dict):
            yield Noted(**where, model=word(data.get("modelId")), provider=word(data.get("provider")))
        else:
            yield Noted(**where)

    def _label(self, entry: Entry, where: Where) -> Iterator[Event]:
        yield Noted(**where)
        if target := word(entry.target_id):
            yield Facts(session=where["session"], extra={f"label:{target}": word(entry.label)})

    def _session_info(self, entry: Entry, where: Where) -> Iterator[Event]:
        yield Noted(**where)
        if isinstance(entry.name, str):
            yield Facts(session=where["session"], title=entry.name)

    def _usage(self, entry: Entry, where: Where) -> Iterator[Event]:
        """A call to the model outside of the conversation (keeping a cache warm)."""
        usage, model = usage_of(entry.usage), word(entry.model)
        if usage is None:
            yield Noted(**where)
            return
        key = usage_key(usage, where["at"], model, word(entry.kind))
        yield Spent(**where, usage=usage, usage_key=key, model=model, provider=word(entry.provider))

    def _node(self, entry: Entry, where: Where) -> Iterator[Event]:  # noqa: ARG002 - one of the readers by type
        yield Noted(**where)

    def _leaf(self, entry: Entry, where: Where) -> Iterator[Event]:
        """The pointer of openclaw: what follows this row continues its target."""
        target = word(entry.target_id)
        self.leaf = where["parent"] = target
        if target is None:  # before the first entry
            yield Noted(**where)
        else:
            yield Moved(**where, to=target)

    _READERS: ClassVar[dict[str, Callable[["Transcript", Entry, Where], Iterator[Event]]]] = {
        "message": _message,
        "user": _message,
        "assistant": _message,
        "system": _message,
        "custom_message": _custom_message,
        "custom": _custom,
        "compaction": _compaction,
        "branch_summary": _branch_summary,
        "reset": _reset,
        "model_change": _model_change,
        "thinking_level_change": _thinking_level,
        "label": _label,
        "session_info": _session_info,
        "usage": _usage,
        "context_edit": _node,
        "leaf": _leaf,
        "turn": _node,  # the marker of a finished turn: turns are known without it
    }


def _is_remark(entry: Entry) -> bool:
    """Whether an entry has no place of its own.

    The seed's marker of a turn has the last answer's id and no parent; a stand-in has the id of what was cut away, and
    that is known from the archive.
    """
    return (entry.type == "turn" and entry.parent_id is UNSET) or (entry.type == "custom" and entry.custom_type == CUT)


def _name(kind: object) -> str:
    """What to call an unknown type."""
    return kind[:60] if isinstance(kind, str) else type(kind).__name__


def _at(entry: Entry) -> int | None:
    """When an entry was written; when its message was sent, if that is all there is."""
    at = moment(entry.timestamp)
    return moment(entry.message.timestamp) if at is None and entry.message is not None else at
