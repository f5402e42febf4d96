"""Event messages: what repeats the items is passed over; ends of turns, rewinds, names and tokens are not."""

from collections.abc import Callable, Iterator
from typing import Final

from agents_ledger.formats.codex.fields import Item, count, label, rows, table, text, wrong
from agents_ledger.formats.codex.state import State
from agents_ledger.formats.codex.tokens import token_count
from agents_ledger.model.steps import Closed, Event, Facts, Moved, Noted


def event_msg(state: State, event: Item, at: int | None) -> Iterator[Event]:
    """The events of one event message."""
    kind = event.get("type")
    handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
    if handler is not None:
        yield from handler(state, event, at)
    elif not isinstance(kind, str) or (kind not in _PASSED_OVER and not kind.startswith("collab_")):
        yield from state.strange(f"event_msg/{kind}" if isinstance(kind, str) else kind)


def _begun(state: State, event: Item, _at: int | None) -> Iterator[Event]:
    yield from wrong(event, "task_started", turn_id=str)
    state.begin_turn(label(event, "turn_id") or "")


def _complete(state: State, event: Item, at: int | None) -> Iterator[Event]:
    yield from wrong(event, "task_complete", turn_id=str, error=(dict, str))
    state.begin_turn("")
    error = event.get("error")
    message = text(error, "message") if isinstance(error, dict) else error
    if isinstance(message, str) and message:  # 0.145: a usage limit ends a turn this way
        yield Closed(session=state.session, at=at, status="failed", error=message[:2000])
    else:
        yield Closed(session=state.session, at=at)


def _aborted(state: State, event: Item, at: int | None) -> Iterator[Event]:
    state.begin_turn("")
    yield Closed(session=state.session, at=at, status="failed", error=(text(event, "reason") or "interrupted")[:200])


def _failed(state: State, event: Item, at: int | None) -> Iterator[Event]:
    state.pause()
    yield Closed(session=state.session, at=at, status="failed", error=(text(event, "message") or "error")[:2000])


def _rolled_back(state: State, event: Item, at: int | None) -> Iterator[Event]:
    yield from wrong(event, "thread_rolled_back", num_turns=int)
    state.pause()
    if turns := count(event, "num_turns"):
        yield Moved(session=state.session, at=at, turns=turns)


def _named(state: State, event: Item, at: int | None) -> Iterator[Event]:
    thread, name = label(event, "thread_id") or state.session, text(event, "thread_name")
    if name and state.until is None and not state.copying:
        yield Facts(session=thread, title=name, updated_at=at)


def _set(state: State, event: Item, at: int | None) -> Iterator[Event]:
    """New settings: a turn's context says the same later, except for the provider."""
    settings = table(event, "thread_settings")
    model, provider = label(settings, "model"), label(settings, "model_provider_id")
    state.is_fast = label(settings, "service_tier") in _FAST
    if (model or state.model, provider or state.provider) == (state.model, state.provider):
        return
    state.model, state.provider = model or state.model, provider or state.provider
    yield Noted(session=state.session, at=at, model=state.model, provider=state.provider)


def _spawned(state: State, event: Item, _at: int | None) -> Iterator[Event]:
    """A subagent of ours, by the call that started it (before 0.16x)."""
    thread = label(event, "new_thread_id")
    if thread and state.until is None and not state.copying:
        yield Facts(
            session=thread,
            parent_session=state.session,
            parent_call=text(event, "call_id"),
            task=text(event, "prompt"),
        )


def _item_completed(state: State, event: Item, _at: int | None) -> Iterator[Event]:
    """The same by 0.16x; all other items are response items as well."""
    item = table(event, "item")
    if item.get("type") != "CollabAgentToolCall" or item.get("tool") not in ("spawn_agent", "spawnAgent"):
        return
    if state.until is not None or state.copying:
        return
    for thread in rows(item, "receiver_thread_ids")[:100]:
        if isinstance(thread, str) and thread.isprintable() and thread:
            yield Facts(
                session=thread,
                parent_session=state.session,
                parent_call=text(item, "id"),
                task=text(item, "prompt"),
            )


_FAST = ("priority", "fast")  # OpenAI renamed the tier in July 2026
Handler = Callable[[State, Item, int | None], Iterator[Event]]
_HANDLERS: Final[dict[str, Handler]] = {
    "token_count": token_count,
    "item_completed": _item_completed,
    "task_started": _begun,
    "turn_started": _begun,
    "task_complete": _complete,
    "turn_complete": _complete,
    "turn_aborted": _aborted,
    "error": _failed,
    "thread_rolled_back": _rolled_back,
    "thread_name_updated": _named,
    "thread_settings_applied": _set,
    "collab_agent_spawn_end": _spawned,
}
# Told by response items as well, or about the screen.
_PASSED_OVER: Final = frozenset(
    [
        "user_message",
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "context_compacted",
        "entered_review_mode",
        "exited_review_mode",
        "exec_command_begin",
        "exec_command_end",
        "patch_apply_begin",
        "patch_apply_updated",
        "patch_apply_end",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "web_search_begin",
        "web_search_end",
        "image_generation_begin",
        "image_generation_end",
        "view_image_tool_call",
        "item_started",
        "sub_agent_activity",
        "thread_goal_updated",
        "thread_goal_cleared",
        "turn_diff",
        "plan_update",
        "warning",
        "stream_error",
        "background_event",
        "undo_started",
        "undo_completed",
        "session_configured",
        "shutdown_complete",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
        "guardian_assessment",
        "model_reroute",
        "deprecation_notice",
        "exec_approval_request",
        "apply_patch_approval_request",
        "request_user_input",
        "elicitation_request",
        "hook_started",
        "hook_completed",
        "terminal_interaction",
        "raw_response_item",
        "skills_update_available",
        "thread_goal_deleted",
    ]
)
