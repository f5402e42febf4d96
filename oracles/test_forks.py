"""Forks, judged by the real programs: they put before the model the history up to the turn, and nothing else."""

import pytest

from agents_ledger.model.rows import TurnRow
from oracles.box import Box
from oracles.forks import NAMES, Life, expected, failures, lived, summed_up
from oracles.live import Claude, Codex, LiveAgent, Pi, PiEarendil
from oracles.translation import summarised, translated

AGENTS: list[type[LiveAgent]] = [Claude, Codex, Pi, PiEarendil]
ACROSS: list[type[LiveAgent]] = [Claude, Codex, Pi]


@pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: kind.__name__)
def test_the_same_agent_resumes_a_fork_of_any_turn_exactly(box: Box, kind: type[LiveAgent]) -> None:
    with lived(box, kind) as life:
        turns = life.path
        assert [turn.turn_type for turn in turns].count("compaction") == 1
        for turn in turns:
            before = len(box.requests())
            made, sent = life.fork(turn, kind)
            assert made.is_copy
            assert made.losses == []
            if issubclass(kind, Pi) and is_followed_by_compaction(life, turn):
                # resumed, pi compacts at once, and tells nobody but its summariser what was there
                again, first = summed_up(box.requests()[before:]), summed_up(life.requests())
                if kind is Pi:  # 0.73 asks two things at once where it cuts inside a turn: either may come first
                    again, first = sorted(again), sorted(first)
                assert again == first != []
                continue
            assert sent == expected(life, turn), f"{turn.turn_type} turn {turn.depth}"
            assert failures(sent) == failures(expected(life, turn))
        check_one_tree(life, turns)


@pytest.mark.parametrize("source", ACROSS, ids=lambda kind: kind.__name__)
def test_another_agent_resumes_a_fork_of_any_turn_in_its_own_words(box: Box, source: type[LiveAgent]) -> None:
    with lived(box, source) as life:
        turns = life.path
        targets = [kind for kind in AGENTS if NAMES[kind] != NAMES[source]]
        for target in targets:
            for turn in turns:
                made, sent = life.fork(turn, target)
                assert not made.is_copy
                wanted = translated(expected(life, turn), NAMES[source], NAMES[target])
                assert summarised(sent) == wanted, f"{target.__name__}, {turn.turn_type} turn {turn.depth}"
                if Codex not in (source, target):  # whose API has no mark for an error
                    assert failures(sent) == failures(wanted)
        check_one_tree(life, turns)


def is_followed_by_compaction(life: Life, turn: TurnRow) -> bool:
    """Whether the window was full after a turn."""
    return any(child.turn_type == "compaction" for child in life.ledger.children(turn.id))


def check_one_tree(life: Life, turns: list[TurnRow]) -> None:
    """The forks went on: each has one turn of its own behind those that it shares, and the others are as they were."""
    before, added = life.ledger.counts()["turns"], 0
    hashes = {turn.id: life.ledger.get(turn.id).turn.turn_hash for turn in turns}
    life.sync()
    for label, turn_id in life.forks.items():
        path, shared = life.ledger.ancestry(life.ledger.head(label) or ""), life.ledger.ancestry(turn_id)
        assert path[: len(shared)] == shared
        own = [life.ledger.get(one).turn.turn_type for one in path[len(shared) :]]
        assert "normal" in own
        # besides, an agent compacts by itself (OpenCode goes on after that), Claude Code answers a user who spoke last
        assert len(own) <= 2 + ("compaction" in own)
        added += len(own)
    assert life.ledger.counts()["turns"] == before + added
    assert {turn.id: life.ledger.get(turn.id).turn.turn_hash for turn in turns} == hashes
    assert life.ledger.verify().findings == []
