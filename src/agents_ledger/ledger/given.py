"""What a program must not hand in, though a source may tell it: refused here, kept where it was captured."""

from agents_ledger.errors import BadInput
from agents_ledger.model.entries import Call, Compaction, Message, Turn
from agents_ledger.model.texts import key


def check(turn: Turn) -> Turn:
    """A turn that can be appended."""
    for message in turn.messages:
        check_message(message)
    for call in turn.calls:
        check_call(call)
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


def _check_compaction(given: Compaction) -> None:
    said = given.summary.strip() if isinstance(given.summary, str) else given.summary
    if not said and given.type != "sliding_window" and given.replacement is None:
        raise BadInput(
            "the summary is empty, and what it stands for would be gone from the context: write a few words, "
            'or leave the turns out without any (type="sliding_window")'
        )
    if given.kept is not None and len(set(given.kept)) < len(given.kept):
        raise BadInput("a turn is kept once: name each of the kept turns a single time")


def _require(text: str | None, what: str) -> None:
    if text is None:
        raise BadInput(f"the {what} is missing: pass a text")
