"""AIX's shape: `sessions`, `messages`, `turns`, `tool_calls` (`aix_…` in SQLite), as typed rows."""

from msgspec import Struct

from agents_ledger.faces.mnemonic import AgentToolCall, AgentTurn
from agents_ledger.faces.reading import every, first
from agents_ledger.ledger import Ledger


class AixSession(Struct, frozen=True):
    """A row of AIX's `sessions`."""

    id: str
    source: str
    project: str | None
    model: str | None
    created_at: int
    message_count: int
    summary: str | None  # its title, else the summary of its last compaction
    raw_json: str | None  # what its source says of it as a whole
    parent_session_id: str | None
    parent_message_id: str | None
    tool_call_id: str | None
    task_description: str | None
    task_status: str | None
    is_subagent: int
    context_token_limit: int | None
    context_tokens_used: int | None
    is_agentic: int
    force_mode: str | None
    workspace_path: str | None


class AixMessage(Struct, frozen=True):
    """A row of AIX's `messages`."""

    id: str
    session_id: str | None
    role: str
    content: str
    sequence: int
    timestamp: int
    checkpoint_id: str | None
    is_agentic: int
    is_plan_execution: int
    context_json: str | None
    cursor_rules_json: str | None
    raw_json: str | None


def sessions(ledger: Ledger, *, after: str = "", limit: int = 100) -> list[AixSession]:
    """Sessions in the order of their ids, after one."""
    return every(ledger, AixSession, "aix_sessions_page", after=after, limit=limit)


def session(ledger: Ledger, session_id: str) -> AixSession | None:
    """A session by its id."""
    return first(ledger, AixSession, "aix_session", id=session_id)


def messages(ledger: Ledger, session_id: str, *, after: int = -1, limit: int = 1000) -> list[AixMessage]:
    """The conversation of a session, after a sequence number."""
    return every(ledger, AixMessage, "aix_messages_of", session_id=session_id, after=after, limit=limit)


def turns(ledger: Ledger, session_id: str, *, after: str = "", limit: int = 1000) -> list[AgentTurn]:
    """The turns that were written in a session."""
    return every(ledger, AgentTurn, "aix_turns_of", session_id=session_id, after=after, limit=limit)


def calls(
    ledger: Ledger, session_id: str, *, after: tuple[int, str] = (-1, ""), limit: int = 1000
) -> list[AgentToolCall]:
    """The tool calls of a session's conversation, after a (started_at, id)."""
    return every(
        ledger, AgentToolCall, "aix_calls_of", session_id=session_id, after_at=after[0], after_id=after[1], limit=limit
    )
