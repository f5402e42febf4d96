"""Our context of each turn, and what Claude Code and Codex really sent when they went on after it."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from agents_ledger.capture.telling import Telling
from agents_ledger.ledger.context import Context
from agents_ledger.model.rows import CallRow, TurnRow
from oracles.box import Box
from oracles.conversation import Item, Json, history
from oracles.forks import TOOLS, Life, captured, is_summary, plain
from oracles.live import Claude, Codex, LiveAgent, OldCodex
from oracles.ours import result_text
from oracles.translation import summarised

FULL = {"usage": {"input": 400_000}}  # more than any window here holds
AFTER: list[Json] = [{"shell": "echo after"}, {"text": "Done after."}]
_SPACE = re.compile(r"^multi_agent_v1[._]")


class SmallClaude(Claude):
    """Claude Code with a window that is soon full."""

    def _variables(self) -> dict[str, str]:
        return {**super()._variables(), "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}


def compacted_by_hand(box: Box) -> LiveAgent:
    """Twice `/compact`, each time with more turns behind it."""
    agent = Claude(box)
    agent.ask("Hello one.", *TOOLS)
    agent.ask("Second?")
    for number in (1, 2):
        agent.ask("/compact")
        agent.ask(f"After {number}?", *AFTER)
        agent.ask(f"More {number}?", *TOOLS)
    return agent


def compacted_between_turns(agent: LiveAgent) -> LiveAgent:
    """The window is full twice at the end of a turn."""
    agent.ask("Hello one.", *TOOLS)
    agent.ask("Second?")
    for number in (1, 2):
        agent.ask(f"Much {number}.", {"shell": "echo x"}, {"text": "Much was read.", **FULL})
        agent.ask(f"After {number}?", *AFTER)
        agent.ask(f"More {number}?", *TOOLS)
    return agent


def compacted_in_a_turn(agent: LiveAgent) -> LiveAgent:
    """The window is full while tools are at work."""
    agent.ask("Hello one.", *TOOLS)
    agent.ask("Much.", {"shell": "echo x", **FULL}, {"shell": "echo y"}, {"text": "Much was read."})
    agent.ask("After?", *AFTER)
    return agent


def compacted_with_long_questions(agent: LiveAgent) -> LiveAgent:
    """More was asked than a compaction keeps: the oldest is left out, and the next one cut."""
    for number in (1, 2, 3, 4):
        agent.ask(f"Long {number}: " + "many wörds € " * 2_500)
    agent.ask("Much.", {"shell": "echo x"}, {"text": "Much was read.", **FULL})
    agent.ask("After?", *AFTER)
    return agent


LIVES: dict[str, Callable[[Box], LiveAgent]] = {
    "Claude by hand": compacted_by_hand,
    "Claude between turns": lambda box: compacted_between_turns(SmallClaude(box)),
    "Claude in a turn": lambda box: compacted_in_a_turn(SmallClaude(box)),
    "Codex between turns": lambda box: compacted_between_turns(Codex(box)),
    "Codex in a turn": lambda box: compacted_in_a_turn(Codex(box)),
    "Old Codex between turns": lambda box: compacted_between_turns(OldCodex(box)),
    "Old Codex in a turn": lambda box: compacted_in_a_turn(OldCodex(box)),
    "Old Codex with long questions": lambda box: compacted_with_long_questions(OldCodex(box)),
}


@pytest.mark.parametrize("name", LIVES)
def test_the_context_of_each_turn_is_what_the_agent_sent_after_it(box: Box, name: str) -> None:
    agent = LIVES[name](box)
    agent.ask("Last?")
    with captured(agent) as life:
        path = life.whole_path
        for place, (turn, following) in enumerate(pairwise(path), 1):
            if following.turn_type == "compaction" or not _is_answered(life, following):
                continue  # it was compacted first: what was sent is judged after that
            sent, query = _sent(life, path[:place]), _question(life, following)
            where = f"{turn.turn_type} turn {turn.depth}"
            assert plain(tuple(told(life.ledger.context(turn.id, query)))) == sent, where
            assert summarised(_requested(life, turn, query)) == summarised(sent), where
        assert sum(turn.turn_type == "compaction" for turn in path) == (2 if name.endswith(("turns", "hand")) else 1)


def _is_answered(life: Life, turn: TurnRow) -> bool:
    return any(row.role == "assistant" for row in life.ledger.get(turn.id).messages)


def _question(life: Life, turn: TurnRow) -> str | None:
    """What was asked; nobody asks in a turn that goes on after a compaction."""
    return next((row.content for row in life.ledger.get(turn.id).messages if row.source == "human"), None)


def _sent(life: Life, path: list[TurnRow]) -> list[Item]:
    """What stood before the model when the session went on after a path: as many answers, or a summary, were there."""
    requests = [request for request in life.requests() if request.tools or is_summary(request)]
    done = 0
    for turn in path:
        answers = sum(row.role == "assistant" for row in life.ledger.get(turn.id).messages)
        done += 1 if turn.turn_type == "compaction" else answers
    return plain(requests[done].history)


def _requested(life: Life, turn: TurnRow, query: str | None) -> list[Item]:
    """The context as a request of the agent's own API."""
    form, api = ("openai-responses", "responses") if isinstance(life.agent, Codex) else ("anthropic", "anthropic")
    body = json.loads("".join(Telling(life.ledger, turn.id, form, query).pieces()))
    return [replace(item, name=_SPACE.sub("", item.name)) for item in plain(tuple(history(api, body)))]


def told(context: Context) -> Iterator[Item]:
    """A context as items: the agent's own history in place of the old turns, or the summary; then the turns."""
    if context.replacement is not None:
        yield from history("responses", {"input": context.replacement})
    elif context.summary is not None:
        yield Item("user", "text", context.summary)
    for turn in context.turns:
        for row in turn.messages:
            if row.thinking:
                yield Item(row.role, "thinking", row.thinking)
            if row.content:
                yield Item(row.role, "text", row.content)
            own = [call for call in turn.calls if call.message_id == row.id]
            yield from map(_call, own)
            yield from map(_result, own)
    if context.query is not None:
        yield Item("user", "text", context.query)


def _call(call: CallRow) -> Item:
    return Item("assistant", "call", call.params_json, _SPACE.sub("", call.tool_name), call.native_id or "")


def _result(call: CallRow) -> Item:
    text = (call.error or "") if call.result_json is None else result_text(call.result_json)
    return Item("tool", "result", text, id=call.native_id or "")
