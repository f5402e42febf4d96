"""A turn that is in the ledger and not sealed, as a draft again: its source goes on."""

from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec import Raw

from agents_ledger.capture.draft import NO_ANSWER, UNFINISHED, WHOLE, Draft, Spot, ToolCall
from agents_ledger.capture.parts import Part, Pieces
from agents_ledger.model.entries import CodeBlock, Compaction, File, Lint, Settings, Usage
from agents_ledger.model.rows import CodeBlockRow, FileRow, LintRow, Record
from agents_ledger.model.steps import Compacted
from agents_ledger.model.texts import read_json

_Beside = TypeVar("_Beside", FileRow, LintRow, CodeBlockRow)


def reopened(record: Record, session: str, joined: dict[str, int], shown: int = 0) -> Draft:
    """A turn that is in the ledger and not sealed, to go on with; its last `shown` messages belong to the next one."""
    row = record.turn
    parent = None if row.parent_turn_id is None else Spot(row.parent_turn_id, WHOLE)
    draft = Draft(row.id, session, parent, row.started_at)
    draft.ended_at = row.completed_at or row.started_at
    draft.native_id, draft.evidence = row.native_id, row.evidence
    draft.was_open = draft.is_stored = True
    _reopen_messages(draft, record)
    _reopen_calls(draft, record)
    _reopen_settings(draft, record)
    _reopen_compaction(draft, record)
    if shown:
        del draft.messages[-shown:]
    known = {key: index for key, index in joined.items() if index < len(draft.messages)}
    draft._joined = known  # noqa: SLF001 - its own second constructor
    draft.status = "failed" if row.status == "failed" and row.error not in (UNFINISHED, NO_ANSWER) else None
    draft.error = row.error if draft.status else None
    return draft


def _reopen_messages(draft: Draft, record: Record) -> None:
    originals = {(row.row_id, row.field): row.bytes for row in record.originals}

    def text(row_id: str, field: str, view: str | None) -> str | None:
        kept = originals.get((row_id, field))
        return view if kept is None else kept.decode("utf-8", "surrogatepass")

    def value(row_id: str, field: str, view: str | None) -> Any:
        kept = originals.get((row_id, field))
        return (None if view is None else Raw(view.encode())) if kept is None else Raw(kept)

    files, lints, blocks = _by_message(record.files), _by_message(record.lints), _by_message(record.codeblocks)
    for row in record.messages:
        draft.messages.append(
            Part(
                role=row.role,
                content=Pieces(text(row.id, "content", row.content)),
                thinking=Pieces(text(row.id, "thinking", row.thinking)),
                source=row.source,
                context=value(row.id, "context_json", row.context_json),
                metadata=value(row.id, "metadata_json", row.metadata_json),
                blocks=None if row.blocks_json is None else read_json(row.blocks_json),
                files=[_file(each) for each in files.get(row.id, ())],
                lints=[_lint(each) for each in lints.get(row.id, ())],
                codeblocks=[_code_block(each) for each in blocks.get(row.id, ())],
                at=row.created_at,
                native_id=text(row.id, "native id", row.native_id),
                evidence=[] if row.evidence is None else [row.evidence],
            )
        )


def _by_message(rows: Iterable[_Beside]) -> dict[str, list[_Beside]]:
    """Rows that belong to messages, by the messages' ids."""
    found: dict[str, list[_Beside]] = {}
    for row in rows:
        found.setdefault(row.message_id, []).append(row)
    return found


def _file(row: FileRow) -> File:
    kind: Any = row.kind
    return File(row.file_path, kind, row.line_start, row.line_end)


def _lint(row: LintRow) -> Lint:
    severity: Any = row.severity
    return Lint(
        row.file_path, row.message, row.lint_source, row.start_line, row.start_col, row.end_line, row.end_col, severity
    )


def _code_block(row: CodeBlockRow) -> CodeBlock:
    return CodeBlock(row.content, row.language, row.file_path, row.line_start, row.line_end)


def _reopen_calls(draft: Draft, record: Record) -> None:
    originals = {(row.row_id, row.field): row.bytes for row in record.originals}
    numbers = {row.id: row.sequence for row in record.messages}
    for row in record.calls:
        index = numbers.get(row.message_id or "", 0)

        def value(field: str, view: str | None, row_id: str = row.id) -> Any:
            kept = originals.get((row_id, field))
            return (None if view is None else Raw(view.encode())) if kept is None else Raw(kept)

        status: Any = "pending" if row.status == "abandoned" else row.status
        if row.native_id is not None:
            draft._calls_by_id[row.native_id] = len(draft.calls)  # noqa: SLF001 - as above
        draft.messages[index].calls += 1
        draft.calls.append(
            ToolCall(
                tool=row.tool_name,
                message=index,
                params=value("params_json", row.params_json),
                result=value("result_json", row.result_json),
                error=row.error,
                status=status,
                number=row.tool_number,
                started_at=row.started_at,
                completed_at=row.completed_at,
                native_id=row.native_id,
                spawned=None if row.spawned_session_label is None else row.spawned_session_label.partition(":")[2],
                evidence=[] if row.evidence is None else [row.evidence],
            )
        )


def _reopen_compaction(draft: Draft, record: Record) -> None:
    row = record.compaction
    if row is None:
        return

    def value(view: str | None) -> Any:
        return None if view is None else Raw(view.encode())

    draft.compaction = Compacted(session=draft.session, native_id=draft.native_id, summary=row.summary)
    draft.compaction_given = Compaction(
        summary=row.summary,
        through=row.summarized_through_turn_id,
        first_kept=row.first_kept_turn_id,
        first_kept_message_id=row.first_kept_message_id,
        replacement=value(row.replacement_json),
        type=row.compaction_type,
        model=row.model,
        provider=row.provider,
        tokens_before=row.tokens_before,
        tokens_after=row.tokens_after,
        summary_tokens=row.summary_tokens,
        input_tokens=row.summarization_input_tokens,
        output_tokens=row.summarization_output_tokens,
        duration_ms=row.duration_ms,
        trigger=row.trigger,
        metadata=value(row.metadata_json),
    )


def _reopen_settings(draft: Draft, record: Record) -> None:
    row = record.turn
    numbers = {message.id: message.sequence for message in record.messages}
    for usage in record.usages:
        tokens = Usage(
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            usage.cache_write_tokens,
            usage.reasoning_tokens,
            usage.total_tokens,
        )
        message = None if usage.message_id is None else numbers.get(usage.message_id)
        draft.spend(tokens, usage.usage_key, usage.model, usage.provider, usage.at, message)
    draft.settings = Settings(
        model=row.model,
        provider=row.provider,
        toolset=row.toolset_name,
        tools=None if row.tools_available is None else tuple(read_json(row.tools_available)),
        permissions_granted=None if row.permissions_granted is None else Raw(row.permissions_granted.encode()),
        workspace_path=row.workspace_path,
        system_prompt_hash=row.system_prompt_hash,
    )
