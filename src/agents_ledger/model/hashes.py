"""Seals: a turn's hash over its content, by salted commitments to each part.

A part (a text, a JSON value, a path …) enters the hash only as `c = SHA-256("al1:item" ‖ salt ‖ length ‖ raw)`.
Erasing a part later means deleting its bytes and its salt: `c` stays, every hash stays valid, and nobody can
test a guess against it. The header is encoded by `canon`, with lengths in front, so that no two headers share bytes.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from agents_ledger.model.rows import (
    CallRow,
    CompactionRow,
    LogRow,
    MessageRow,
    MoveRow,
    Record,
    SaveRow,
    TurnRow,
    UsageRow,
)

SALT_BYTES = 16


class Part(NamedTuple):
    """One piece of content that is committed to on its own."""

    place: str
    raw: bytes


_encoder = msgspec.msgpack.Encoder()


def canon(value: object) -> bytes:
    """The one encoding of a value: MessagePack, every length and number in its shortest form."""
    return _encoder.encode(value)


def commit_all(found: Sequence[Part], seed: bytes) -> list[bytes]:
    """The commitments to all parts, each with its own salt out of one random seed."""
    head = sha256(b"al1:salt" + seed)
    digests = []
    for at, part in enumerate(found):
        salt = head.copy()
        salt.update(at.to_bytes(4, "big"))
        digests.append(commit(salt.digest()[:SALT_BYTES], part.raw))
    return digests


def commit(salt: bytes, raw: bytes) -> bytes:
    """The commitment to one part."""
    return sha256(b"al1:item" + salt + len(raw).to_bytes(8, "big") + raw).digest()


def turn_hash(record: Record, parent_hash: bytes | None, found: Sequence[Part], commitments: Sequence[bytes]) -> bytes:
    """The hash of a turn's header. It depends on the rows' plain facts and the commitments only."""
    header = [
        1,
        _turn_facts(record.turn),
        parent_hash,
        [_message_facts(message) for message in record.messages],
        [_call_facts(call) for call in record.calls],
        compaction_facts(record.compaction) if record.compaction else None,
        [part.place for part in found],
        commitments,
    ]
    return sha256(b"\x10" + canon(header)).digest()


def parts(record: Record) -> list[Part]:
    """Every piece of content of a turn, in the order of its salts and commitments."""
    turn = record.turn
    found: list[Part] = []

    def put(prefix: str, field: str, text: str | None) -> None:
        if text is not None:
            found.append(Part(f"{prefix}.{field}", text.encode()))

    for field in ("tools_available", "permissions_granted", "permissions_used", "workspace_path", "source_event_id"):
        put("turn", field, getattr(turn, field))
    put("turn", "error", turn.error)
    for row in record.messages:
        prefix = f"message {row.sequence}"
        put(prefix, "content", row.content)
        put(prefix, "thinking", row.thinking)
        put(prefix, "context_json", row.context_json)
        put(prefix, "metadata_json", row.metadata_json)
        put(prefix, "blocks_json", row.blocks_json)
    for call in record.calls:
        prefix = f"call {call.sequence}"
        put(prefix, "params_json", call.params_json)
        put(prefix, "result_json", call.result_json)
        put(prefix, "error", call.error)
    if record.compaction:
        for field in ("summary", "metadata_json", "kept_json", "replacement_json"):
            put("compaction", field, getattr(record.compaction, field))
    found.extend(_attachments(record))
    if record.originals:
        found.extend(_originals(record))
    return found


def _originals(record: Record) -> Iterator[Part]:
    """The bytes behind texts that a column can't hold, beside the readable view: neither can change unnoticed."""
    owners = {record.turn.id: "turn"}
    owners |= {row.id: f"message {row.sequence}" for row in record.messages}
    owners |= {call.id: f"call {call.sequence}" for call in record.calls}
    for original in record.originals:
        owner = owners.get(original.row_id, original.row_id)
        yield Part(f"original {owner}.{original.field}", original.bytes)


def leaf(entry: LogRow, facts: object) -> bytes:
    """The leaf hash of a log entry (RFC 6962: 0x00 in front), over the entry and the row it stands for."""
    head = [1, entry.seq, entry.kind, entry.ref, entry.at, entry.body]
    return sha256(b"\x00" + canon([*head, facts])).digest()


def move_facts(move: MoveRow) -> list[object]:
    """What a pointer movement's log entry stands for."""
    return [move.session_label, move.thread_id, move.changed_at, move.from_thread_id, move.reason]


def save_commitment(row: SaveRow) -> str:
    """What the log says of a saved state: it can be erased one day, and nobody can test a guess."""
    facts = [row.entity, row.ref, row.session_label, row.status, row.is_open, row.details]
    facts += [row.start_message_id, row.end_message_id, row.updated_at, row.extra]
    return commit(row.salt, canon(facts)).hex()


def usage_facts(usage: UsageRow) -> list[object]:
    """What a row of `usages` says, without its turn and its message."""
    tokens = [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.cache_write_tokens]
    more = [usage.reasoning_tokens, usage.total_tokens, usage.at, usage.usage_key]
    return [usage.sequence, usage.model, usage.provider, *tokens, *more]


def _attachments(record: Record) -> Iterator[Part]:
    for usage in record.usages:
        yield Part("usage", canon([usage.message_id, *usage_facts(usage)]))
    for file in record.files:
        facts = [file.message_id, file.kind, file.file_path, file.line_start, file.line_end]
        yield Part("file", canon(facts))
    for lint in record.lints:
        place = [lint.start_line, lint.start_col, lint.end_line, lint.end_col]
        facts = [lint.message_id, lint.file_path, lint.message, lint.lint_source, *place, lint.severity]
        yield Part("lint", canon(facts))
    for block in record.codeblocks:
        where = [block.file_path, block.line_start, block.line_end]
        yield Part("codeblock", canon([block.message_id, block.idx, block.language, block.content, *where]))


def _turn_facts(row: TurnRow) -> list[object]:
    return [
        row.id,
        row.parent_turn_id,
        row.root_id,
        row.turn_type,
        row.status,
        row.started_at,
        row.completed_at,
        row.model,
        row.provider,
        row.role,
        row.toolset_name,
        row.input_tokens,
        row.output_tokens,
        row.cached_input_tokens,
        row.cache_write_tokens,
        row.reasoning_tokens,
        row.total_tokens,
        row.query_message_ids,
        row.response_message_id,
        row.persona_id,
        row.system_prompt_hash,
        row.thread_key,
        row.native_id,
    ]


def _message_facts(row: MessageRow) -> list[object]:
    return [row.id, row.role, row.source, row.sequence, row.created_at, row.lossy, row.native_id]


def _call_facts(row: CallRow) -> list[object]:
    return [
        row.id,
        row.message_id,
        row.tool_name,
        row.tool_number,
        row.status,
        row.spawned_session_label,
        row.started_at,
        row.completed_at,
        row.sequence,
        row.lossy,
        row.native_id,
    ]


def compaction_facts(row: CompactionRow) -> list[object]:
    """What is plain about a compaction; the fourth is the number of turns, which follows from its place."""
    return [
        row.summarized_through_turn_id,
        row.first_kept_turn_id,
        row.first_kept_message_id,
        row.turns_summarized,
        row.compaction_type,
        row.model,
        row.provider,
        row.tokens_before,
        row.tokens_after,
        row.summary_tokens,
        row.summarization_input_tokens,
        row.summarization_output_tokens,
        row.duration_ms,
        row.trigger,
    ]
