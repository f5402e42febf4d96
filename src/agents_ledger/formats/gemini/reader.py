"""The reader: a log of messages (the same id again says more of it), of what is set, and of steps back.

A log is what Gemini CLI makes its list of messages from. Here nothing is taken away again: what is no longer in the
list stays in the tree, and the session's pointer goes back.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from agents_ledger.formats.gemini.messages import (
    answer_of,
    digest_of,
    is_context,
    is_sent,
    is_setup,
    project_of,
    usage_of,
    words_of,
)
from agents_ledger.formats.gemini.written import written_as, wrote
from agents_ledger.model.entries import OPEN_CALLS, CallStatus
from agents_ledger.model.file_names import is_id
from agents_ledger.model.formats import Source
from agents_ledger.model.gemini_api import WRITTEN_SUMMARY, Content, content_of
from agents_ledger.model.lines import objects
from agents_ledger.model.loose import Json, text
from agents_ledger.model.steps import Answered, Asked, Closed, Compacted, Event, Facts, Moved, Noted, Problem, Said
from agents_ledger.model.texts import storable
from agents_ledger.model.times import from_iso

_KNOWN = 100_000  # messages that are remembered: as many as anybody goes back
_DONE = 1000  # calls whose outcome was told
_ALL = 2**31  # turns: to the beginning
_TOLD = frozenset(["sessionId", "startTime", "lastUpdated", "messages", "summary"])
_COUNTED = frozenset(["messageCount", "userMessageCount", "firstUserMessage", "hasResumableContent"])
_IMPORTED = "Imported session from "
_ECHO = "_response"  # what a tool gave, said once more


class LogReader(Struct):
    """Reads one session."""

    folder: str | None = None  # of a subagent: whose it is
    session: str = ""
    project_hash: str | None = None
    project: str | None = None
    is_side: bool = False
    is_begun: bool = False
    is_set_up: bool = False
    is_bare: bool = False  # the list was emptied: by a new beginning, or for a moment only
    is_asking: bool = False  # the model has to say something
    origin: str | None = None  # the session that this one was written as
    order: dict[str, str] = field(default_factory=dict)  # what stands before the model, and where it is in the tree
    last: str = ""  # the last message
    said: str = ""  # its digest
    calls: dict[str, str] = field(default_factory=dict)  # its calls, and how they are
    done: dict[str, bool] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def read(self, record: bytes, name: str) -> Iterator[Event]:
        """The events of a line, or of a whole document."""
        del name
        for value in objects(record):
            if isinstance(value, Problem):
                yield value
            else:
                yield from self._record(value)

    def end(self) -> Iterator[Event]:
        """Nothing more: lines say all."""
        return iter(())

    def _record(self, value: Json) -> Iterator[Event]:
        if isinstance(value.get("$rewindTo"), str):
            yield from self._rewound(storable(value["$rewindTo"]))
        elif named := _messages([value]):
            yield from self._message(named[0])
        elif isinstance(value.get("$set"), dict):
            yield from self._set(value["$set"])
        elif text(value.get("sessionId")) is not None and isinstance(value.get("projectHash"), str):
            yield from self._header(value)
        else:
            yield from self._note_unknown(f"keys {ascii(sorted(value))[:100]}")

    def _note_unknown(self, what: str) -> Iterator[Event]:
        """A problem, once for each kind."""
        if what not in self.unknown and len(self.unknown) < 100:  # noqa: PLR2004 - as many as anybody reads
            self.unknown.append(what)
            yield Problem("unknown-entry", what)

    # about the session as a whole

    def _header(self, value: Json) -> Iterator[Event]:
        session = storable(value["sessionId"])
        if self.session and session != self.session:
            yield Problem("mixed-sessions", session[:80])
            return
        self.session, self.project_hash = session, storable(value["projectHash"])
        self.is_side = value.get("kind") == "subagent"
        yield Facts(
            session=self.session,
            created_at=None if self.is_begun else from_iso(value.get("startTime")),
            parent_session=self.folder if self.is_side else None,
        )
        self.is_begun = True
        yield from self._told(value)
        for message in _messages(value.get("messages")):
            yield from self._message(message)

    def _set(self, told: Json) -> Iterator[Event]:
        if not self.session:
            yield Problem("missing-header", "$set")
            return
        session = text(told.get("sessionId"))
        if session is not None and storable(session) != self.session:
            yield Problem("mixed-sessions", session[:80])
        yield from self._told(told)
        if isinstance(told.get("messages"), list):
            yield from self._replaced(_messages(told["messages"]))

    def _told(self, told: Json) -> Iterator[Event]:
        """Title, folder, and all else that is said of a session."""
        folders = told.get("directories")
        named = [path for path in folders if isinstance(path, str)] if isinstance(folders, list) else []
        project = self._project(named)
        title = " ".join((text(told.get("summary")) or "").split()) or None
        extra = {name: value for name, value in told.items() if name not in _TOLD and name not in _COUNTED}
        if project or title or extra:
            yield Facts(session=self.session, title=title, project=project, extra=extra or None)

    def _project(self, texts: list[str]) -> str | None:
        """The session's folder, as soon as it is named."""
        if self.project is not None:
            return None
        self.project = project_of([storable(words) for words in texts], self.project_hash)
        return self.project

    # messages

    def _message(self, value: Json) -> Iterator[Event]:
        name, kind = value["id"], value.get("type")
        if not self.session:
            yield Problem("missing-header", name[:80])
            return
        if is_context(value):
            yield from self._context(value)
            return
        if name == self.last or name in self.order:
            yield from self._again(value)
            return
        yield from self._begun()
        yield from self._written(name)
        self.last, self.said, self.calls = name, digest_of(value), {}
        if (written := written_as(name)) is not None:
            yield self._compaction(value, is_summary=written == WRITTEN_SUMMARY)
        elif kind == "gemini":
            yield self._answer(value, answer_of(value))
        elif kind == "user":
            yield from self._user(value)
        elif kind in ("info", "warning", "error"):
            yield from self._shown(value)
        else:
            yield from self._note_unknown(f"type {ascii(kind)[:100]}")
            yield Noted(session=self.session, native_id=name, at=from_iso(value.get("timestamp")))
        self._stands(value)

    def _compaction(self, value: Json, *, is_summary: bool) -> Compacted | Noted:
        """The summary that a fork begins with. What the model is made to say to it was said by nobody."""
        place: dict[str, Any] = {"session": self.session, "native_id": value["id"]}
        place["at"] = from_iso(value.get("timestamp"))
        return Compacted(**place, summary=words_of(value)) if is_summary else Noted(**place)

    def _begun(self) -> Iterator[Event]:
        """A list that was emptied and not filled again: what follows stands at the beginning."""
        if self.is_bare and self.order:
            yield Moved(session=self.session, turns=_ALL)
            self.order = {}
        self.is_bare = False

    def _written(self, name: str) -> Iterator[Event]:
        """Whose message this is, if it was written for another session."""
        if self.origin is None and (origin := wrote(self.session, name)) is not None:
            self.origin = origin
            if origin != self.session:
                yield Facts(session=self.session, forked_from=origin)

    def _stands(self, value: Json) -> None:
        if is_sent(value):
            self.order[value["id"]] = value["id"]
            if len(self.order) > _KNOWN:
                del self.order[next(iter(self.order))]

    def _context(self, value: Json) -> Iterator[Event]:
        """What the program tells of the folder and the day, the first time; it says so again with each beginning."""
        project = self._project([words_of(value)])
        if project is not None:
            yield Facts(session=self.session, project=project)
        if not (is_setup(value) and (self.order or self.is_set_up)):
            at = from_iso(value.get("timestamp"))
            yield Said(session=self.session, role="user", content=words_of(value), source="context", at=at)
            self.is_set_up = self.is_set_up or is_setup(value)

    def _user(self, value: Json) -> Iterator[Event]:
        is_ours = wrote(self.session, value["id"]) is not None
        content, at = content_of(value.get("content"), is_ours=is_ours), from_iso(value.get("timestamp"))
        if content.responses:
            yield from self._responses(value, content, at)
            return
        display = words_of({"content": value.get("displayContent")})
        yield Said(
            session=self.session,
            native_id=value["id"],
            at=at,
            role="user",
            content=content.text,
            blocks=content.blocks,
            source="agent" if self.is_side else "human",
            starts_turn=True,
            metadata={"displayContent": display} if display else None,
        )
        self.is_asking = is_sent(value)

    def _responses(self, value: Json, content: Content, at: int | None) -> Iterator[Event]:
        """What tools gave: told with the calls already, as a rule."""
        for response in content.responses:
            call = response.call or ""
            if storable(call) not in self.done:
                result, error = response.outcome
                status: CallStatus = "completed" if error is None else "failed"
                yield Answered(session=self.session, at=at, call=call, result=result, error=error, status=status)
                self._did(storable(call))
        yield Noted(session=self.session, native_id=value["id"], at=at)

    def _answer(self, value: Json, content: Content) -> Said:
        self._called(content.calls)
        self.is_asking = bool(content.calls) or not is_sent(value)
        usage = usage_of(value.get("tokens"))
        return Said(
            session=self.session,
            native_id=value["id"],
            at=from_iso(value.get("timestamp")),
            role="assistant",
            content=content.text,
            thinking=content.thinking,
            calls=tuple(content.calls),
            blocks=content.blocks,
            joins=value["id"],
            model=text(value.get("model")),
            usage=usage,
            usage_key=None if usage is None else value["id"],
        )

    def _called(self, calls: list[Asked]) -> None:
        for call in calls:
            if call.native_id is not None:
                self.calls[storable(call.native_id)] = call.status
                if call.status not in OPEN_CALLS:
                    self._did(storable(call.native_id))

    def _did(self, call: str) -> None:
        self.done[call] = True
        if len(self.done) > _DONE:
            del self.done[next(iter(self.done))]

    def _again(self, value: Json) -> Iterator[Event]:
        """A message said again: its calls and its tokens come later than its words."""
        if value["id"] != self.last or digest_of(value) != self.said:
            yield Problem("changed-step", value["id"][:80])
        elif value.get("type") == "gemini":
            known = dict(self.calls)
            content = answer_of(value)
            was = [known.get(storable(call.native_id or "")) for call in content.calls]
            new = [call for call, before in zip(content.calls, was, strict=True) if before is None]
            yield self._answer(value, Content(calls=new))
            for call, before in zip(content.calls, was, strict=True):
                if before not in (None, call.status):
                    yield self._ended(call)
            self.calls |= known
            self._called(content.calls)
            self.is_asking = bool(content.calls) or not is_sent(value)
            self._stands(value)

    def _ended(self, call: Asked) -> Answered:
        return Answered(
            session=self.session,
            at=call.completed_at,
            call=call.native_id or "",
            result=call.result,
            error=call.error,
            status=call.status,
            spawned=call.spawned,
        )

    def _shown(self, value: Json) -> Iterator[Event]:
        """What the program tells people; with a picture in it, what it puts before the model for a tool."""
        content, at = content_of(value.get("content")), from_iso(value.get("timestamp"))
        place: dict[str, Any] = {"session": self.session, "native_id": value["id"], "at": at}
        words = content.text or ""
        if content.pictures:
            yield Said(**place, role="user", content=content.text, blocks=content.blocks, source="context")
        elif words.startswith(_IMPORTED):
            yield Facts(session=self.session, extra={"importedFrom": words.removeprefix(_IMPORTED)[:4096]})
            yield Noted(**place)
        else:
            yield Said(**place, role="system", content=words, source="event")
            if value["type"] == "error" and self.is_asking:
                yield Closed(session=self.session, at=at, status="failed", error=words[:2000] or "error")

    # the list

    def _rewound(self, name: str) -> Iterator[Event]:
        """Everything from a message on is no longer before the model; everything, if it is not known."""
        if not self.session:
            yield Problem("missing-header", "$rewindTo")
            return
        if name in self.order:
            while self.order.popitem()[0] != name:
                pass
        else:
            self.order = {}
        self.last = next(reversed(self.order), "")
        yield Moved(session=self.session, to=self.order[self.last] if self.order else None, turns=_ALL)
        self.is_set_up = bool(self.order)
        self.is_bare = False

    def _replaced(self, messages: list[Json]) -> Iterator[Event]:
        """The whole list anew: as it was, cut, with something more at its end, or compressed."""
        sent = [one for one in messages if not is_context(one)]
        for one in messages:
            if is_context(one):
                yield from self._context(one)
        if not sent:
            self.is_bare = True
            return
        self.is_bare = False
        are_known = [self._is_known(one["id"]) for one in sent]
        count = are_known.index(False) if False in are_known else len(sent)
        if self.order and (any(are_known[count:]) or not count):
            yield self._compressed(sent)
            return
        if self.order:
            known = [one["id"] for one in sent[:count] if one["id"] in self.order]
            yield from self._back_to(known[-1]) if known else ()
        for one in sent[count:]:
            yield from self._message(one)

    def _is_known(self, name: str) -> bool:
        return name in self.order or (name.endswith(_ECHO) and name.removesuffix(_ECHO) in self.order)

    def _back_to(self, name: str) -> Iterator[Event]:
        """What stands behind a message is no longer before the model."""
        if next(reversed(self.order)) != name:
            yield Moved(session=self.session, to=self.order[name])
            while next(reversed(self.order)) != name:
                self.order.popitem()
            self.last = name

    def _compressed(self, sent: list[Json]) -> Compacted:
        """The new context as a whole; its first words are the summary."""
        name = sent[0]["id"]
        told = [_plainly(one) for one in sent]
        self.order = {one["id"]: name for one in sent}
        self.last, self.calls = name, {}
        return Compacted(
            session=self.session,
            native_id=name,
            at=from_iso(sent[0].get("timestamp")),
            summary=next((words_of(one) for one in sent if words_of(one)), ""),
            replacement=[one for one in told if one["content"]],
        )


def reader(source: Source) -> "LogReader | KeptReader":
    """A reader for a log or a document; for other files one that only keeps them."""
    if source.kind not in ("log", "record"):
        return KeptReader()
    folders = source.path.replace("\\", "/").split("/")[:-1]
    is_inside = len(folders) > 1 and folders[-1] != "chats" and (folders[-2] == "chats" or is_id(folders[-1]))
    return LogReader(folder=storable(folders[-1]) if is_inside else None)


class KeptReader(Struct):
    """Of files whose words stand in sessions (prompts), or that belong to none (checkpoints that somebody saved)."""

    def read(self, record: bytes, name: str) -> Iterator[Event]:
        """Nothing: they are kept as evidence."""
        del record, name
        return iter(())

    def end(self) -> Iterator[Event]:
        """Nothing more."""
        return iter(())


def _messages(told: Any) -> list[Json]:
    """Those that have an id, and one that can be put away."""
    listed = told if isinstance(told, list) else []
    return [{**one, "id": storable(one["id"])} for one in listed if isinstance(one, dict) and text(one.get("id"))]


def _plainly(value: Json) -> Json:
    """A message of a context: who says what, calls and results as they are."""
    role = "assistant" if value.get("type") == "gemini" else "user"
    parts = content_of(value.get("content"))
    texts: list[Json] = [{"type": "text", "text": words} for words in parts.texts if words]
    calls = [{"type": "functionCall", "id": one.native_id, "name": one.tool, "args": one.params} for one in parts.calls]
    results = [{"type": "functionResponse", **one.value} for one in parts.responses]
    return {"role": role, "content": [*texts, *calls, *results]}
