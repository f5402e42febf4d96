"""What the ledger keeps: one value per table row, its fields in the order of the columns.

Rows of a turn are not frozen: they are built before their place in the tree is known.
"""

from msgspec import Struct


class TurnRow(Struct):
    """A row of `turns`."""

    id: str
    parent_turn_id: str | None
    turn_type: str
    status: str
    started_at: int
    completed_at: int | None
    model: str | None
    provider: str | None
    role: str
    toolset_name: str | None
    tools_available: str | None
    permissions_granted: str | None
    permissions_used: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    query_message_ids: str | None
    response_message_id: str | None
    has_children: int
    tool_call_count: int
    source_event_id: str | None
    workspace_path: str | None
    root_id: str
    segment_id: int
    depth: int
    thread_tokens: int | None
    system_depth: int
    compaction_depth: int
    persona_id: str | None
    system_prompt_hash: str | None
    thread_key: str | None
    error: str | None
    native_id: str | None
    turn_hash: bytes | None = None
    seal_salt: bytes | None = None
    seal_seq: int | None = None
    evidence: str | None = None
    session_label: str | None = None
    messages_before: int = 0


class MessageRow(Struct):
    """A row of `messages` (without its search number)."""

    id: str
    turn_id: str
    role: str
    content: str | None
    source: str | None
    sequence: int
    created_at: int
    thinking: str | None
    context_json: str | None
    metadata_json: str | None
    blocks_json: str | None
    lossy: int
    root_id: str
    native_id: str | None
    evidence: str | None = None


class CallRow(Struct):
    """A row of `tool_calls` (without its search number)."""

    id: str
    turn_id: str
    message_id: str | None
    tool_name: str
    tool_number: int | None
    params_json: str
    result_json: str | None
    error: str | None
    status: str
    spawned_session_label: str | None
    started_at: int
    completed_at: int | None
    sequence: int
    lossy: int
    root_id: str
    native_id: str | None
    evidence: str | None = None


class UsageRow(Struct):
    """A row of `usages`: the tokens of one call to a model."""

    turn_id: str
    sequence: int
    message_id: str | None
    model: str | None
    provider: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    at: int
    usage_key: str | None
    root_id: str


class CompactionRow(Struct):
    """A row of `compactions`."""

    turn_id: str
    summary: str
    summarized_through_turn_id: str | None  # None: what was summarised is in no source
    first_kept_turn_id: str | None
    turns_summarized: int | None
    compaction_type: str
    model: str | None
    provider: str | None
    tokens_before: int | None
    tokens_after: int | None
    summary_tokens: int | None
    summarization_input_tokens: int | None
    summarization_output_tokens: int | None
    duration_ms: int | None
    trigger: str | None
    metadata_json: str | None
    first_kept_message_id: str | None
    kept_json: str | None
    replacement_json: str | None
    root_id: str


class FileRow(Struct):
    """A row of `message_files`."""

    message_id: str
    kind: str
    file_path: str
    line_start: int | None
    line_end: int | None
    root_id: str


class LintRow(Struct):
    """A row of `message_lints`."""

    message_id: str
    file_path: str | None
    message: str | None
    lint_source: str | None
    start_line: int | None
    start_col: int | None
    end_line: int | None
    end_col: int | None
    severity: str | None
    root_id: str


class CodeBlockRow(Struct):
    """A row of `message_codeblocks`."""

    message_id: str
    idx: int
    language: str | None
    content: str
    file_path: str | None
    line_start: int | None
    line_end: int | None
    root_id: str


class OriginalRow(Struct):
    """A row of `originals`: the bytes behind a text column that could not hold them."""

    row_id: str
    field: str
    bytes: bytes
    turn_id: str
    root_id: str


class SessionRow(Struct, frozen=True):
    """A row of `sessions`."""

    label: str
    thread_id: str | None
    persona_id: str
    is_subagent: int
    parent_session_label: str | None
    parent_turn_id: str | None
    spawn_tool_call_id: str | None
    task_description: str | None
    task_status: str | None
    routing_key: str | None
    origin: str | None
    origin_session_id: str | None
    created_at: int
    updated_at: int
    status: str


class MoveRow(Struct, frozen=True):
    """A row of `session_history`: one movement of a session's pointer."""

    id: int
    session_label: str
    thread_id: str
    changed_at: int
    from_thread_id: str | None
    reason: str


class AliasRow(Struct, frozen=True):
    """A row of `session_aliases`."""

    alias: str
    session_label: str
    created_at: int
    reason: str | None


class LogRow(Struct, frozen=True):
    """A row of `log`: one committed fact, in commit order."""

    seq: int
    kind: str
    ref: str
    at: int
    body: str | None
    leaf: bytes


class SaveRow(Struct, frozen=True):
    """A row of `saves`: one state of a task or a call, as an agent saved it."""

    id: int
    entity: str
    ref: str
    session_label: str
    status: str | None
    is_open: int
    details: str | None
    start_message_id: str | None
    end_message_id: str | None
    updated_at: int
    extra: str | None
    salt: bytes
    next_id: int | None = None


class LeaseRow(Struct, frozen=True):
    """A row of `leases`: who is writing a live turn."""

    turn_id: str
    session_label: str
    writer: str
    token: str
    expires_at: int


class WrittenRow(Struct, frozen=True):
    """A row of `written_sessions`: a fork that was written into an agent's own files."""

    session_label: str
    turn_id: str
    path: str
    head: bytes
    size_bytes: int
    digest: bytes
    written_at: int


class Record(Struct):
    """One whole turn: its row and everything that hangs on it."""

    turn: TurnRow
    messages: list[MessageRow]
    calls: list[CallRow]
    compaction: CompactionRow | None
    files: list[FileRow]
    lints: list[LintRow]
    codeblocks: list[CodeBlockRow]
    originals: list[OriginalRow]
    usages: list[UsageRow] = []
