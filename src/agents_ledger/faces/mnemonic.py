"""Mnemonic's Agents Ledger: `agent_sessions`, `agent_messages`, `agent_turns`, `agent_tool_calls`, as typed rows."""

from msgspec import Struct

from agents_ledger.faces.reading import every, first
from agents_ledger.ledger import Ledger


class AgentSession(Struct, frozen=True):
    """A row of `agent_sessions`."""

    id: str  # the agent's own id; `task-{tool_call_id}` for subagents
    source: str
    model: str | None
    project: str | None
    created_at: int
    message_count: int
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


class AgentMessage(Struct, frozen=True):
    """A row of `agent_messages`: a message in one of the sessions that have it."""

    id: str
    session_id: str | None  # None: no session's thread has it any more
    role: str
    content: str
    sequence: int  # 0, 1, 2 … from the root of its thread
    timestamp: int
    checkpoint_id: str | None
    is_agentic: int
    is_plan_execution: int
    context_json: str | None
    cursor_rules_json: str | None
    metadata_json: str | None


class AgentTurn(Struct, frozen=True):
    """A row of `agent_turns`: a turn, in the session that it was written in."""

    id: str
    session_id: str | None
    parent_turn_id: str | None
    query_message_ids: str
    response_message_id: str | None
    model: str | None
    token_count: int | None
    timestamp: int
    has_children: int
    tool_call_count: int


class AgentToolCall(Struct, frozen=True):
    """A row of `agent_tool_calls`: a call in one of the sessions that have it."""

    id: str
    message_id: str | None
    session_id: str | None
    tool_name: str
    tool_number: int
    params_json: str
    result_json: str | None
    status: str
    child_session_id: str | None
    started_at: int
    completed_at: int | None


def sessions(ledger: Ledger, *, after: str = "", limit: int = 100) -> list[AgentSession]:
    """Sessions in the order of their ids, after one."""
    return every(ledger, AgentSession, "mnemonic_sessions", after=after, limit=limit)


def session(ledger: Ledger, session_id: str) -> AgentSession | None:
    """A session by its id."""
    return first(ledger, AgentSession, "mnemonic_session", id=session_id)


def subagents(ledger: Ledger, session_id: str) -> list[AgentSession]:
    """The sessions that a session's calls started."""
    return every(ledger, AgentSession, "mnemonic_subagents", id=session_id)


def messages(ledger: Ledger, session_id: str, *, after: int = -1, limit: int = 1000) -> list[AgentMessage]:
    """The conversation of a session, after a sequence number."""
    return every(ledger, AgentMessage, "mnemonic_messages", session_id=session_id, after=after, limit=limit)


def message(ledger: Ledger, message_id: str) -> list[AgentMessage]:
    """A message by its id: once for each session that has it."""
    return every(ledger, AgentMessage, "mnemonic_message", id=message_id)


def turns(ledger: Ledger, session_id: str, *, after: str = "", limit: int = 1000) -> list[AgentTurn]:
    """The turns that were written in a session, in the order of time."""
    return every(ledger, AgentTurn, "mnemonic_turns", session_id=session_id, after=after, limit=limit)


def turn(ledger: Ledger, turn_id: str) -> AgentTurn | None:
    """A turn by its id."""
    return first(ledger, AgentTurn, "mnemonic_turn", id=turn_id)


def turn_tree(ledger: Ledger, turn_id: str) -> list[AgentTurn]:
    """A turn with all that led to it, the oldest first."""
    return every(ledger, AgentTurn, "mnemonic_tree", id=turn_id)


def calls(
    ledger: Ledger, session_id: str, *, after: tuple[int, str] = (-1, ""), limit: int = 1000
) -> list[AgentToolCall]:
    """The tool calls of a session's conversation, after a (started_at, id)."""
    return every(
        ledger,
        AgentToolCall,
        "mnemonic_calls",
        session_id=session_id,
        after_at=after[0],
        after_id=after[1],
        limit=limit,
    )


def call(ledger: Ledger, call_id: str) -> list[AgentToolCall]:
    """A tool call by its id: once for each session that has it."""
    return every(ledger, AgentToolCall, "mnemonic_call", id=call_id)
