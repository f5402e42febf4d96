"""What a program must not hand in, though a source may tell it: refused here, kept where it was captured."""

from agents_ledger.errors import BadInput
from agents_ledger.model.entries import Call, Compaction, Message, Turn, Usage
from agents_ledger.model.texts import integer, key

_TOKENS = Usage.__struct_fields__
_COUNTS = ("tokens_before", "tokens_after", "summary_tokens", "input_tokens", "output_tokens", "duration_ms")


def check(turn: Turn) -> Turn:
    """A turn that can be appended."""
    for message in turn.messages:
        check_message(message)
    for call in turn.calls:
        check_call(call)
    for usage in (turn.usage, *(call.usage for call in turn.model_calls)):
        check_usage(usage)
    if turn.compaction is not None:
        _check_compaction(turn.compaction)
    key(turn.evidence, "place of evidence")
    return turn


def check_message(message: Message) -> Message:
    """A message whose attachments have what they need."""
    key(message.evidence, "place of evidence")
    for file in message.files:
        _require(file.path, "path of a file")
    for block in message.codeblocks:
        _require(block.content, "code block")
    return message


def check_call(call: Call) -> Call:
    """A call of a tool that has a name."""
    _require(call.tool, "tool's name")
    key(call.evidence, "place of evidence")
    return call


def check_usage(usage: Usage) -> Usage:
    """Tokens that can have been spent."""
    for name in _TOKENS:
        _refuse_less(getattr(usage, name), name, " tokens")
    return usage


def _check_compaction(given: Compaction) -> None:
    said = given.summary.strip() if isinstance(given.summary, str) else given.summary
    if not said and given.type != "sliding_window" and given.replacement is None:
        raise BadInput(
            "the summary is empty, and what it stands for would be gone from the context: write a few words, "
            'or leave the turns out without any (type="sliding_window")'
        )
    if given.kept is not None and len(set(given.kept)) < len(given.kept):
        raise BadInput("a turn is kept once: name each of the kept turns a single time")
    for name in _COUNTS:
        _refuse_less(getattr(given, name), name)


def _require(text: str | None, what: str) -> None:
    if text is None:
        raise BadInput(f"the {what} is missing: pass a text")


def _refuse_less(value: int | None, name: str, unit: str = "") -> None:
    if value is not None and (integer(value, name + unit) or 0) < 0:
        raise BadInput(f"{name}{unit} can't be less than 0: pass None if it is not known")
