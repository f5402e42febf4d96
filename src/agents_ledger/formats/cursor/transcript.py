"""Agent transcripts: a thin copy of a conversation beside the database, without ids, results and times."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

from msgspec import Struct

from agents_ledger.formats.cursor.loose import length, lighter, mapping, moment, objects, text, word
from agents_ledger.formats.cursor.prompts import kind_of_user
from agents_ledger.model.file_names import folder_id, is_generic, is_id, told_apart
from agents_ledger.model.lines import values
from agents_ledger.model.members import MARKS
from agents_ledger.model.steps import Asked, Closed, Event, Facts, Problem, Said
from agents_ledger.model.texts import storable

_STAMP = re.compile(
    r"<timestamp>\w+, (\w{3})\w* (\d{1,2}), (\d{4}), (\d{1,2}):(\d{2}) ([AP]M) \(UTC(?:([+-])(\d{1,2})(?::(\d{2}))?)?\)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SPEAKER = re.compile(r"^(user|assistant):[ \t]*\n", re.MULTILINE)
_PLACE = "/agent-transcripts/"  # where Cursor keeps them, each in a file that is named by its session
_UNKNOWN = 50  # types that are remembered as named already
_WELL = ("success", "completed", "finished", "done")


class TranscriptReader(Struct):
    """Reads `<session>.jsonl`; a subagent's lies in its parent's folder, below `subagents`.

    Where the name is no id, a line is identified by all lines up to it, so that copies of a conversation share turns.
    """

    path: str
    count: int = 0
    unknown: list[str] = []  # types that were reported already
    session: str = ""
    said: str = ""  # digest of all lines so far; empty where the name of the file is an id

    def read(self, record: bytes, name: str) -> Iterator[Event]:  # noqa: ARG002 - lines have no name
        """The message or the end of a turn in a line."""
        if not self.session:
            # (a reader that was put away before it had this field is past the first line: it keeps its name)
            known = stem_of(self.path) if self.count else session_of(self.path)
            self.session = known or told_apart(self.path, stem_of(self.path), record.strip(MARKS))
            self.said = "" if known else "beginning"
        if not self.count:
            yield from opening(self.path, self.session, "transcript")
        if self.said:
            self.said = sha256(self.said.encode() + record.strip(MARKS)).hexdigest()[:32]
        for value in values(record):
            if isinstance(value, Problem):
                yield value
            elif isinstance(value, dict):
                self.count += 1
                yield from self._line(value)
            else:
                yield Problem("not-an-object", type(value).__name__)

    def end(self) -> Iterator[Event]:
        """Nothing: a transcript may grow."""
        yield from ()

    def _line(self, value: dict[str, Any]) -> Iterator[Event]:
        session, role = self.session, value.get("role")
        if value.get("type") == "turn_ended":
            status = value.get("status")
            yield Closed(
                session=session,
                native_id=self._id(),
                status="completed" if status in _WELL or status is None else "failed",
                error=text(value.get("error")),
            )
        elif role in ("user", "assistant"):
            yield from self._message(session, role, mapping(value.get("message")).get("content"))
        else:
            yield from self._unknown(value.get("type", role))

    def _unknown(self, kind: object) -> Iterator[Problem]:
        name = storable(word(kind))
        if name not in self.unknown and len(self.unknown) < _UNKNOWN:
            self.unknown.append(name)
            yield Problem("unknown-entry", name)

    def _message(self, session: str, role: Any, content: object) -> Iterator[Event]:
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(objects(content))
        words, thoughts, calls, blocks = _parts(parts)
        human = kind_of_user(words) if role == "user" else None
        yield Said(
            session=session,
            native_id=self._id(),
            at=stamped(words) if human else None,
            role=role,
            content=words,
            thinking=thoughts,
            calls=calls,
            blocks=blocks,
            source=human,
            starts_turn=human in ("human", "event"),
            identity=self.said or f"{session}/line-{self.count}",
        )

    def _id(self) -> str:
        """The id of a line, which has none of its own."""
        return self.said or f"line-{self.count}"


class TextReader(Struct):
    """Reads `<session>.txt`, the transcripts of early 2026: who speaks, and plain text."""

    path: str

    def read(self, record: bytes, name: str) -> Iterator[Event]:  # noqa: ARG002 - a document has no name
        """All messages of the file."""
        whole = record.decode("utf-8-sig", "replace").replace("\r\n", "\n")
        marks = list(_SPEAKER.finditer(whole))
        ends = [mark.start() for mark in marks[1:]] + [len(whole)]
        session = session_of(self.path) or told_apart(self.path, stem_of(self.path), whole[: ends[0]].encode())
        yield from opening(self.path, session, "transcript-text")
        for at, (mark, end) in enumerate(zip(marks, ends[: len(marks)], strict=True), 1):
            words, asks = whole[mark.end() : end].strip("\n"), mark[1] == "user"
            yield Said(
                session=session,
                native_id=f"message-{at}",
                at=stamped(words) if asks else None,
                role="user" if asks else "assistant",
                content=words or None,
                source=kind_of_user(words) if asks else None,
                starts_turn=asks and kind_of_user(words) != "context",
                identity=f"{session}/message-{at}",
            )

    def end(self) -> Iterator[Event]:
        """Nothing: the file is one record."""
        yield from ()


def session_of(path: str) -> str | None:
    """The session's id: the file's name where Cursor gave it, or the folder's; None if neither is an id."""
    stem = stem_of(path)
    if is_id(stem) or (_PLACE in path.replace("\\", "/") and not is_generic(stem)):
        return stem
    return folder_id(path) if is_generic(stem) else None


def stem_of(path: str) -> str:
    """The file's name without its ending."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name


def opening(path: str, session: str, kind: str) -> Iterator[Facts]:
    """What the path tells: whose copy this is, and whose subagent."""
    folders = path.replace("\\", "/").split("/")[:-1]
    parent = folders[-2] if folders[-1:] == ["subagents"] and len(folders) > 1 else ""
    is_named = is_id(parent) or _PLACE in path.replace("\\", "/")
    yield Facts(session=session, parent_session=parent if parent and is_named else None, extra={"source": kind})


def stamped(words: str | None) -> int | None:
    """The minute that Cursor writes into a question: `<timestamp>Monday, Oct 5, 2026, 9:05 PM (UTC-5:30)`."""
    found = _STAMP.search(words) if words else None
    if found is None or found[1] not in _MONTHS:
        return None
    month, day, year, hour, minute, half, sign, hours, minutes = found.groups()
    away = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        local = datetime(
            int(year), _MONTHS.index(month) + 1, int(day), int(hour) % 12 + 12 * (half == "PM"), int(minute), tzinfo=UTC
        ).replace(tzinfo=timezone(away))
        return moment(round(local.timestamp() * 1000))
    except (ValueError, OverflowError):
        return None


def _parts(parts: list[dict[str, Any]]) -> tuple[str | None, str | None, tuple[Asked, ...], Any]:
    """Text, thoughts, calls, and their order where it is not the common one."""
    words: list[str] = []
    thoughts: list[str] = []
    calls: list[Asked] = []
    order: list[tuple[int, dict[str, Any]]] = []
    said_before = thought_before = 0  # characters
    for part in parts:
        kind, said = part.get("type"), text(part.get("text")) or text(part.get("thinking"))
        if kind == "text" and said:
            order.append((1, _span("text", said_before, said)))
            said_before += len(said) + 1
            words.append(said)
        elif kind in ("thinking", "reasoning") and said:
            order.append((0, _span("thinking", thought_before, said)))
            thought_before += len(said) + 1
            thoughts.append(said)
        elif kind == "tool_use":
            order.append((2, {"type": "call", "at": len(calls)}))
            calls.append(_call(part))
        elif kind not in ("text", "thinking", "reasoning"):
            order.append((3, _other(part)))
    ranks = [rank for rank, _ in order]
    common = ranks == sorted(ranks) and 3 not in ranks  # noqa: PLR2004 - the rank of other blocks, above
    blocks = None if common else tuple(block for _, block in order)
    return "\n".join(words) or None, "\n".join(thoughts) or None, tuple(calls), blocks


def _span(kind: str, start: int, said: str) -> dict[str, Any]:
    return {"type": kind, "from": start, "to": start + len(said)}


def _call(part: Mapping[str, Any]) -> Asked:
    """A call; its result is not in the transcript, but the agent went on after it."""
    return Asked(
        tool=text(part.get("name")) or "tool",
        native_id=text(part.get("id")),
        params=lighter(part.get("input")),
        status="completed",
    )


def _other(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": word(part.get("type")), "size_bytes": length(part)}
