"""What a writer hands in: plain frozen values, before they have a place in the tree."""

from typing import Any, Literal

from msgspec import Struct

TurnType = Literal["normal", "compaction"]
TurnStatus = Literal["pending", "streaming", "completed", "failed"]
FinalStatus = Literal["completed", "failed"]
CallStatus = Literal["pending", "running", "completed", "failed", "cancelled", "rejected", "abandoned"]
OPEN_CALLS = ("pending", "running")
Role = Literal["manager", "worker", "unified"]
FileKind = Literal["read", "written", "referenced", "attached"]
CompactionType = str  # 'summary' | 'sliding_window' | 'selective' | what a later strategy is called
Trigger = Literal["context_limit", "manual", "periodic"]
Reason = Literal["advance", "fork", "rewind", "replay", "merge", "import", "recover"]


class Usage(Struct, frozen=True):
    """Tokens of one turn. `input` is without cache, `output` includes `reasoning`; None means unknown."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Both together; unknown only where both are unknown."""
        return Usage(
            _sum(self.input, other.input),
            _sum(self.output, other.output),
            _sum(self.cached, other.cached),
            _sum(self.cache_write, other.cache_write),
            _sum(self.reasoning, other.reasoning),
            _sum(self.sum_total(), other.sum_total()),
        )

    def sum_total(self) -> int | None:
        """The total as given, else the sum of what is known (reasoning is part of the output)."""
        if self.total is not None:
            return self.total
        return _sum(_sum(self.input, self.output), _sum(self.cached, self.cache_write))


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


class File(Struct, frozen=True):
    """A file that a message read, wrote, referred to or carried."""

    path: str
    kind: FileKind = "referenced"
    line_start: int | None = None
    line_end: int | None = None


class Lint(Struct, frozen=True):
    """A linter's finding that was visible at the time of a message."""

    file_path: str | None = None
    message: str | None = None
    source: str | None = None
    start_line: int | None = None
    start_col: int | None = None
    end_line: int | None = None
    end_col: int | None = None
    severity: str | None = None


class CodeBlock(Struct, frozen=True):
    """Code that a message suggested or printed."""

    content: str
    language: str | None = None
    file_path: str | None = None
    line_start: int | None = None
    line_end: int | None = None


class Message(Struct, frozen=True):
    """One message of a turn. `context` and `metadata` are any JSON."""

    role: str
    content: str | None = None
    source: str | None = None
    thinking: str | None = None
    context: Any = None
    metadata: Any = None
    blocks: Any = None  # the order of text, thinking, calls and images, where it is not the common one
    files: tuple[File, ...] = ()
    lints: tuple[Lint, ...] = ()
    codeblocks: tuple[CodeBlock, ...] = ()
    created_at: int | None = None
    id: str | None = None
    native_id: str | None = None
    evidence: str | None = None  # where a source says it


class Call(Struct, frozen=True):
    """One tool call of a turn. `params` and `result` are any JSON; `message` is the caller's index."""

    tool: str
    params: Any = None
    result: Any = None
    error: str | None = None
    status: CallStatus = "completed"
    message: int | None = None
    number: int | None = None
    started_at: int | None = None
    completed_at: int | None = None
    id: str | None = None
    native_id: str | None = None
    spawned: str | None = None  # the label of the session that it started: linked with it, made if there is none
    evidence: str | None = None


class ModelCall(Struct, frozen=True):
    """Tokens of one call to a model, as its source reported them; `message` is the answer's index."""

    usage: Usage
    model: str | None = None
    provider: str | None = None
    at: int | None = None
    key: str | None = None  # the same for copies of this call
    message: int | None = None


class Compaction(Struct, frozen=True):
    """What a compaction turn summarised and kept, and what that cost.

    Kept is everything after `through`; from `first_kept_message_id` on, if the cut lies inside a turn;
    or exactly `kept` (turn ids), if the strategy picked some. `replacement` is the complete new context
    of agents that write it down. Where a captured history begins with a compaction, `through` is None.
    """

    summary: str
    through: str | None
    first_kept: str | None = None
    first_kept_message_id: str | None = None
    kept: tuple[str, ...] | None = None
    replacement: Any = None
    type: CompactionType = "summary"
    model: str | None = None
    provider: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    summary_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    duration_ms: int | None = None
    trigger: str | None = None
    metadata: Any = None


class Settings(Struct, frozen=True):
    """What was in effect when a turn began: the model, the tools, the permissions, the place."""

    model: str | None = None
    provider: str | None = None
    role: Role = "unified"
    toolset: str | None = None
    tools: tuple[str, ...] | None = None
    permissions_granted: Any = None
    permissions_used: Any = None
    source_event_id: str | None = None
    workspace_path: str | None = None
    persona_id: str | None = None
    system_prompt_hash: str | None = None
    thread_key: str | None = None


class Turn(Struct, frozen=True):
    """One finished exchange, to be appended whole.

    With an `id` it is there once, however often it is appended. Lists and filters by time go by the time in the id: let
    it be a ULID, or leave it out (then it is one of `started_at`). What another program calls it is its `native_id`.
    """

    messages: tuple[Message, ...] = ()
    calls: tuple[Call, ...] = ()
    usage: Usage = Usage()
    settings: Settings = Settings()
    status: FinalStatus = "completed"
    error: str | None = None
    compaction: Compaction | None = None
    started_at: int | None = None
    completed_at: int | None = None
    id: str | None = None
    native_id: str | None = None
    model_calls: tuple[ModelCall, ...] = ()
    evidence: str | None = None


class Spawn(Struct, frozen=True):
    """What links a subagent's session to the call that started it (or to its parent alone, if no call is known)."""

    parent_session_label: str
    parent_turn_id: str | None = None
    spawn_tool_call_id: str | None = None
    task_description: str | None = None
    task_status: str = "running"
