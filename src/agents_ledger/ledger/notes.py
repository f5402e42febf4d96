"""Notes for the search index: titles, summaries, paths, and texts that the databases take apart wrongly."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from agents_ledger.model.rows import CallRow, FileRow, MessageRow, Record
from agents_ledger.model.tokens import is_special, special_words, tokens
from agents_ledger.store import Tx

_LONGEST = 1 << 18  # characters of a text that are looked at


class Note(Struct, frozen=True):
    """A row of `search_notes`."""

    kind: str
    ref: str
    words: str


def note(tx: Tx, record: Record) -> None:
    """Puts in what there is to say about a turn."""
    put(tx, notes_of(record))


def notes_of(record: Record) -> list[Note]:
    """What there is to say about a turn. Costs next to nothing where all is ordinary text."""
    found = notes_of_parts(record.messages, record.calls, record.files)
    if record.compaction is not None:
        found.append(Note("summary", record.compaction.turn_id, _words(record.compaction.summary)))
    return found


def notes_of_parts(
    messages: Iterable[MessageRow], calls: Iterable[CallRow], files: Iterable[FileRow] = ()
) -> list[Note]:
    """What there is to say about messages, calls and files, of a turn that may not be whole yet."""
    return [*_texts(messages, calls), *_paths({row.file_path for row in files})]


def put(tx: Tx, found: Iterable[Note]) -> None:
    """Puts notes in; those that are there stay as they are."""
    rows = [row for row in dict.fromkeys(found) if row.words]
    if rows:
        after = tx.value("last_note")
        tx.run_all("put_note", rows)
        tx.run("index_notes", after=after)


def note_title(tx: Tx, label: str, title: str | None) -> None:
    """Puts in how a session is called now."""
    words = _words(title or "")
    known = tx.value("note_words", kind="title", ref=label)
    if words != (known or ""):
        _drop(tx, "title", label)
        put(tx, [Note("title", label, words)])


def forget(tx: Tx, record: Record) -> None:
    """Takes out what is about to change."""
    for known in notes_of(record):
        if known.kind != "path":  # others may name it
            _drop(tx, known.kind, known.ref)


def forget_call(tx: Tx, call_id: str) -> None:
    """Takes out what is known about a call that is about to change."""
    _drop(tx, "call", call_id)


def forget_everything(tx: Tx) -> None:
    """Drops all notes: they are made anew when the index is fed next."""
    tx.run("unindex_notes")
    tx.run("drop_all_notes")
    tx.run("put_fact", name="noted", value="0")


def note_everything(tx: Tx) -> None:
    """Puts in what is there already, in a ledger that had no notes."""
    for kind, statement in (("title", "all_titles"), ("summary", "all_summaries"), ("path", "all_paths")):
        put(tx, (Note(kind, ref, _words(text)) for ref, text in tx.each(statement)))
    for kind, statement in (("message", "all_special_messages"), ("call", "all_special_calls")):
        put(tx, (made for ref, *texts in tx.each(statement) for made in _text(kind, ref, texts)))
    tx.run("put_fact", name="noted", value="1")


def _texts(messages: Iterable[MessageRow], calls: Iterable[CallRow]) -> Iterable[Note]:
    for said in messages:
        yield from _text("message", said.id, (said.content, said.thinking))
    for call in calls:
        yield from _text("call", call.id, (call.params_json, call.result_json, call.error))


def _text(kind: str, ref: str, texts: Sequence[str | None]) -> Iterable[Note]:
    special = [text[:_LONGEST] for text in texts if text is not None and is_special(text)]
    if special:
        yield Note(kind, ref, special_words("\n".join(special)))


def _paths(paths: set[str]) -> Iterable[Note]:
    return [Note("path", path, _words(path)) for path in sorted(paths)]


def _words(text: str) -> str:
    return " ".join(tokens(text[:_LONGEST]))


def _drop(tx: Tx, kind: str, ref: str) -> None:
    tx.run("unindex_note", kind=kind, ref=ref)
    tx.run("drop_note", kind=kind, ref=ref)
