"""A session out of openclaw's database: its rows are the lines of a transcript, and what `sessions.json` said of it."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from agents_ledger.formats.pi.fields import moment, object_of, word
from agents_ledger.formats.pi.index import facts_of
from agents_ledger.formats.pi.transcript import Transcript
from agents_ledger.model import zstd
from agents_ledger.model.formats import Row
from agents_ledger.model.loose import mapping
from agents_ledger.model.steps import Event, Facts, Problem

ORIGIN = "openclaw"  # nobody else has such a database
_MAX_BYTES = 256 << 20  # of a row that is packed
_MAGIC = b"\x28\xb5\x2f\xfd"
EVENTS = "transcript_events"


class Rows(Struct):
    """Reads the rows of one session: where it comes from, its archives, its entries; or its node, which is apart."""

    session: str
    persona: str | None
    live: Transcript

    def read(self, record: bytes, name: str) -> Iterator[Event]:
        """The events of one row."""
        table, _, key = name.partition("\n")
        told, _, data = record.partition(b"\n")
        facts = object_of(told) or {}
        if table == EVENTS:
            yield from _each(data, self.live)
        elif table in ("session_windows", "sessions"):
            yield from self._window(facts)
        elif table in ("session_nodes", "session_entries"):
            yield from self._node(key, facts, data)
        elif data:  # else the archive is a file
            yield from self._archive(table, facts, data)

    def end(self) -> Iterator[Event]:
        """Nothing more: each row was told when it was read."""
        return iter(())

    def _window(self, facts: dict[str, Any]) -> Iterator[Event]:
        """What is known of one run of a session key: openclaw begins another one where a conversation begins anew."""
        if word(facts.get("spawned_by")):
            self.live.subagent = self.session
        yield Facts(
            session=self.session,
            origin=ORIGIN,
            persona=self.persona,
            created_at=moment(facts.get("created_at")),
            channel=word(facts.get("channel")),
            routing_key=word(facts.get("session_key")),
            parent_session=word(facts.get("spawned_by")),
            extra={"window": facts},
        )

    def _node(self, key: str, facts: dict[str, Any], data: bytes) -> Iterator[Event]:
        """What sessions.json said."""
        entry = object_of(data)
        if entry is None:
            yield Problem("bad-field", f"{key[:80]}: entry_json")
        session = word(facts.get("current_session_id")) or word(facts.get("session_id")) or self.session
        entry = {"spawnedBy": facts.get("spawned_by"), **(entry or {}), "sessionId": session}
        source = word(facts.get("fork_source_session_id"))
        yield facts_of(
            key,
            entry,
            origin=ORIGIN,
            persona=self.persona,
            parent=word(entry["spawnedBy"]),  # by its key, which is an alias of that session
            forked_from=source if source != session else None,
            created_at=moment(facts.get("created_at")),
            updated_at=moment(facts.get("updated_at")),
            extra={"node": facts},
        )

    def _archive(self, table: str, facts: dict[str, Any], data: bytes) -> Iterator[Event]:
        """A transcript that was put aside: as a file's lines, or cold."""
        is_cold = table == "session_transcript_cold_archives"
        old = transcript(self.session, self.persona, None if is_cold else word(facts.get("reason")))
        try:
            lines = unpacked(data).split(b"\n")
        except (zstd.ZstdError, OverflowError) as problem:
            yield _refused(problem)
            return
        for line in filter(bytes.strip, lines):
            yield from _thawed(line, old) if is_cold else old.read(line, "")


class Cold(Struct):
    """Reads a session that was put away into a file: each line is a row, and those of entries hold a line each."""

    persona: str | None
    live: Transcript | None = None

    def read(self, record: bytes, name: str) -> Iterator[Event]:  # noqa: ARG002 - one file, whatever its name
        """The events of one line."""
        if self.live is None:
            session = word((object_of(record) or {}).get("sessionId"))
            if session is None:
                yield Problem("missing-header")
                return
            self.live = transcript(session, self.persona)
        yield from _thawed(record, self.live)

    def end(self) -> Iterator[Event]:
        """Nothing more."""
        return iter(())


def transcript(session: str, persona: str | None, archive: str | None = None) -> Transcript:
    """What reads the lines of a session."""
    return Transcript(session=session, stem=session, named=True, origin=ORIGIN, persona=persona, archive=archive)


def line_of(row: Row) -> bytes | None:
    """The line of a transcript that a row holds, if it is an entry."""
    return line_in(row.value) if row.table == EVENTS else None


def line_in(value: bytes) -> bytes | None:
    """The line behind a row's columns; None if it can't be unpacked."""
    try:
        return unpacked(value.partition(b"\n")[2])
    except (zstd.ZstdError, OverflowError):
        return None


def unpacked(data: bytes) -> bytes:
    """Bytes that may be packed."""
    if not data.startswith(_MAGIC):
        return data
    unpacker = zstd.ZstdDecompressor()
    plain = unpacker.decompress(data, _MAX_BYTES)
    if not unpacker.eof:
        raise OverflowError(f"unpacks to more than {_MAX_BYTES} bytes, or has no end")
    return plain


def _each(data: bytes, live: Transcript) -> Iterable[Event]:
    try:
        return live.read(unpacked(data), "")
    except (zstd.ZstdError, OverflowError) as problem:
        return (_refused(problem),)


def _refused(problem: Exception) -> Problem:
    return Problem("too-large" if isinstance(problem, OverflowError) else "unreadable", str(problem)[:200])


def _thawed(record: bytes, live: Transcript) -> Iterator[Event]:
    """The entry in a line of a cold transcript; indexes and search rows say nothing new."""
    value = object_of(record)
    if value is None:
        yield Problem("broken-line", f"{len(record)} bytes")
        return
    line = mapping(value.get("row")).get("event_json") if value.get("kind") == "event" else None
    if isinstance(line, str):
        yield from live.read(line.encode("utf-8", "surrogatepass"), "")
