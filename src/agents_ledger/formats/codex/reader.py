"""Readers: of a rollout, of the index of names, of what gives no events."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from agents_ledger.formats.codex.fields import Item, count, label, table, text, wrong
from agents_ledger.formats.codex.headers import compacted, named, session_meta, turn_context
from agents_ledger.formats.codex.items import TYPES, response_item
from agents_ledger.formats.codex.signals import Handler, event_msg
from agents_ledger.formats.codex.state import State
from agents_ledger.formats.codex.tokens import usage_record
from agents_ledger.model.formats import Reader, Source
from agents_ledger.model.lines import objects
from agents_ledger.model.steps import Base, Event, Facts, Problem, Stop
from agents_ledger.model.times import from_iso

# what the harness knows about itself
_PASSED_OVER = ("world_state", "security_risk_score")
_HANDLERS: Final[dict[str, Handler]] = {
    "event_msg": event_msg,
    "turn_context": turn_context,
    "compacted": compacted,
    "token_usage_record": usage_record,
}


def reader(source: Source) -> Reader:
    """The reader of a source of this format."""
    if source.kind == "rollout":
        return Rollout(name=named(source.path), until=source.until)
    return Index() if source.kind == "index" else Prompts()


class Rollout(State):
    """Reads a rollout of any version: bare items (before September 2025), with envelopes, with ordinals."""

    def read(self, record: bytes, name: str) -> Iterator[Event]:  # noqa: ARG002 - a rollout is one file
        """The events of one line."""
        if self.stopped:
            return
        for value in objects(record):
            if isinstance(value, Problem):
                yield value
            else:
                yield from self._entry(value)
        self.line += 1
        self.place += 1
        if self.until is not None and self.place >= self.until and not self.stopped:
            self.stopped = True
            yield Stop()

    def end(self) -> Iterable[Event]:
        """Nothing: a rollout may grow."""
        return ()

    def _entry(self, entry: Item) -> Iterator[Event]:
        ordinal = count(entry, "ordinal")
        self.place = self.place if ordinal is None else ordinal
        kind = entry.get("type")
        past = self.until is not None and self.place >= self.until
        if past and (self.session or kind != "session_meta"):
            self.stopped = True
            yield Stop()
            return
        if past:  # a header may refer to what lies before `until`; nothing else of it does
            self.stopped = True
            yield from (event for event in self._enveloped(entry, kind, ordinal) if isinstance(event, Base))
            yield Stop()
        elif "payload" in entry or not isinstance(kind, str) or kind not in TYPES:
            yield from self._enveloped(entry, kind, ordinal)
        else:
            yield from self._headless()
            yield from response_item(self, entry, {}, None)

    def _enveloped(self, entry: Item, kind: object, ordinal: int | None) -> Iterator[Event]:
        yield from wrong(entry, kind if isinstance(kind, str) else "line", timestamp=str, payload=dict)
        payload = table(entry, "payload")
        at = self.tick(from_iso(entry.get("timestamp")))
        if kind == "session_meta":
            yield from session_meta(self, payload, ordinal, at)
            return
        if kind is None and "payload" not in entry:
            yield from self._bare(entry)
            return
        yield from self._headless()
        if kind == "response_item":
            yield from response_item(self, payload, table(entry, "metadata"), at)
        elif isinstance(kind, str) and (handler := _HANDLERS.get(kind)):
            yield from handler(self, payload, at)
        elif kind == "inter_agent_communication":
            yield from self._communicated(payload, at)
        elif kind == "inter_agent_communication_metadata":
            self.triggered = payload.get("trigger_turn") is True
        elif kind not in _PASSED_OVER:
            yield from self.strange(kind)

    def _bare(self, entry: Item) -> Iterator[Event]:
        """A line without a type (before September 2025): the header, or a mark that says nothing."""
        if label(entry, "id") and not self.session:
            yield from session_meta(self, entry, None, None)
        elif "record_type" not in entry:
            yield from self.strange("line without type")

    def _communicated(self, message: Item, at: int | None) -> Iterator[Event]:
        """What another agent said, as some versions write it."""
        yield from wrong(message, "inter_agent_communication", content=str)
        self.triggered = message.get("trigger_turn", message.get("triggerTurn")) is True
        if text(message, "content"):
            yield from response_item(self, {**message, "type": "agent_message"}, {}, at)

    def _headless(self) -> Iterator[Event]:
        """A file whose first lines are gone still is somebody's: by its name."""
        if not self.session:
            self.session = self.root = self.name
            yield Problem("missing-header", self.session[:100])
            if self.until is None:
                yield Facts(session=self.session)


class Index(Struct):
    """Reads `session_index.jsonl`: names that threads were given; the last one counts."""

    def read(self, record: bytes, name: str) -> Iterator[Event]:  # noqa: ARG002 - a rollout is one file
        """The name of one thread."""
        for value in objects(record):
            if isinstance(value, Problem):
                yield value
            else:
                yield from self._named(value)

    def end(self) -> Iterable[Event]:
        """Nothing: an index may grow."""
        return ()

    def _named(self, entry: dict[str, Any]) -> Iterator[Event]:
        yield from wrong(entry, "index", id=str, thread_name=str, updated_at=str)
        thread = label(entry, "id")
        if thread:
            yield Facts(session=thread, title=text(entry, "thread_name"), updated_at=from_iso(entry.get("updated_at")))


class Prompts(Struct):
    """Passes over `history.jsonl`: prompts that the rollouts hold as well; kept as evidence."""

    def read(self, record: bytes, name: str) -> Iterable[Event]:  # noqa: ARG002 - nothing is read
        """Nothing."""
        return ()

    def end(self) -> Iterable[Event]:
        """Nothing."""
        return ()
