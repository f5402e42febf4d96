"""What a format reads out of a source: steps of conversations, facts about sessions, problems.

A reader turns each record (a line, a file of a bundle, a row of a database) into such values, in the order of the
source. It needs nothing but the record and what it has read before; which turn a step belongs to, what is shared with
other sessions and where in the evidence it stands is worked out by those who called it.

Every step names its session (`session`, the agent's own id), itself (`native_id`) and what it follows (`parent`):
another step's native id, None for the beginning of a history, or AFTER_LAST for "after the last step of this session".
"""

from typing import Any, Final, Literal

from msgspec import Struct

from agents_ledger.model.entries import CallStatus, CodeBlock, File, Lint, Usage

AFTER_LAST: Final = ""
ProblemCode = Literal[
    "broken-line",  # a record that is not JSON
    "glued-line",  # two JSON values on one line: both are read
    "broken-text",  # a record that is not UTF-8: read with replacement characters
    "cut-line",  # the last line has no end yet: read when it has
    "long-line",  # a line above the limit: kept, not read
    "deep-nesting",  # JSON nested deeper than any reader goes
    "not-an-object",  # JSON, but not of the shape that a record has
    "unknown-entry",  # a type of entry that this version does not know: kept
    "bad-field",  # a known entry with a field of a wrong type or value
    "missing-parent",  # a step that follows one which is nowhere
    "circular-parent",  # steps that follow each other in a circle
    "split-chain",  # ids that name two entries, or damage: not all of the active chain can be under the head
    "missing-base",  # a fork by reference whose origin is not here
    "missing-result",  # a tool's result without its call
    "missing-header",  # a transcript without its first line
    "foreign-header",  # a header of another agent, or another version of it
    "mixed-sessions",  # a file with steps of several sessions
    "changed-step",  # a step that is in the ledger with other content
    "too-many-branches",  # inside one turn: this one begins at its end
    "grew-after-seal",  # a turn that was sealed before its source had ended
    "lost-row",  # a database that names a row which is not there
    "unreadable",  # a file that could not be read (permission, a device, a broken archive)
    "too-large",  # an archive that unpacks to more than the limit
    "not-recognised",  # a file that no format knows
    "reader-failed",  # a bug of ours in a reader: the rest was read
]


class Step(Struct, frozen=True, kw_only=True, gc=False):
    """Something that stands in the chain of a conversation."""

    session: str  # the agent's own id of the session that it belongs to
    native_id: str | None = None
    parent: str | None = AFTER_LAST
    at: int | None = None  # Unix ms; None: unknown


class Asked(Struct, frozen=True, gc=False):
    """A tool call, as the model made it."""

    tool: str
    native_id: str | None = None
    params: Any = None  # JSON, or msgspec.Raw to keep it byte for byte
    number: int | None = None
    # Some sources (Cursor, AgentUse) keep call and result together; others give the result as an `Answered` later.
    result: Any = None
    error: str | None = None
    status: CallStatus = "pending"
    started_at: int | None = None
    completed_at: int | None = None
    spawned: str | None = None  # the agent's own id of the session that this call started


class Said(Step, frozen=True, kw_only=True, gc=False):
    """A message, or a part of one.

    Texts of several blocks are joined by a line end. Without `blocks` the order is thinking, content, calls. Otherwise
    each block is `{"type": "text" | "thinking", "from": 0, "to": 12}` (characters of `content` or `thinking`),
    `{"type": "call", "at": 0}` (of `calls`) or the format's own word with small facts (`{"type": "image",
    "media_type": "image/png", "size_bytes": 70}`): the bytes themselves stay in the evidence.
    """

    role: Literal["user", "assistant", "system", "tool"]
    content: str | None = None
    thinking: str | None = None
    calls: tuple[Asked, ...] = ()
    blocks: tuple[dict[str, Any], ...] | None = None  # order of blocks, where it is not thinking, text, calls (below)
    source: str | None = None  # 'human', 'agent', 'context' (injected), 'event', 'cron', 'webhook' …
    starts_turn: bool = False  # a human (or a trigger) asks: a new turn begins here
    joins: str | None = None  # the API message that this is a part of: parts with the same key become one message
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None  # of the API call behind it; parts of one message repeat it, the last one counts
    usage_key: str | None = None  # counted once for each key in all sources (e.g. message id + request id)
    is_fast: bool = False  # the call was served in the model's fast mode, which has a price of its own
    context: Any = None
    metadata: Any = None
    files: tuple[File, ...] = ()
    lints: tuple[Lint, ...] = ()
    codeblocks: tuple[CodeBlock, ...] = ()
    identity: str | None = None  # what stays the same in copies of this step, if that is not its native id
    error: str | None = None  # the call to the model failed: so did the turn, unless it goes on


class Answered(Step, frozen=True, kw_only=True, gc=False):
    """The outcome of a tool call."""

    call: str  # native id of the call
    result: Any = None
    error: str | None = None
    status: CallStatus = "completed"
    spawned: str | None = None


class Noted(Step, frozen=True, kw_only=True, gc=False):
    """A node of the chain that is no message (a label, telemetry); what it says about the turns after it."""

    model: str | None = None
    provider: str | None = None
    tools: tuple[str, ...] | None = None
    permissions: Any = None
    workspace: str | None = None
    system_prompt_hash: str | None = None
    toolset: str | None = None
    or_last: bool = False  # if its parent is in no source, it follows the last step of its session


class Gap(Step, frozen=True, kw_only=True, gc=False):
    """A record that could not be read. The next step whose parent is unknown follows it."""


class Spent(Step, frozen=True, kw_only=True, gc=False):
    """Tokens of a call to the model that the source reports apart from its messages."""

    usage: Usage
    usage_key: str | None = None
    model: str | None = None
    provider: str | None = None
    is_fast: bool = False  # as of `Said`


class Compacted(Step, frozen=True, kw_only=True, gc=False):
    """A compaction: from here on the model sees a summary instead of what came before."""

    summary: str = ""
    thinking: str | None = None  # what the model thought before it wrote the summary
    first_kept: str | None = None  # native id of the first step that stays in context
    kept: tuple[str, ...] | None = None  # native ids of exactly those that stay
    replacement: Any = None
    type: str = "summary"
    model: str | None = None
    provider: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    summary_tokens: int | None = None
    usage: Usage | None = None
    duration_ms: int | None = None
    trigger: str | None = None  # 'context_limit', 'manual', 'periodic'
    metadata: Any = None
    identity: str | None = None


class Moved(Step, frozen=True, kw_only=True, gc=False):
    """The session's pointer went somewhere else: to a step (`to`), or back by a number of turns."""

    to: str | None = None
    turns: int | None = None


class Closed(Step, frozen=True, kw_only=True, gc=False):
    """The turn in progress ended in a way that its messages do not show."""

    status: Literal["completed", "failed"] = "completed"
    error: str | None = None


class Facts(Struct, frozen=True, kw_only=True):
    """What is known about a session as a whole. Said again, the newer value of each field counts."""

    session: str
    origin: str | None = None  # if it is not the format's name ('clawdbot', 'nexus' …)
    created_at: int | None = None
    updated_at: int | None = None
    title: str | None = None
    project: str | None = None  # the working folder
    git_branch: str | None = None
    agent_version: str | None = None
    persona: str | None = None
    channel: str | None = None
    routing_key: str | None = None
    aliases: tuple[str, ...] = ()
    # a subagent: who started it
    parent_session: str | None = None
    parent_call: str | None = None  # native id of the tool call
    task: str | None = None
    task_status: str | None = None
    # a fork: what it continues
    forked_from: str | None = None  # the agent's own id of the other session
    forked_path: str | None = None  # or the file that it names
    archive_source: str | None = None  # 'bak', 'deleted', 'reset': this record comes from an archive
    extra: Any = None  # everything else that the source says, as a JSON object; merged key by key


class Base(Struct, frozen=True, kw_only=True):
    """This session begins with another one's records, by reference: they are to be read first."""

    session: str  # whose history follows here
    of: str  # the agent's own id of the session that it continues
    until: int | None = None  # the first record that is not shared, by the agent's own count


class Stop(Struct, frozen=True):
    """A reader that was given `until` has reached it: what follows is not shared."""


class At(Struct, frozen=True):
    """The events that follow come from the record of this name (where they are known only when all are read)."""

    name: str


class Problem(Struct, frozen=True):
    """Something wrong with the data: kept, listed, and the rest goes on."""

    code: ProblemCode
    detail: str = ""


Event = Said | Answered | Noted | Gap | Spent | Compacted | Moved | Closed | Facts | Base | Stop | At | Problem
