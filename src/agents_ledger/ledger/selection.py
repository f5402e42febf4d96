"""Which older turns a selective compaction keeps: those that the newest ones speak of."""

from collections.abc import Iterable, Sequence
from math import sqrt

from agents_ledger.ledger.context import ContextTurn
from agents_ledger.ledger.tokens import estimate_turn
from agents_ledger.model.sentences import rarity, words

_LONGEST = 20_000  # characters of a text that are looked at


def pick(
    turns: Sequence[ContextTurn], recent: Sequence[ContextTurn], room_tokens: int, focus: str | None
) -> list[ContextTurn]:
    """The turns that have most in common with the recent ones (and with a focus), in their order, within the room."""
    wanted = set(words(focus or "")).union(*(_words(turn) for turn in recent[-3:]))
    said = [_words(turn) for turn in turns]
    rare = rarity(said)
    worth = [sum(rare[word] for word in sorted(own & wanted)) / sqrt(len(own) + 4) for own in said]
    chosen: list[int] = []
    for at in sorted(range(len(turns)), key=lambda at: (-worth[at], -at)):
        size = estimate_turn(turns[at])
        if worth[at] > 0 and size <= room_tokens:
            chosen.append(at)
            room_tokens -= size
    return [turns[at] for at in sorted(chosen)]


def _words(turn: ContextTurn) -> set[str]:
    return set(words("\n".join(_texts(turn))))


def _texts(turn: ContextTurn) -> Iterable[str]:
    for row in turn.messages:
        if row.source != "context" and row.content:
            yield row.content[:_LONGEST]
    for call in turn.calls:
        yield call.params_json[:_LONGEST]
