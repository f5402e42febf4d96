"""Sessions of Gemini CLI and OpenCode as they are captured: what was said is what their model was asked and said."""

import json
import time
from typing import Any

import pytest

from agents_ledger.model.rows import CallRow, Record
from oracles.box import Box
from oracles.conversation import Item
from oracles.forks import READING, SUBAGENTS, Life, captured, plain
from oracles.live import LiveAgent
from oracles.readers import Tokens
from oracles.test_watch import ask, wait_for, watching
from oracles.written import Gemini, OpenCode

AGENTS: list[type[LiveAgent]] = [Gemini, OpenCode]
Told = tuple[str, str, str]
_AT_ONCE_S = 2


@pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: kind.__name__)
def test_what_is_captured_is_what_the_model_was_asked_and_said(box: Box, kind: type[LiveAgent]) -> None:
    with captured(three_turns(kind(box))) as life:
        records = [life.ledger.get(turn.id) for turn in life.whole_path]
        last = [request for request in life.requests() if request.tools][-1]
        assert told(records) == [*sent(plain(last.history)), ("assistant", "text", last.reply["text"])]
        statuses = [call.status for record in records for call in record.calls]
        assert statuses == ["completed", "completed", "failed", "completed"]
        thoughts = [row.thinking for record in records for row in record.messages if row.thinking]
        assert ["".join(words.split()) for words in thoughts] == ["letmelook"]
        assert spent(records) == answered(life)
        assert life.ledger.verify().findings == []


@pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: kind.__name__)
def test_a_subagent_is_a_session_that_its_call_started(box: Box, kind: type[LiveAgent]) -> None:
    agent = kind(box)
    agent.ask("Use a subagent.", SUBAGENTS[kind], {"text": "Sub said 42."})
    with captured(agent) as life:
        (child,) = [line.session for line in life.ledger.sessions(limit=10) if line.session.is_subagent]
        (call,) = [call for turn in life.whole_path for call in life.ledger.get(turn.id).calls]
        assert child.spawn_tool_call_id == call.id
        assert any("Sub result 42" in text for text in _texts(life, child.label))


@pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: kind.__name__)
def test_a_watcher_has_an_answer_within_two_seconds(box: Box, kind: type[LiveAgent]) -> None:
    agent, ledger = kind(box), box.folder / "ledger.db"
    agent.ask("Warm up?")
    with watching(box.home, ledger):
        agent.ask("Now?", {"text": "The watched answer."})
        ended = time.time()
        seen = "SELECT 1 FROM messages WHERE content = 'The watched answer.'"
        assert wait_for("the answer", lambda: bool(ask(ledger, seen))) - ended < _AT_ONCE_S
    with captured(agent) as life:
        assert life.ledger.verify().findings == []
        assert told([life.ledger.get(turn.id) for turn in life.whole_path])[-1][2] == "The watched answer."


def three_turns(agent: LiveAgent) -> LiveAgent:
    """An agent that was asked three things."""
    agent.ask("Hello one.", *READING)
    agent.ask("Second?", {"shell": "echo more"}, {"text": "Yes."})
    agent.ask("Last?")
    return agent


def told(records: list[Record]) -> list[Told]:
    """What the ledger says: words, calls and results, in the order in which an agent sends them."""
    found = []
    for record in records:
        for row in record.messages:
            if row.content and row.source != "context" and row.role != "system":
                found.append((row.role, "text", row.content.strip()))
            own = [call for call in record.calls if call.message_id == row.id]
            found += [("assistant", "call", f"{call.tool_name} {_sorted(call.params_json)}") for call in own]
            found += [("tool", "result", _outcome(call)) for call in own]
    return found


def sent(items: list[Item]) -> list[Told]:
    """What was sent, in the same words; a result that Gemini CLI sends again (after a resume) once."""
    found: list[Told] = []
    done: set[str] = set()
    for item in items:
        if item.kind == "call":
            found.append(("assistant", "call", f"{item.name} {_sorted(item.text)}"))
        elif item.kind == "result" and item.id not in done:
            done.add(item.id)
            found.append(("tool", "result", item.text.strip()))
        elif item.kind == "text" and not item.text.startswith("<session_context>"):
            words = item.text.strip()
            found += [(item.role, "text", words)] if words else []
    return found


def spent(records: list[Record]) -> Tokens:
    """The tokens that the ledger has of some turns."""
    rows = [row for record in records for row in record.usages]
    return Tokens(
        sum(row.input_tokens or 0 for row in rows),
        sum(row.output_tokens or 0 for row in rows),
        0,
        sum(row.cached_input_tokens or 0 for row in rows),
    )


def answered(life: Life) -> Tokens:
    """What the model says to have cost the session itself; titles are asked for without tools."""
    replies = [request.reply for request in life.requests() if request.tools]
    counts = [Tokens(one["input"] - one["cached"], one["output"], 0, one["cached"]) for one in replies]
    return sum(counts, Tokens())


def _texts(life: Life, label: str) -> list[str]:
    path = life.ledger.path(life.ledger.head(label) or "")
    return [row.content or "" for turn in path for row in life.ledger.get(turn.id).messages]


def _outcome(call: CallRow) -> str:
    value: Any = call.error if call.result_json is None else json.loads(call.result_json)
    return value.strip() if isinstance(value, str) else json.dumps(value)


def _sorted(parameters: str) -> str:
    return json.dumps(json.loads(parameters), sort_keys=True)
