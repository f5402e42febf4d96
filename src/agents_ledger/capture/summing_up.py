"""A compaction as the ledger knows it: by turns and messages."""

from agents_ledger.capture.draft import Draft, Spot, id_of
from agents_ledger.capture.writer import Writer
from agents_ledger.model.entries import Compaction
from agents_ledger.model.steps import Compacted


def place_summary(draft: Draft, step: Compacted, parent_id: str | None, writer: Writer, kept: Spot | None) -> None:
    """Says what a turn summarised, and from where on the rest was kept."""
    through, first, message = parent_id, None, None  # (no parent: what was summarised is in no source)
    if kept is not None and parent_id is not None:
        through, first, message = _cut(kept, writer)
    usage = step.usage
    draft.compaction_given = Compaction(
        summary=step.summary,
        through=through,
        first_kept=first,
        first_kept_message_id=message,
        replacement=step.replacement,
        type=step.type,
        model=step.model,
        provider=step.provider,
        tokens_before=step.tokens_before,
        tokens_after=step.tokens_after,
        summary_tokens=step.summary_tokens,
        input_tokens=None if usage is None else usage.input,
        output_tokens=None if usage is None else usage.output,
        duration_ms=step.duration_ms,
        trigger=step.trigger,
        metadata=step.metadata,
    )


def _cut(kept: Spot, writer: Writer) -> tuple[str, str, str | None]:
    """The last turn that was summarised, the first that was kept, and its first message if that is inside it."""
    first = id_of(kept)
    index = min(kept.position, writer.length(first)) - 1
    message = writer.message_at(first, index) if index > 0 else None
    through = writer.parent(first) or first
    if through == first and message is None:
        message = writer.message_at(first, 0)
    return through, first, message
