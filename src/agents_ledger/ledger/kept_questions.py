"""What an agent goes on with after a compaction of which it noted the summary alone (Codex, still in 0.98).

It keeps what it was asked, the newest first, up to some tokens, in front of the summary; on resuming it puts that
together anew, out of its own file. So the rows of the turns before have all of it.
"""

from collections.abc import Iterator
from typing import Any

from agents_ledger.ledger import threads
from agents_ledger.ledger.records import spoken
from agents_ledger.model.rows import CompactionRow, MessageRow, TurnRow
from agents_ledger.model.texts import read_json
from agents_ledger.store import Tx

MOST_TOKENS = 20_000
_TOKEN_BYTES = 4  # by Codex's own estimate
_BATCH = 50  # turns in memory at a time


def is_kept(row: CompactionRow) -> bool:
    """Whether the questions before a compaction were kept without a note of it."""
    about = None if row.metadata_json is None or row.replacement_json is not None else read_json(row.metadata_json)
    return isinstance(about, dict) and about.get("legacy") is True


def kept_questions(tx: Tx, turn: TurnRow, most_tokens: int = MOST_TOKENS) -> list[tuple[MessageRow, str]]:
    """The questions before the newest compaction on a turn's path, in their order, each with what of it was kept."""
    found: list[tuple[MessageRow, str]] = []
    left = most_tokens
    for row in _asked(tx, turn):
        text = row.content or ""
        tokens = _tokens(len(text.encode()))
        found.append((row, text if tokens <= left else shortened(text, left)))
        left -= min(tokens, left)
        if not left:
            break
    return found[::-1]


def as_history(questions: list[tuple[MessageRow, str]], summary: str) -> list[dict[str, Any]]:
    """The same with the summary behind, as later versions write it down."""
    texts = [*(text for _row, text in questions), summary]
    return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]} for text in texts]


def shortened(text: str, most_tokens: int) -> str:
    """The beginning and the end of a text, as Codex shortens it."""
    data, most = text.encode(), most_tokens * _TOKEN_BYTES
    head = data[: most // 2].decode(errors="ignore")
    tail = data[len(data) - (most - most // 2) :].decode(errors="ignore")
    return f"{head}…{_tokens(len(data) - most)} tokens truncated…{tail}"


def _asked(tx: Tx, turn: TurnRow) -> Iterator[MessageRow]:
    """What was asked before the compaction, the newest first."""
    for last in range(turn.compaction_depth - 1, 0, -_BATCH):
        path = list(threads.path(tx, turn.id, max(last - _BATCH + 1, 1), last))
        for record in reversed(spoken(tx, path)):
            for row in reversed(record.messages):
                if row.role == "user" and row.source != "context" and row.content:
                    yield row


def _tokens(size_bytes: int) -> int:
    return (size_bytes + _TOKEN_BYTES - 1) // _TOKEN_BYTES
