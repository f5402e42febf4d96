"""What a program must not hand in, though a source may tell it: refused here, kept where it was captured."""

from collections.abc import Sequence
from typing import Any, TypeVar

from agents_ledger.errors import BadInput
from agents_ledger.ledger.sessions import Origin
from agents_ledger.model.entries import (
    Call,
    CodeBlock,
    Compaction,
    File,
    Lint,
    Message,
    ModelCall,
    Settings,
    Spawn,
    Turn,
    Usage,
)
from agents_ledger.model.texts import integer, key

T = TypeVar("T")


def check(turn: Turn) -> Turn:
    """A turn that can be appended."""
    _be(turn, Turn, "turn")
    for message in _several(turn.messages, "messages"):
        check_message(message)
    for call in _several(turn.calls, "calls"):
        check_call(call)
    for spent in _several(turn.model_calls, "model_calls"):
        _check_model_call(spent)
    _be(turn.usage, Usage, "turn's usage")
    _be(turn.settings, Settings, "turn's settings")
    if turn.compaction is not None:
        _check_compaction(turn.compaction)
    key(turn.evidence, "place of evidence")
    return turn


def check_message(message: Message) -> Message:
    """A message whose attachments have what they need."""
    _be(message, Message, "message")
    key(message.evidence, "place of evidence")
    for file in _several(message.files, "files"):
        _check_file(file)
    for lint in _several(message.lints, "lints"):
        _be(lint, Lint, "lint")
    for block in _several(message.codeblocks, "codeblocks"):
        _require(_be(block, CodeBlock, "code block").content, "code block")
    return message


def check_call(call: Call) -> Call:
    """A call of a tool that has a name."""
    _require(_be(call, Call, "call").tool, "tool's name")
    _check_index(call.message)
    key(call.evidence, "place of evidence")
    return call


def check_usage(usage: Usage) -> Usage:
    """Tokens that can be added to others."""
    _be(usage, Usage, "usage")
    for name in Usage.__struct_fields__:
        integer(getattr(usage, name), f"{name} tokens")
    return usage


def check_origin(origin: Origin) -> Origin:
    """Where a session says that it comes from."""
    _be(origin, Origin, "origin")
    if origin.spawn is not None:
        _require(_be(origin.spawn, Spawn, "spawn").parent_session_label, "parent's session label")
        key(origin.spawn.parent_turn_id, "parent_turn_id")
        key(origin.spawn.spawn_tool_call_id, "spawn_tool_call_id")
        _require(origin.spawn.task_status, "status of a task")
    return origin


def asked(query: str | Message | tuple[Message, ...] | None) -> tuple[Message, ...]:
    """The messages that a live turn begins with."""
    if query is None:
        return ()
    if isinstance(query, str):
        return (Message("user", query, source="human"),)
    if isinstance(query, Message):
        return (query,)
    if not isinstance(query, tuple | list):
        raise BadInput(f"pass the query as text, as Message(…) or as a tuple of those, not as {type(query).__name__}")
    return tuple(query)


def _check_file(file: File) -> None:
    _require(_be(file, File, "file").path, "path of a file")
    _require(file.kind, "kind of a file")
    integer(file.line_start, "line_start")
    integer(file.line_end, "line_end")


def _check_model_call(spent: ModelCall) -> None:
    _be(_be(spent, ModelCall, "model call").usage, Usage, "model call's usage")
    integer(spent.at, "at")
    if isinstance(spent.at, bool):
        raise BadInput("at must be a whole number of milliseconds, not bool")
    _check_index(spent.message)


def _check_compaction(given: Compaction) -> None:
    _be(given, Compaction, "compaction")
    said = given.summary.strip() if isinstance(given.summary, str) else given.summary
    if not said and given.type != "sliding_window" and given.replacement is None:
        raise BadInput(
            "the summary is empty, and what it stands for would be gone from the context: write a few words, "
            'or leave the turns out without any (type="sliding_window")'
        )
    key(given.first_kept_message_id, "first kept message")
    if given.kept is None:
        return
    for turn_id in _several(given.kept, "kept"):
        _require(turn_id, "id of a kept turn")
    if len(set(given.kept)) < len(given.kept):
        raise BadInput("a turn is kept once: name each of the kept turns a single time")


def _check_index(message: object) -> None:
    if message is not None and (not isinstance(message, int) or isinstance(message, bool)):
        raise BadInput(
            "`message` is the number of a message of the turn, the first is 0: pass a whole number, "
            f"not {type(message).__name__}"
        )


def _be(value: T, kind: type, what: str) -> T:
    """The value, if it is of its kind."""
    if not isinstance(value, kind):
        raise BadInput(f"pass the {what} as {kind.__name__}(…), not as {type(value).__name__}")
    return value


def _several(values: Sequence[T], what: str) -> Sequence[T]:
    """Several of them: neither a single one, nor what can be read only once (it is read again when it is written)."""
    if not isinstance(values, tuple | list):
        raise BadInput(f"pass `{what}` as a tuple, (…,) also for a single one, not as {type(values).__name__}")
    return values


def _require(text: Any, what: str) -> None:
    if text is None:
        raise BadInput(f"the {what} is missing: pass a text")
    if not isinstance(text, str):
        raise BadInput(f"the {what} must be text, not {type(text).__name__}")
