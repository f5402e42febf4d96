"""Whole turns, read back from their rows."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from agents_ledger.errors import BadInput, NotFound
from agents_ledger.model.hashes import canon, compaction_facts, parts, usage_facts
from agents_ledger.model.rows import (
    CallRow,
    CodeBlockRow,
    CompactionRow,
    FileRow,
    LintRow,
    MessageRow,
    OriginalRow,
    Record,
    TurnRow,
    UsageRow,
)
from agents_ledger.model.texts import turn_name
from agents_ledger.store import Tx

_LONGEST_HINT = 60
_BATCH = 500  # turns in one query
T = TypeVar("T", bound=Struct)


def read_turn(tx: Tx, turn_id: str) -> TurnRow:
    """The row of one turn."""
    row = tx.first("turn_by_id", id=turn_name(turn_id))
    if row is None:
        raise NotFound(f"no turn {turn_id[:_LONGEST_HINT]!r}: `ldg tree` shows the turns that there are")
    return TurnRow(*row)


def require_cursor(tx: Tx, turn_id: str) -> None:
    """Refuses a cursor that is no turn: nothing is deleted, so the last turn of a page is there."""
    if tx.first("turn_state", id=turn_id) is None:
        raise no_cursor(turn_id)


def no_cursor(text: str) -> BadInput:
    """What is said of a cursor that no page has ended with."""
    return BadInput(f"{text[:_LONGEST_HINT]!r} is not a cursor: copy the one that the last page ended with")


def read_record(tx: Tx, turn_id: str) -> Record:
    """One whole turn."""
    return complete(tx, read_turn(tx, turn_id))


def complete(tx: Tx, turn: TurnRow) -> Record:
    """A turn with everything that hangs on it."""
    return complete_all(tx, [turn])[0]


def complete_all(tx: Tx, turns: Sequence[TurnRow]) -> list[Record]:
    """Turns with everything that hangs on them: a query for each table, however many turns."""
    records: list[Record] = []
    for start in range(0, len(turns), _BATCH):
        records += _complete(tx, turns[start : start + _BATCH])
    return records


def spoken(tx: Tx, turns: Sequence[TurnRow]) -> list[Record]:
    """Turns with their messages and tool calls only."""
    records: list[Record] = []
    for start in range(0, len(turns), _BATCH):
        batch = turns[start : start + _BATCH]
        ids = _ids(batch)
        messages, calls = _grouped(MessageRow, tx, "messages_of", ids, 1), _grouped(CallRow, tx, "calls_of", ids, 1)
        records += [
            Record(turn, messages.get(turn.id, []), calls.get(turn.id, []), None, [], [], [], []) for turn in batch
        ]
    return records


def _complete(tx: Tx, turns: Sequence[TurnRow]) -> list[Record]:
    ids = _ids(turns)
    compactions: dict[str, list[CompactionRow]] = {}
    if any(turn.turn_type == "compaction" for turn in turns):
        compactions = _grouped(CompactionRow, tx, "compactions_of", ids, 0)
    has_files, has_lints, has_blocks, has_originals, has_usages = _attached(tx, turns)
    files = _grouped(FileRow, tx, "files_of", ids) if has_files else {}
    lints = _grouped(LintRow, tx, "lints_of", ids) if has_lints else {}
    blocks = _grouped(CodeBlockRow, tx, "codeblocks_of", ids) if has_blocks else {}
    originals = _grouped(OriginalRow, tx, "originals_of", ids, 3) if has_originals else {}
    usages = _grouped(UsageRow, tx, "usages_of", ids, 0) if has_usages else {}
    return [
        Record(
            turn=record.turn,
            messages=record.messages,
            calls=record.calls,
            compaction=compactions.get(record.turn.id, [None])[0],
            files=files.get(record.turn.id, []),
            lints=lints.get(record.turn.id, []),
            codeblocks=blocks.get(record.turn.id, []),
            originals=originals.get(record.turn.id, []),
            usages=usages.get(record.turn.id, []),
        )
        for record in spoken(tx, turns)
    ]


def _attached(tx: Tx, turns: Sequence[TurnRow]) -> Sequence[Any]:
    """Which of the five may hang on turns. One turn alone, as at a live turn's end, is asked: a statement for five."""
    found = tx.first("attached", turn_id=turns[0].id) if len(turns) == 1 else None
    return (True,) * 5 if found is None else found


def content_digest(record: Record) -> bytes:
    """What a turn says, without ids, times of arrival and place: to tell the same turn from another one."""
    turn, compaction = record.turn, record.compaction
    tokens = [turn.input_tokens, turn.output_tokens, turn.cached_input_tokens, turn.cache_write_tokens]
    said = [part for part in parts(record) if part.place not in ("file", "lint", "codeblock", "usage")]
    facts: list[object] = [
        [turn.turn_type, turn.status, turn.model, turn.provider, turn.role, turn.toolset_name, turn.native_id],
        [*tokens, turn.reasoning_tokens, turn.total_tokens, turn.persona_id, turn.thread_key],
        [[row.role, row.source, row.sequence, row.native_id] for row in record.messages],
        [[call.tool_name, call.status, call.sequence, call.native_id] for call in record.calls],
        [list(part) for part in said],
        [list(astuple(file)[1:-1]) for file in record.files],
        [list(astuple(lint)[1:-1]) for lint in record.lints],
        [list(astuple(block)[1:-1]) for block in record.codeblocks],
        [usage_facts(usage) for usage in record.usages],
        None if compaction is None else [*compaction_facts(compaction)[:3], *compaction_facts(compaction)[4:]],
    ]
    return sha256(canon(facts)).digest()


def said_digest(record: Record) -> bytes:
    """What was said and done in a turn, without the settings that a copy may have otherwise (its folder, its times)."""
    turn, compaction = record.turn, record.compaction
    facts: list[object] = [
        [turn.turn_type, turn.status],
        [[row.role, row.content, row.thinking, _tight(row.blocks_json)] for row in record.messages],
        _calls_by_message(record),
        None if compaction is None else compaction.summary,
    ]
    return sha256(canon(facts)).digest()


def _calls_by_message(record: Record) -> list[list[bytes]]:
    """The calls of each message as a set: a copy may have parallel calls in another order."""
    groups: dict[str | None, list[bytes]] = {None: []} | {row.id: [] for row in record.messages}
    for row in record.calls:
        said = [row.tool_name, _tight(row.params_json), _tight(row.result_json), row.error, row.status]
        groups.setdefault(row.message_id, []).append(canon(said))
    return [sorted(group) for group in groups.values()]


def _tight(text: str | None) -> str | None:
    """JSON without the spaces between its values: a program that copies a session may set them otherwise."""
    if text is None:
        return None
    try:
        return msgspec.json.format(text, indent=-1)
    except (msgspec.DecodeError, RecursionError):
        return text


def _ids(turns: Sequence[TurnRow]) -> str:
    return msgspec.json.encode([turn.id for turn in turns]).decode()


def _grouped(kind: type[T], tx: Tx, name: str, ids: str, at: int | None = None) -> dict[str, list[T]]:
    """Rows by their turn, whose id is the column `at` (or stands in front of the row's own columns)."""
    build: Any = kind
    found: dict[str, list[T]] = {}
    for row in tx.rows(name, ids=ids):
        turn_id, values = (row[0], row[1:]) if at is None else (row[at], row)
        found.setdefault(turn_id, []).append(build(*values))
    return found
