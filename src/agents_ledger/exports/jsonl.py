"""A thread as JSON lines, in a neutral shape that docs/exports.md describes: for programs."""

from collections.abc import Iterator
from typing import Any

import msgspec

from agents_ledger.exports.texts import compact
from agents_ledger.model.chronicle import Chapter, Chronicle
from agents_ledger.model.rows import CompactionRow, TurnRow
from agents_ledger.model.story import Entry

_VERSION = 1
_TOKENS = ("input", "output", "cached_input", "cache_write", "reasoning", "total")


def write(chronicle: Chronicle) -> Iterator[str]:
    """The lines: the thread, then each turn with its entries behind it."""
    yield _line(_thread(chronicle))
    for chapter in chronicle.chapters:
        yield from _chapter(chapter)


def _chapter(chapter: Chapter) -> Iterator[str]:
    yield _line(_turn(chapter.turn))
    if chapter.compaction is not None:
        yield _line(_compaction(chapter.compaction))
    for entry in chapter.entries:
        yield _line(_entry(entry))


def _thread(chronicle: Chronicle) -> dict[str, Any]:
    names = [name for name in chronicle.__struct_fields__ if name != "chapters"]
    return {"kind": "thread", "version": _VERSION, **{name: getattr(chronicle, name) for name in names}}


def _turn(turn: TurnRow) -> dict[str, Any]:
    return {
        "kind": "turn",
        "turn_id": turn.id,
        "parent_turn_id": turn.parent_turn_id,
        "depth": turn.depth,
        "turn_type": turn.turn_type,
        "status": turn.status,
        "error": turn.error,
        "model": turn.model,
        "provider": turn.provider,
        "started_at": turn.started_at,
        "completed_at": turn.completed_at,
        "tokens": {name: getattr(turn, f"{name}_tokens") for name in _TOKENS},
        "session": turn.session_label,
        "native_id": turn.native_id,
        "turn_hash": turn.turn_hash.hex() if turn.turn_hash else None,
    }


def _compaction(row: CompactionRow) -> dict[str, Any]:
    names = ("turn_id", "summary", "summarized_through_turn_id", "first_kept_turn_id", "first_kept_message_id")
    more = ("compaction_type", "trigger", "model", "tokens_before", "tokens_after", "duration_ms")
    return {"kind": "compaction", **{name: getattr(row, name) for name in (*names, *more)}}


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "kind": "entry",
        "turn_id": entry.turn_id,
        "role": entry.role,
        "source": entry.source,
        "is_injected": entry.is_injected,
        "at": entry.at,
        "blocks": msgspec.to_builtins(entry.blocks),
    }


def _line(value: dict[str, Any]) -> str:
    return compact(value) + "\n"
