"""How a summariser is asked: at once, or (safeguard) in stages that fit its window, each with the summary so far."""

from collections.abc import Iterator

from msgspec import structs

from agents_ledger.errors import LedgerError, SummariserFailed
from agents_ledger.model.estimates import AROUND_A_MESSAGE, estimate, fitted
from agents_ledger.model.extractive import MODEL, facts
from agents_ledger.model.summary import Done, Passage, Said, Summariser, Summary, Task

_AROUND = 1_000  # tokens of a summariser's own words around what it is to summarise
_STAGE = 60_000  # the least that is worth a stage, if the window allows it
_SHARE_OF_FACTS = 4  # a quarter of the summary


def ask(summariser: Summariser, task: Task) -> Summary:
    """The summary of everything at once."""
    window = summariser.window_tokens
    size = sum(size_of(passage) for passage in task.passages) + estimate(task.earlier)
    if window is not None and size > window - task.limit_tokens - _AROUND:
        raise SummariserFailed(
            f"about {size:,} tokens are too much for the summariser's window of {window:,}: the mode `safeguard` "
            "summarises them in stages"
        )
    return _summary(summariser, task)


def ask_safely(summariser: Summariser, task: Task) -> Summary:
    """The summary made in stages; files, failures and open tasks are added as they are recorded."""
    kept = facts(task.passages, task.limit_tokens // _SHARE_OF_FACTS)
    told = structs.replace(task, limit_tokens=task.limit_tokens - estimate(kept))
    whole: Summary | None = None
    for stage in _stages(told, summariser.window_tokens):
        earlier = told.earlier if whole is None else whole.text
        made = _summary(summariser, structs.replace(told, passages=tuple(stage), earlier=earlier))
        whole = made if whole is None else _joined(whole, made)
    assert whole is not None, "there is something to summarise"  # noqa: S101
    if not kept or whole.model == MODEL:  # it has these sections already
        return whole
    return structs.replace(whole, text=f"{whole.text}\n\n{kept}")


def size_of(passage: Passage) -> int:
    """The tokens of a passage, roughly."""
    return sum(_size(step) for step in passage.steps)


def _summary(summariser: Summariser, task: Task) -> Summary:
    """What a summariser gives, if that is a summary. An empty one would hide all that came before its stage."""
    try:
        made: object = summariser.summarise(task)
    except LedgerError:
        raise
    except Exception as problem:  # somebody else's code
        raise SummariserFailed(
            f"the summariser ended with {type(problem).__name__}: {problem}; the session is as it was"
        ) from problem
    if not isinstance(made, Summary):
        raise SummariserFailed(f"the summariser gave a {type(made).__name__}, no Summary: the session is as it was")
    text: object = made.text
    if not isinstance(text, str):
        kind = type(text).__name__
        raise SummariserFailed(f"the summariser gave a Summary whose text is a {kind}: the session is as it was")
    if not text.strip():
        raise SummariserFailed(f"{made.model} gave an empty summary: the session is as it was. Try again")
    return made


def _stages(task: Task, window: int | None) -> Iterator[list[Passage]]:
    """Passages in groups that fit; one that is too long by itself is shortened in its longest texts."""
    room = _STAGE if window is None else window - 2 * task.limit_tokens - _AROUND - estimate(task.instructions)
    if room <= 0:
        raise SummariserFailed(
            f"a window of {window:,} tokens has no room for a summary of {task.limit_tokens:,}: give it a larger window"
        )
    group: list[Passage] = []
    left = room
    for passage in task.passages:
        fitting = passage if size_of(passage) <= room else _shortened(passage, room)
        size = size_of(fitting)
        if size > left and group:
            yield group
            group, left = [], room
        group.append(fitting)
        left -= size
    yield group


def _shortened(passage: Passage, room: int) -> Passage:
    each = max(room // max(len(passage.steps), 1) - 2 * AROUND_A_MESSAGE, 8)
    return Passage(passage.turn_id, tuple(_cut(step, each) for step in passage.steps[-room // 16 :]))


def _cut(step: Said | Done, tokens: int) -> Said | Done:
    if isinstance(step, Said):
        return structs.replace(step, text=fitted(step.text, tokens))
    third = tokens // 3
    params = step.params if estimate(str(step.params)) <= third else fitted(str(step.params), third)
    result = None if step.result is None else fitted(step.result, third)
    error = None if step.error is None else fitted(step.error, third)
    return structs.replace(step, params=params, result=result, error=error)


def _size(step: Said | Done) -> int:
    if isinstance(step, Said):
        return estimate(step.text) + AROUND_A_MESSAGE
    texts = (step.tool, str(step.params), step.result, step.error)
    return sum(estimate(text) for text in texts) + AROUND_A_MESSAGE


def _joined(before: Summary, last: Summary) -> Summary:
    return structs.replace(
        last,
        input_tokens=_sum(before.input_tokens, last.input_tokens),
        output_tokens=_sum(before.output_tokens, last.output_tokens),
        calls=before.calls + last.calls,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
