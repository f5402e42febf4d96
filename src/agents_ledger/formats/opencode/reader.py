"""The reader: collects rows or files, and tells each session when it has them all."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from agents_ledger.formats.opencode.messages import (
    QUIET,
    asked_of,
    compaction_of,
    error_of,
    files_of,
    id_of,
    identity_of,
    is_program,
    model_of,
    question_of,
    shown,
    steps_of,
    thoughts_of,
    tokens_of,
    usage_of,
    words_of,
)
from agents_ledger.model.formats import Source
from agents_ledger.model.loose import Json, mapping, text
from agents_ledger.model.opencode_ids import is_redacted
from agents_ledger.model.opencode_sessions import Message, Part, Session, moment, sessions_of
from agents_ledger.model.steps import At, Compacted, Event, Facts, Moved, Noted, Problem, Said

_TOLD = frozenset(["id", "title", "directory", "version", "parentID", "time"])
_LATER = ("projectID", "slug", "agent", "model", "permission", "revert", "share")
_SUMS = ("tokens", "cost", "summary")  # of what the messages say


class SessionReader(Struct):
    """Reads a group of rows, the files of a session, or an export. They change anywhere: all is said at the end."""

    records: dict[str, bytes] = field(default_factory=dict)

    def read(self, record: bytes, name: str) -> Iterator[Event]:
        """Nothing yet."""
        self.records[name] = bytes(record)
        return iter(())

    def end(self) -> Iterator[Event]:
        """The sessions, each with its messages in order."""
        for found in sessions_of(self.records):
            if isinstance(found, Session):
                yield from _Telling(found).events()
            else:
                yield found


def reader(source: Source) -> SessionReader:
    """A reader for any of them."""
    del source
    return SessionReader()


class _Telling:
    """One session on its way."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asked: Json | None = None  # a compaction that was asked for
        self._before: dict[str, str | None] = {}  # message → the step before it
        self._last: str | None = None
        self._unknown: set[str] = set()

    def events(self) -> Iterator[Event]:
        """Facts, messages, and where the session stands."""
        session = self._session
        if session.value is None:
            yield At(next((message.record for message in session.messages.values()), ""))
            yield Problem("missing-header", session.id)
            return
        yield At(session.record)
        yield _facts(session.id, session.value, session)
        for message in session.ordered():
            yield At(message.record)
            self._before[message.id] = self._last
            asked = text(message.value.get("parentID"))
            is_missing = asked is not None and asked not in session.messages
            if asked is not None and is_missing and not is_redacted(asked):
                yield Problem("missing-parent", asked[:80])
            if not is_missing or not _is_file(message.record):  # its file comes later: they belong together
                yield from self._message(message)
        yield At(session.record)
        yield from self._reverted(mapping(session.value.get("revert")))

    def _message(self, message: Message) -> Iterator[Event]:
        role = message.value.get("role")
        if role == "user":
            yield from self._user(message)
        elif role == "assistant" and message.value.get("summary") is True:
            yield from self._summary(message)
        elif role == "assistant":
            yield from self._answer(message)
        else:
            if str(role) not in self._unknown:
                self._unknown.add(str(role))
                yield Problem("unknown-entry", f"role {ascii(role)[:100]}")
            yield self._noted(message)

    def _user(self, message: Message) -> Iterator[Event]:
        self._asked = compaction_of(message)
        if self._asked is not None or not message.parts:  # (what is said in it comes next)
            yield self._noted(message)
            return
        question, is_own = question_of(message), is_program(message)
        yield from [At(message.parts[0].record)] if is_own else ()
        is_side = text((self._session.value or {}).get("parentID")) is not None
        agent = text(message.value.get("agent"))
        place = self._place(message)
        yield Said(
            **place,
            role="user",
            content=question.content,
            blocks=question.blocks,
            source="context" if is_own else "agent" if is_side else "human",
            starts_turn=not is_own,
            files=tuple(question.files),
            metadata={"agent": agent} if agent else None,
            identity=identity_of(message),
            joins=None if is_own else message.id,
        )
        for part in message.parts if not is_own else ():  # (where it was read)
            yield At(part.record)
            yield Said(**{**place, "native_id": None}, role="user", joins=message.id)

    def _answer(self, message: Message) -> Iterator[Event]:
        if not message.parts and error_of(message.value) is None:
            yield self._noted(message)  # it has only begun, or was killed then
            return
        model, provider = model_of(message.value)
        steps = steps_of(message)
        for number, step in enumerate(steps):
            is_last = number == len(steps) - 1
            name = message.id if not number else id_of(step[0].value.get("id")) or f"{message.id}:{number}"
            place = {**self._place(message), "native_id": name}
            yield Said(
                **place,
                role="assistant",
                joins=name,
                model=model,
                provider=provider,
                usage=usage_of(tokens_of(message, step, is_only=len(steps) == 1)),
                usage_key=identity_of(message, number),
                metadata=_remarks(message.value) if is_last else None,
            )
            for part in step:
                yield At(part.record)
                yield _part(part, {**place, "native_id": None, "joins": name, "role": "assistant"})
            if is_last and (error := error_of(message.value)) is not None:
                yield Said(**{**place, "native_id": None}, role="assistant", joins=name, error=error)
            self._last = name

    def _summary(self, message: Message) -> Iterator[Event]:
        """A compaction, if it came to an end; the last messages before it may be kept."""
        summary, asked = words_of(message), self._asked or {}
        self._asked = None
        if summary is None or error_of(message.value) is not None:
            yield self._noted(message)
            return
        model, provider = model_of(message.value)
        began, ended = moment(message.value, "created"), moment(message.value, "completed")
        auto, kept = asked.get("auto"), text(asked.get("tail_start_id"))
        yield Compacted(
            **self._place(message),
            summary=summary,
            thinking=thoughts_of(message),
            first_kept=kept if kept in self._before else None,
            model=model,
            provider=provider,
            usage=usage_of(mapping(message.value.get("tokens"))),
            duration_ms=ended - began if began is not None and ended is not None and ended >= began else None,
            trigger=None if not isinstance(auto, bool) else "context_limit" if auto else "manual",
            identity=identity_of(message),
        )

    def _reverted(self, revert: Json) -> Iterator[Event]:
        """Messages from one on are hidden, until the next question deletes them: the pointer stands before them."""
        name = text(revert.get("messageID"))
        if name is None or name not in self._before:
            return
        to = name if text(revert.get("partID")) else self._before[name]
        yield Moved(session=self._session.id, to=to, turns=2**31)

    def _noted(self, message: Message) -> Noted:
        return Noted(**self._place(message))

    def _place(self, message: Message) -> dict[str, Any]:
        self._last = message.id
        return {"session": self._session.id, "native_id": message.id, "at": moment(message.value, "created")}


def _is_file(record: str) -> bool:
    """Whether something was read from a file of the tree, and not from a row or an export."""
    return bool(record) and "\n" not in record


def _part(part: Part, place: dict[str, Any]) -> Said:
    """A part of an answer."""
    value = part.value
    kind, words = value.get("type"), value.get("text")
    if kind == "text" and isinstance(words, str):
        return Said(**place, content=words)
    if kind == "reasoning" and isinstance(words, str):
        return Said(**place, thinking=words)
    if kind == "tool":
        return Said(**place, calls=(asked_of(value),))
    if kind == "patch":
        return Said(**place, files=tuple(files_of(value)))
    if kind == "file":
        return Said(**place, blocks=(shown(value),), files=tuple(files_of(value)))
    return Said(**place) if kind in QUIET else Said(**place, blocks=({"type": str(kind)[:100]},))


def _facts(session: str, value: Json, whole: Session) -> Facts:
    """What is said of a session as a whole."""
    extra: Json = {name: value.get(name) for name in _LATER}  # always all of them: they become known one by one
    extra |= {name: value[name] for name in sorted(value) if name not in _TOLD and not name.startswith(_SUMS)}
    extra["todos"] = whole.todos[:1000] or None
    parent = text(value.get("parentID"))
    return Facts(
        session=session,
        created_at=moment(value, "created"),
        updated_at=moment(value, "updated"),
        title=text(value.get("title")),
        project=text(value.get("directory")),
        agent_version=text(value.get("version")),
        persona=text(value.get("agent")) if parent else None,
        parent_session=parent,
        extra=extra,
    )


def _remarks(info: Json) -> Json | None:
    """What else is said of an answer."""
    told = {name: info[name] for name in ("agent", "mode", "finish", "cost", "structured") if info.get(name)}
    return told or None
