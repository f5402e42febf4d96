"""What documents for people have in common: a turn's steps, facts in words, what a call was about."""

import re
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from agents_ledger.exports.texts import compact
from agents_ledger.model.chronicle import Chapter, Chronicle
from agents_ledger.model.rows import TurnRow
from agents_ledger.model.story import Block, Call, Entry, Result
from agents_ledger.model.times import iso
from agents_ledger.model.visible import clean

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_TELLING = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt", "skill", "name")
_LONGEST_GIST = 120
_COMMAND = 2  # parameters: a command, and what it is for


class Done(Struct, frozen=True):
    """A call, and what came of it."""

    call: Call
    result: Result | None


class Step(Struct, frozen=True):
    """One message, each call with its result."""

    entry: Entry
    items: tuple[Block | Done, ...]


def steps(chapter: Chapter) -> Iterator[Step]:
    """What happened in a turn, in order; results stand with their calls."""
    results: dict[str, deque[Result]] = {}
    for entry in chapter.entries:
        for block in entry.blocks:
            if isinstance(block, Result):
                results.setdefault(block.call, deque()).append(block)
    shown_ids: set[int] = set()  # of the results that were yielded: each is shown once
    for entry in chapter.entries:
        items = tuple(_items(entry, results, shown_ids))
        if items:
            yield Step(entry, items)


def _items(entry: Entry, results: dict[str, deque[Result]], shown_ids: set[int]) -> Iterator[Block | Done]:
    for block in entry.blocks:
        if isinstance(block, Call):
            yield Done(block, _next(results.get(block.id), shown_ids))
        elif not isinstance(block, Result):
            yield block
        elif id(block) not in shown_ids:  # of a call that is not here
            shown_ids.add(id(block))
            yield block


def _next(waiting: deque[Result] | None, shown_ids: set[int]) -> Result | None:
    """The first result that was not shown."""
    while waiting:
        result = waiting.popleft()
        if id(result) not in shown_ids:
            shown_ids.add(id(result))
            return result
    return None


def shown(text: str) -> str:
    """Text to look at: colours of terminals are gone, everything else that acts or hides is visible."""
    return clean(_COLOURS.sub("", text))


def one_line(text: str, longest: int = _LONGEST_GIST) -> str:
    """The beginning of a text on one line."""
    words = " ".join(shown(text[: 4 * longest]).split())
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def gist(call: Call) -> str:
    """What a call was about, on one line."""
    params = call.params
    if isinstance(params, dict):
        for name in _TELLING:
            value = params.get(name)
            if isinstance(value, str) and value.strip():
                return one_line(value)
    return "" if params in (None, {}) else one_line(params if isinstance(params, str) else compact(params))


def command_of(call: Call) -> str | None:
    """The command of a call that is little else."""
    params = call.params
    if not isinstance(params, dict) or len(params) > _COMMAND:
        return None
    found = params.get("command", params.get("cmd"))
    return found if isinstance(found, str) else None


def status(done: Done) -> str:
    """How a call ended."""
    return "no result" if done.result is None else one_line(done.result.status)


def speaker(entry: Entry) -> str:
    """Who says something, in a word."""
    if entry.role == "user" and entry.is_injected:
        return "context"
    return entry.role


def title(chronicle: Chronicle) -> str:
    """What a document is called."""
    return one_line(chronicle.title or chronicle.label or f"Thread of {chronicle.turn_id}")


def facts(chronicle: Chronicle) -> Iterator[tuple[str, str]]:
    """What is known about a thread, in words."""
    found = (
        ("session", chronicle.label),
        ("agent", chronicle.origin),
        ("project", chronicle.project),
        ("branch", chronicle.git_branch),
        ("model", chronicle.model),
        ("turns", f"{chronicle.depth:,}"),
        ("tokens", None if chronicle.tokens is None else f"{chronicle.tokens:,}"),
        ("from", moment(chronicle.started_at)),
        ("to", moment(chronicle.ended_at)),
        ("last turn", chronicle.turn_id),
    )
    yield from ((name, one_line(value, 500)) for name, value in found if value)


def turn_facts(turn: TurnRow) -> Iterator[str]:
    """What is known about a turn, in words; its hash stands by itself."""
    yield moment(turn.started_at)
    yield from (one_line(each) for each in (turn.model, turn.status) if each)
    if turn.total_tokens is not None:
        yield f"{turn.total_tokens:,} tokens"


def seal(turn: TurnRow) -> str:
    """A turn's hash, or that it has none yet."""
    return turn.turn_hash.hex() if turn.turn_hash else "not sealed yet"


def moment(at: int) -> str:
    """A time for people."""
    return f"{(iso(at) or '')[:19].replace('T', ' ')} UTC"
