"""Forks of the agents of the night for themselves: each sends what it sent itself when it went on after that turn.

An agent lives once, with everything that a session can have; every turn of it is forked, and the fork resumed by the
same program. What stands before the model then is compared with the request log of the original.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agents_ledger.capture.forking import Made
from agents_ledger.capture.sync import Sync
from agents_ledger.ledger import Ledger
from agents_ledger.model.formats import Machine
from agents_ledger.model.rows import TurnRow
from oracles.box import Box, Request
from oracles.conversation import Item, Json
from oracles.fake_model import SUMMARY
from oracles.forks import RESUMED, Life, lived, summed_up
from oracles.live import LiveAgent
from oracles.test_forks import check_one_tree
from oracles.test_night_readers import Told, sent, told
from oracles.written import Gemini, OpenClawFiles, OpenCode, Qwen, SealedOpenCode

AGENTS: list[type[LiveAgent]] = [OpenCode, SealedOpenCode, Gemini, Qwen, OpenClawFiles]
_ASKED = f"\n\n[User]: {RESUMED}"  # OpenCode lets it sum up the question, too
# what the program that is asked here did not write itself
OLDER: list[tuple[type[LiveAgent], str]] = [
    (OpenCode, "opencode/tree-of-1.1"),
    (OpenCode, "opencode/exports"),
    (Gemini, "gemini/document-of-0.10"),
    (Gemini, "gemini/document-with-image-continued"),
]
_GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
# what Gemini CLI puts behind what a tool gave, if nothing followed that
_INTERRUPTED = {"role": "model", "parts": [{"text": "[The previous response was interrupted before it completed.]"}]}


@dataclass(frozen=True)
class Cut:
    """A fork that was resumed."""

    turn: TurnRow
    made: Made
    items: list[Item]  # that the program sent, its question left out
    request: Request  # in which they stand
    summed_up: list[str]  # what it let the model sum up before that


@dataclass(frozen=True)
class Lived:
    """A life, and a fork of each of its turns."""

    life: Life
    cuts: list[Cut]


@pytest.fixture(scope="module", params=AGENTS, ids=lambda kind: kind.__name__)
def whole(request: pytest.FixtureRequest) -> Iterator[Lived]:
    with Box() as box, lived(box, request.param) as life:
        yield Lived(life, [_cut(life, turn) for turn in life.path])


def _cut(life: Life, turn: TurnRow) -> Cut:
    before = len(life.agent.box.requests())
    made, items = life.fork(turn, type(life.agent))
    new = life.agent.box.requests()[before:]
    return Cut(turn, made, items, next(request for request in new if request.tools), summed_up(new))


def _has_parallel(items: list[Item]) -> bool:
    return any(one.kind == other.kind == "call" for one, other in pairwise(items))


def _says(kind: str, words: str) -> Callable[[list[Item]], bool]:
    return lambda items: any(words in item.text and item.kind == kind for item in items)


# how each shows in what a program sends
FEATURES: dict[str, Callable[[list[Item]], bool]] = {
    "tool calls": _says("call", "echo hi-from-tool"),
    "a failed tool": _says("result", "nonexistent"),
    "thinking": _says("thinking", "let me look"),
    "an image": lambda items: any("[image" in item.text for item in items),
    "parallel calls": _has_parallel,
    "a compaction": lambda items: any(SUMMARY in item.text for item in items),
    "a subagent": _says("call", "Sub job."),
}


def test_every_turn_is_forked_as_the_agent_s_own_records_and_nothing_is_lost(whole: Lived) -> None:
    assert [(cut.made.is_copy, cut.made.losses) for cut in whole.cuts] == [(True, [])] * len(whole.cuts)
    assert [cut.turn.turn_type for cut in whole.cuts].count("compaction") == 1


@pytest.mark.parametrize("feature", FEATURES)
def test_a_fork_has_all_that_stood_before_the_model_and_nothing_after_the_cut(whole: Lived, feature: str) -> None:
    cuts = [cut for cut in whole.cuts if _is_there(whole, cut, feature)]
    assert cuts, f"no turn has {feature} before the model"
    for cut in cuts:
        _check(whole.life, cut)


def test_a_fork_of_any_turn_sends_what_the_agent_itself_sent_when_it_went_on(whole: Lived) -> None:
    for cut in whole.cuts:
        _check(whole.life, cut)


def test_the_forks_are_of_one_tree(whole: Lived) -> None:
    check_one_tree(whole.life, [cut.turn for cut in whole.cuts])


@pytest.mark.parametrize(("kind", "name"), OLDER, ids=lambda one: one if isinstance(one, str) else one.__name__)
def test_a_session_of_an_older_version_is_resumed_as_it_was(box: Box, kind: type[LiveAgent], name: str) -> None:
    machine = Machine(str(box.home), {}, "linux")
    with Ledger.open(f"sqlite:///{box.folder}/ledger.db") as ledger:
        Sync(ledger, machine).run([str(_GOLDEN / name)])
        life = Life(kind(box), ledger, machine)
        labels = [line.session.label for line in ledger.sessions(limit=10) if not line.session.is_subagent]
        for path in [ledger.path(ledger.head(label) or "") for label in labels]:
            made, items = life.fork(path[-1], kind)
            assert (made.is_copy, made.losses) == (True, [])
            assert _joined(sent(items)) == _joined(told([ledger.get(turn.id) for turn in path]))


def _joined(said: list[Told]) -> list[Told]:
    """Parts of a message as one: the ledger has its words together."""
    found: list[Told] = []
    for role, kind, text in said:
        is_more = found and kind == "text" and found[-1][:2] == (role, kind)
        before = found.pop()[2] if is_more else ""
        found.append((role, kind, before + "".join(text.split())))
    return found


def _is_there(whole: Lived, cut: Cut, feature: str) -> bool:
    if feature == "thinking" and isinstance(whole.life.agent, Gemini):  # it tells no model what was thought before
        lines = map(json.loads, Path(cut.made.path).read_text(encoding="utf-8").splitlines())
        return any("let me" in json.dumps(line) for line in lines if line.get("type") == "gemini")
    return FEATURES[feature](cut.items)


def _check(life: Life, cut: Cut) -> None:
    where = f"{cut.turn.turn_type} turn {cut.turn.depth}"
    if cut.summed_up:  # it compacts before it goes on, as it did then: whoever sums up is told what was there
        assert [text.replace(_ASKED, "") for text in cut.summed_up] == summed_up(life.requests()), where
    else:
        messages = [message for message in _messages(cut.request)[:-1] if message != _INTERRUPTED]
        assert messages == _went_on(life, cut.turn), where


def _went_on(life: Life, turn: TurnRow) -> list[Json]:
    """What stood before the model when the original went on after a turn, the question left out."""
    path = life.whole_path
    at = next(number for number, one in enumerate(path) if one.id == turn.id)
    answers = [row for one in path[: at + 1] for row in life.ledger.get(one.id).messages if row.role == "assistant"]
    own = [_messages(request) for request in life.requests() if request.tools and _is_own(request)]
    before, then = own[len(answers) - 1], own[len(answers)]
    if path[at + 1].turn_type == "compaction" and isinstance(life.agent, Qwen):  # by hand: the answer is in no request
        return [*before, {"role": "assistant", "content": answers[-1].content}]
    if path[at + 1].turn_type == "compaction":  # in the middle of a turn: its last call (the seal is kept nowhere)
        return [*before, _without(then[-2], "thoughtSignature"), then[-1]]
    is_asked = life.ledger.get(path[at + 1].id).messages[0].role == "user"
    return then[:-1] if is_asked else then


def _messages(request: Request) -> list[Json]:
    """The messages of a request as they are, but for what is no part of what is said."""
    if request.api == "gemini":
        return [_once(message) for message in request.body["contents"]]
    return [_without(message, "cache_control") for message in request.body["messages"] if message["role"] != "system"]


def _once(content: Json) -> Json:
    """What a tool gave once: Gemini CLI says it once more with each resume."""
    parts = dict.fromkeys(json.dumps(part, sort_keys=True) for part in content["parts"])
    return {**content, "parts": [json.loads(part) for part in parts]}


def _without(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _without(each, name) for key, each in value.items() if key != name}
    return [_without(each, name) for each in value] if isinstance(value, list) else value


def _is_own(request: Request) -> bool:
    """Whether a request is the session's own, and not a subagent's."""
    return any("Hello one." in item.text or SUMMARY in item.text for item in request.history)
