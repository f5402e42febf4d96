"""Transcripts of Claude Code 1.0 to 2.1, line by line."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.formats.claude_code import attachments, prompts, states
from agents_ledger.formats.claude_code.answers import Mirror, answer, mirrored
from agents_ledger.formats.claude_code.blocks import Pile, piled
from agents_ledger.formats.claude_code.compaction import Boundary, boundary
from agents_ledger.formats.claude_code.lines import Block, Line, Tokens, decode, patient, plain
from agents_ledger.formats.claude_code.places import Place, placed
from agents_ledger.formats.claude_code.sessions import Sessions
from agents_ledger.formats.claude_code.sidechains import Task, asker, digest, remember
from agents_ledger.model.broken import texts_of
from agents_ledger.model.entries import Usage
from agents_ledger.model.steps import (
    AFTER_LAST,
    Answered,
    Asked,
    Closed,
    Compacted,
    Event,
    Facts,
    Gap,
    Noted,
    Problem,
    Said,
    Step,
)
from agents_ledger.model.texts import storable
from agents_ledger.model.times import from_iso

_SUBAGENTS = frozenset({"Task", "Agent"})
_SYNTHETIC = "<synthetic>"  # the model of messages that the client made itself
_USUAL = frozenset({None, "end_turn", "tool_use"})
_LIMIT = 1 << 63
_UNKNOWN = 32  # types that are remembered as named already

_LOST = ("broken-line", "deep-nesting")  # problems of lines of which nothing is read
_FIRST = b'{"type":"'
Part = tuple[type[Step], dict[str, Any]]


class Skim(Struct, frozen=True, gc=False):
    """A line of which nothing is decoded: whether it is one JSON object, and no more."""


_skim = msgspec.json.Decoder(Skim).decode


class Transcript(Struct):
    """A transcript as far as it was read: its sessions, what waits for a later line, what was said already."""

    sessions: Sessions
    tasks: list[Task] = []
    boundary: Boundary | None = None
    tools: list[str] | None = None  # offered by the last request, and not yet noted
    unknown: list[str] = []

    def read(self, record: bytes, name: str) -> Iterable[Event]:  # noqa: ARG002 - lines have no names
        """The events of one line."""
        if _is_silent(record):
            return ()
        try:
            line = decode(record)
        except RecursionError:
            return (Problem("deep-nesting", f"{len(record)} bytes"), self._placed_by_ids(record))
        except (msgspec.DecodeError, ValueError):
            return self._patiently(record)
        if (chain := _CHAIN.get(line.type)) is not None:
            return self._chained(chain, line)
        return self._state(line, record)

    def end(self) -> Iterable[Event]:
        """Nothing: a transcript may grow."""
        return ()

    def _patiently(self, record: bytes) -> list[Event]:
        """The events of a record that is not quite what it should be."""
        events: list[Event] = []
        for found in patient(record):
            if isinstance(found, Problem):
                events.append(found)
                continue
            line, value = found
            if (chain := _CHAIN.get(line.type)) is not None:
                events += self._chained(chain, line)
            else:
                events += self._stated(line, value)
        if any(isinstance(event, Problem) and event.code in _LOST for event in events):
            events.append(self._placed_by_ids(record))
        return events

    def _placed_by_ids(self, record: bytes) -> Gap | Noted:
        """The place in the chain of a line that could not be read: by its ids, if they are legible."""
        ids = texts_of(record, ("sessionId", "agentId", "uuid", "parentUuid"))
        line = Line(uuid=ids.get("uuid"), session_id=ids.get("sessionId"), agent_id=ids.get("agentId"))
        session, _ = self.sessions.of(line)
        parent = ids.get("parentUuid", AFTER_LAST)
        if line.uuid is None:
            return Gap(session=session, parent=parent)
        return Noted(session=session, native_id=line.uuid, parent=parent, or_last=True)

    def _chained(
        self, chain: "Callable[[Transcript, Line, Place, list[Event]], list[Part]]", line: Line
    ) -> list[Event]:
        """The events of a line that has its place in the chain."""
        at = from_iso(line.timestamp)
        session, side = self.sessions.of(line)
        events: list[Event] = []
        parts: list[Part] = []
        if noted := self.sessions.learn(line, session, events):
            parts.append((Noted, noted))
        if self.tools is not None:
            parts.append((Noted, {"tools": tuple(self.tools)}))
            self.tools = None
        place = Place(session, side, line.uuid, line.parent_uuid, at)
        parts += chain(self, line, place, events)
        placed(place, parts, events)
        return events

    def user(self, line: Line, place: Place, events: list[Event]) -> list[Part]:
        """What a user-role line holds: results of tools, and somebody's words."""
        message = line.message
        if message is None or message.content is None:
            events.append(Problem("bad-field", "a user line without content"))
            return [(Noted, {})]
        content = message.content
        if line.is_compact_summary or self._is_old_summary(line, content):
            return [(Compacted, self._compaction(line, place, content))]
        if isinstance(content, str):
            return self._words(line, place, piled(content, place.at), events)
        parts = [part for block in content if (part := self._answered(block, line, place, events))]
        pile = piled(content, place.at)
        if pile.order:
            parts += self._words(line, place, pile, events)
        return parts or [(Noted, {})]

    def _is_old_summary(self, line: Line, content: str | list[Block]) -> bool:
        """Early versions do not mark summaries: these begin a history with a sentence of the program's own."""
        return line.parent_uuid is None and isinstance(content, str) and content.startswith(prompts.CONTINUED)

    def _compaction(self, line: Line, place: Place, content: str | list[Block]) -> dict[str, Any]:
        """The fields of a compaction: the summary's line, with what its boundary said."""
        pending, self.boundary = self.boundary, None
        fields = pending.fields if pending is not None and pending.session == place.session else {}
        kept = fields.get("kept")
        summary = piled(content, place.at).fields().get("content") or ""
        known = {**fields, "kept": None if kept is None else tuple(kept)}
        return {**known, "summary": summary, "identity": _identity(line)}

    def _answered(self, block: Block, line: Line, place: Place, events: list[Event]) -> Part | None:
        """The result of a tool; None for a block that is something else."""
        if block.tool_use_id is None:
            if block.type == "tool_result":
                events.append(Problem("bad-field", "a tool_result without its call"))
            return None
        mirror = mirrored(line.tool_use_result) if line.tool_use_result else Mirror()
        fields, problems = answer(block, mirror, line.permission_decision)
        events += problems
        fields["call"] = block.tool_use_id
        task = next((task for task in self.tasks if task.call == block.tool_use_id), None)
        spawned = self.sessions.subagent(mirror.agent_id) if mirror.agent_id else task and task.spawned
        if spawned:
            fields["spawned"] = spawned
        if spawned and task:
            task.spawned = spawned
            events.append(_started(spawned, place.session, task, mirror.status or fields["status"]))
        return Answered, fields

    def _words(self, line: Line, place: Place, pile: Pile, events: list[Event]) -> list[Part]:
        """A user-role message, by whose words it holds."""
        source = prompts.source(pile.texts)
        if line.is_meta:
            source = "context"
        elif (said := prompts.declared(line.origin, line.prompt_source)) is not None:
            source = said
        if source == "human" and (place.side or self.sessions.is_child(place.session)):
            source = "agent"
        if place.side and line.parent_uuid is None:
            self._began(place, pile, events)
        fields = {**pile.fields(), "role": "user", "source": source}
        if source in prompts.STARTERS:
            fields["starts_turn"] = True
            fields["identity"] = _identity(line)
        parts: list[Part] = [(Said, fields)]
        if source == "event" and pile.texts:
            if pile.texts[0].startswith(prompts.INTERRUPTED):
                parts.append((Closed, {"status": "failed", "error": pile.texts[0]}))
            events += self._notified(pile.texts[0])
        return parts

    def _notified(self, text: str) -> list[Event]:
        """A background task has ended: told about the subagent, if it is one of those started here."""
        if (found := prompts.notified(text)) is None:
            return []
        agent, status = found
        ends = f"/agent-{agent}"
        spawned = [task.spawned for task in self.tasks if task.spawned and task.spawned.endswith(ends)]
        return [Facts(session=session, task_status=status) for session in spawned]

    def _began(self, place: Place, pile: Pile, events: list[Event]) -> None:
        """A subagent's first line: which call asked for it, if that is in this file."""
        task = asker(self.tasks, "\n".join(pile.texts), place.session)
        if task is not None and (parent := self.sessions.parent_of(place.session)):
            events.append(_started(place.session, parent, task, None))

    def assistant(self, line: Line, place: Place, events: list[Event]) -> list[Part]:
        """A part of what the model said: as a rule one block of it."""
        message = line.message
        if message is None or message.content is None:
            events.append(Problem("bad-field", "an assistant line without content"))
            return [(Noted, {})]
        pile = piled(message.content, place.at)
        events += pile.problems
        for call in pile.calls:
            if call.tool in _SUBAGENTS and call.native_id is not None:
                self._asked(call)
        fields = {**pile.fields(), "role": "assistant"}
        key = _key(message.id, line.request_id)
        fields["joins"] = key
        if message.model != _SYNTHETIC:
            fields["model"] = message.model
            fields["usage"] = _usage(message.usage)
            fields["usage_key"] = key
            fields["is_fast"] = message.usage is not None and message.usage.speed == "fast"
        if line.is_api_error_message:
            fields["error"] = fields.get("content") or "the call to the model failed"
        if message.stop_reason not in _USUAL and message.model != _SYNTHETIC:
            fields["metadata"] = {"stop_reason": message.stop_reason}
        parts: list[Part] = [(Said, fields)]
        if isinstance(message.content, list):
            parts += [part for block in message.content if (part := self._answered(block, line, place, events))]
        return parts

    def _asked(self, call: Asked) -> None:
        """Keeps in mind a call that starts a subagent."""
        params, _ = plain(call.params)
        prompt = params.get("prompt") if isinstance(params, dict) else None
        if isinstance(prompt, str) and call.native_id:
            remember(self.tasks, Task(call.native_id, digest(prompt), states.word(params, "description")))

    def system(self, line: Line, place: Place, events: list[Event]) -> list[Part]:
        """A line of the program itself."""
        if line.subtype == "compact_boundary":
            self.boundary = boundary(place.session, line.compact_metadata)
            # 2.1.37 and 2.1.42 name a line that they never wrote: then it follows the line before it
            place.parent, place.or_last = line.logical_parent_uuid or place.parent or AFTER_LAST, True
            return [(Noted, {})]
        if line.subtype == "local_command":
            content, problems = plain(line.content)
            events += problems
            if isinstance(content, str):
                return [(Said, {"role": "user", "source": "context", "content": content})]
        return [(Noted, {})]

    def attachment(self, line: Line, place: Place, events: list[Event]) -> list[Part]:
        """What the program put into the prompt."""
        attached, problems = plain(line.attachment)
        events += problems
        if not isinstance(attached, dict):
            events.append(Problem("bad-field", "attachment"))
            return [(Noted, {})]
        if (content := attachments.queued(attached)) is not None:
            return self._words(line, place, piled(content, place.at), events)
        fields = attachments.seen(attached) or {}
        shown, problems = plain(line.rendered)
        events += problems
        if text := attachments.rendered(shown):
            fields["content"] = text
            if "blocks" in fields:
                fields["blocks"] = ({"type": "text", "from": 0, "to": len(text)}, *fields["blocks"][1:])
        if not fields:
            return [(Noted, attachments.settings(attached))]
        role = "system" if line.rendered_role == "system" else "user"
        return [(Said, {"role": role, "source": "context", **fields})]

    def progress(self, _line: Line, _place: Place, _events: list[Event]) -> list[Part]:
        """Telemetry of a running tool: a node of the chain, no more."""
        return [(Noted, {})]

    def _state(self, line: Line, record: bytes) -> list[Event]:
        """The events of a line that has no place in the chain."""
        if line.type in states.SILENT:
            return []
        value, problems = plain(msgspec.Raw(record))
        return [*problems, *self._stated(line, value if isinstance(value, dict) else {})]

    def _stated(self, line: Line, value: dict[str, Any]) -> list[Event]:
        """The events of such a line as JSON."""
        kind = line.type
        session = self.sessions.main(line)
        event: Event | None = None
        if kind in states.TITLES:
            event = self.sessions.titled(session, kind, states.word(value, states.TITLES[kind]))
        elif kind == "summary":
            event = self.sessions.summarised(states.word(value, "leafUuid"), states.word(value, "summary"))
        elif kind == "permission-mode":
            self.sessions.permissions = states.word(value, "permissionMode")
        elif kind == "api-request-shape":
            self.tools = states.tool_names(value)
        elif kind == "session":
            event = states.header(
                value, self.sessions.headed(states.word(value, "id"), child="parentSessionId" in value)
            )
        elif kind == "compaction":
            event = states.compacted(value, session)
        elif kind in states.STATES:
            event = states.told(kind, value, session)
        elif kind not in states.SILENT:
            return self._foreign(line)
        return [event] if event is not None and self.sessions.is_news(event, kind) else []

    def _foreign(self, line: Line) -> list[Event]:
        """A type that this version does not know: named once; a node, if it is one."""
        events: list[Event] = []
        kind = storable(line.type)[:80]
        if kind not in self.unknown and len(self.unknown) < _UNKNOWN:
            self.unknown.append(kind)
            events.append(Problem("unknown-entry", kind))
        if line.uuid is not None:
            session, side = self.sessions.of(line)
            place = Place(session, side, line.uuid, line.parent_uuid, from_iso(line.timestamp))
            placed(place, [(Noted, {})], events)
        return events


_CHAIN = {
    "user": Transcript.user,
    "assistant": Transcript.assistant,
    "system": Transcript.system,
    "attachment": Transcript.attachment,
    "progress": Transcript.progress,
}


def _is_silent(record: bytes) -> bool:
    """Whether a line is known to say nothing here: found out without decoding it (2.1.3xx: 200 KB of requests)."""
    if not record.startswith(_FIRST):
        return False
    kind = record[len(_FIRST) : record.find(b'"', len(_FIRST), 64)].decode("ascii", "replace")
    if kind not in states.SILENT:
        return False
    try:
        _skim(record)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return True


def _identity(line: Line) -> str | None:
    """What a copied line was called in its first transcript."""
    return line.forked_from.message_uuid if line.forked_from is not None else None


def _key(message: str | None, request: str | None) -> str | None:
    """The API call behind a message. 1.0 drops the request's id in forks: the API's own ids do without it."""
    if message is None or request is None or message.startswith("msg_"):
        return message
    return f"{message}:{request}"


def _usage(tokens: Tokens | None) -> Usage | None:
    """Tokens of the API call behind a message."""
    if tokens is None:
        return None
    details = tokens.output_tokens_details
    return Usage(
        _count(tokens.input_tokens),
        _count(tokens.output_tokens),
        _count(tokens.cache_read_input_tokens),
        _count(tokens.cache_creation_input_tokens),
        _count(details.get("thinking_tokens")) if details else None,
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _LIMIT else None


def _started(session: str, parent: str, task: Task, status: str | None) -> Facts:
    """Whom a subagent works for."""
    return Facts(
        session=session,
        parent_session=parent,
        parent_call=task.call,
        task=task.description,
        # A subagent in the background has only begun: its end is told by its own note, or by a notification.
        task_status=None if status == "async_launched" else status,
    )
