"""What `opencode import` takes in (seen in 1.18): one message that does not fit, and the whole document is refused."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Json = dict[str, Any]
Count = Annotated[int, Meta(ge=0)]
Number = int | float
Flag = bool | UnsetType
Words = str | UnsetType
Facts = Json | UnsetType


class Cache(Struct):
    """Tokens that a cache saved."""

    read: Number
    write: Number


class Tokens(Struct):
    """What a call to the model cost."""

    input: Number
    output: Number
    reasoning: Number
    cache: Cache
    total: Number | UnsetType = UNSET


class Span(Struct):
    """When something was said."""

    start: Count
    end: Count | UnsetType = UNSET


class Done(Struct):
    """When a call was made, and when its output was cleared."""

    start: Count
    end: Count
    compacted: Count | UnsetType = UNSET


class Model(Struct, rename={"provider_id": "providerID", "model_id": "modelID"}):
    """A model, as messages name it."""

    provider_id: str
    model_id: str
    variant: Words = UNSET


class TextPart(Struct, tag_field="type", tag="text"):
    """Words."""

    text: str
    synthetic: Flag = UNSET
    ignored: Flag = UNSET
    time: Span | UnsetType = UNSET
    metadata: Facts = UNSET


class ReasoningPart(Struct, tag_field="type", tag="reasoning"):
    """A thought; its seal stands in the metadata."""

    text: str
    time: Span
    metadata: Facts = UNSET


class Excerpt(Struct):
    """The words by which something is named in a question."""

    value: str
    start: Number
    end: Number


class FileSource(Struct, tag_field="type", tag="file"):
    """A file of the folder."""

    text: Excerpt
    path: str


class SymbolSource(Struct, tag_field="type", tag="symbol"):
    """A name in it."""

    text: Excerpt
    path: str
    range: Json
    name: str
    kind: Count


class ResourceSource(Struct, tag_field="type", tag="resource", rename={"client_name": "clientName"}):
    """Something that a server gave."""

    text: Excerpt
    client_name: str
    uri: str


class FilePart(Struct, tag_field="type", tag="file"):
    """A file, its bytes in the address."""

    mime: str
    url: str
    filename: Words = UNSET
    source: FileSource | SymbolSource | ResourceSource | UnsetType = UNSET


class Pending(Struct, tag_field="status", tag="pending"):
    """A call that was not made yet."""

    input: Json
    raw: str


class Running(Struct, tag_field="status", tag="running"):
    """A call that has not come to its end."""

    input: Json
    time: Span
    title: Words = UNSET
    metadata: Facts = UNSET


class Completed(Struct, tag_field="status", tag="completed"):
    """A call that gave something."""

    input: Json
    output: str
    title: str
    metadata: Json
    time: Done
    attachments: list[FilePart] | UnsetType = UNSET


class Failed(Struct, tag_field="status", tag="error"):
    """A call that did not work."""

    input: Json
    error: str
    time: Done
    metadata: Facts = UNSET


class ToolPart(Struct, tag_field="type", tag="tool", rename={"call_id": "callID"}):
    """A call."""

    call_id: str
    tool: str
    state: Pending | Running | Completed | Failed
    metadata: Facts = UNSET


class StepStart(Struct, tag_field="type", tag="step-start"):
    """A call to the model begins."""

    snapshot: Words = UNSET


class StepFinish(Struct, tag_field="type", tag="step-finish"):
    """And ends."""

    reason: str
    cost: Number
    tokens: Tokens
    snapshot: Words = UNSET


class Snapshot(Struct, tag_field="type", tag="snapshot"):
    """The folder as it was."""

    snapshot: str


class Patch(Struct, tag_field="type", tag="patch"):
    """What was changed in it."""

    hash: str
    files: list[str]


class AgentPart(Struct, tag_field="type", tag="agent"):
    """An agent that a question names."""

    name: str
    source: Excerpt | UnsetType = UNSET


class Subtask(Struct, tag_field="type", tag="subtask"):
    """A subagent that a command starts."""

    prompt: str
    description: str
    agent: str
    model: Model | UnsetType = UNSET
    command: Words = UNSET


class Compaction(Struct, tag_field="type", tag="compaction"):
    """Somebody asks for a summary; what comes from a message on is kept."""

    auto: bool
    overflow: Flag = UNSET
    tail_start_id: Words = UNSET


class ApiFailure(Struct, rename={"is_retryable": "isRetryable"}):
    """What a provider said."""

    message: str
    is_retryable: bool


class ApiError(Struct, tag_field="name", tag="APIError"):
    """A call to the model that failed."""

    data: ApiFailure


class Retry(Struct, tag_field="type", tag="retry"):
    """It is tried once more."""

    attempt: Count
    error: ApiError
    time: "Created"


class Created(Struct):
    """When somebody asked."""

    created: Count


class Answered(Struct):
    """When the model answered."""

    created: Count
    completed: Count | UnsetType = UNSET


class Change(Struct):
    """What a question changed in a file."""

    additions: Number
    deletions: Number
    file: Words = UNSET
    patch: Words = UNSET
    status: Literal["added", "deleted", "modified"] | UnsetType = UNSET


class Changes(Struct):
    """What a question changed."""

    diffs: list[Change]
    title: Words = UNSET
    body: Words = UNSET


class Form(Struct):
    """The form in which an answer is wanted."""

    type: Literal["text", "json_schema"]
    schema: Facts = UNSET


class User(Struct, tag_field="role", tag="user"):
    """A question."""

    time: Created
    agent: str
    model: Model
    summary: Changes | UnsetType = UNSET
    format: Form | UnsetType = UNSET
    system: Words = UNSET
    tools: dict[str, bool] | UnsetType = UNSET


class Folder(Struct):
    """Where the agent was."""

    cwd: str
    root: str


class Assistant(
    Struct,
    tag_field="role",
    tag="assistant",
    rename={"parent_id": "parentID", "provider_id": "providerID", "model_id": "modelID"},
):
    """An answer."""

    time: Answered
    parent_id: str
    provider_id: str
    model_id: str
    mode: str
    agent: str
    path: Folder
    cost: Number
    tokens: Tokens
    summary: Flag = UNSET
    variant: Words = UNSET
    finish: Words = UNSET


class Chosen(Struct, rename={"provider_id": "providerID"}):
    """A model, as a session names it."""

    id: str
    provider_id: str
    variant: Words = UNSET


class Rule(Struct):
    """Something that is allowed, or not."""

    permission: str
    pattern: str
    action: Literal["allow", "deny", "ask"]


Part = (
    TextPart
    | ReasoningPart
    | FilePart
    | ToolPart
    | StepStart
    | StepFinish
    | Snapshot
    | Patch
    | AgentPart
    | Subtask
    | Compaction
    | Retry
)
# what an error must say besides its name, and in what type
ERRORS: dict[str, dict[str, type]] = {
    "MessageOutputLengthError": {},
    "ProviderAuthError": {"providerID": str, "message": str},
    "MessageAbortedError": {"message": str},
    "StructuredOutputError": {"message": str, "retries": int},
    "APIError": {"message": str, "isRetryable": bool},
    "ContextOverflowError": {"message": str},
    "ContentFilterError": {"message": str},
    "UnknownError": {"message": str},
}


class Entry(Struct):
    """A message with its parts."""

    info: User | Assistant
    parts: list[Part]


def taken_in(message: Json) -> bytes | None:
    """A message with its parts as JSON, if OpenCode takes that in."""
    return _encoded(message, Entry)


def fits(value: Any, kind: Any) -> bool:
    """Whether OpenCode takes something in that is said of a session."""
    return _encoded(value, kind) is not None


def _encoded(value: Any, kind: Any) -> bytes | None:
    """A value as JSON, if that is of a type: it is read again, for not all that can be written can be read."""
    try:
        data = msgspec.json.encode(value)
        msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeEncodeError, OverflowError, RecursionError):
        return None
    return data
