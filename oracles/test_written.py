"""Forks into agents that are only written: they, too, put before the model the history up to the turn, nothing else."""

import re
from collections.abc import Iterator

import pytest

from oracles.box import Box
from oracles.conversation import Item
from oracles.forks import NAMES, expected, lived
from oracles.live import Claude, LiveAgent
from oracles.test_forks import check_one_tree
from oracles.translation import SUMMARY, summarised, translated
from oracles.written import Gemini, OpenClaw, OpenCode, Qwen

# what these programs say by themselves, around a conversation and around a summary
_OWN = re.compile(
    r"This is the Qwen Code\. |Got it\. Thanks for the (additional )?context!|What did we do so far\?$"
    r"|Attached media from tool result:|\[Unsupported image file: |\[the conversation goes on\]$|<session_context>"
)
_STAMP = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d UTC\] ")  # openclaw says when somebody spoke


@pytest.mark.parametrize("target", [Qwen, OpenCode, Gemini, OpenClaw], ids=lambda kind: kind.__name__)
def test_a_fork_of_any_turn_is_resumed_in_the_agent_s_own_words(box: Box, target: type[LiveAgent]) -> None:
    with lived(box, Claude) as life:
        turns = life.path
        if target is OpenClaw:  # which takes a minute for each
            turns = [turns[0], *(turn for turn in turns if turn.turn_type == "compaction"), turns[-1]]
        for turn in turns:
            made, sent = life.fork(turn, target)
            assert not made.is_copy
            wanted = translated(expected(life, turn), "claude-code", NAMES[target])
            assert plainly(summarised(sent)) == plainly(wanted), f"{turn.turn_type} turn {turn.depth}"
        if target is not OpenClaw:  # whose database is not read
            check_one_tree(life, life.path)


def plainly(items: list[Item]) -> list[tuple[str, str, str]]:
    """Role, kind and text; words of one message together, pictures and summaries as such."""
    told: list[tuple[str, str, str]] = []
    for role, kind, text in _said(items):
        if told and kind == "text" and told[-1][:2] == (role, kind) and role == "assistant":
            told[-1] = (role, kind, re.sub(r"\s+", "", told[-1][2] + text))
        else:
            told.append((role, kind, re.sub(r"\s+", "", text)))
    return told


def _said(items: list[Item]) -> Iterator[tuple[str, str, str]]:
    for item in items:
        if (item.kind == "text" and "FAKE SUMMARY" in item.text) or item == SUMMARY:
            yield "user", "summary", ""
        elif not (item.kind == "text" and _OWN.match(item.text)) and item.kind != "image":
            text = re.sub(r"\[image [^\]]*\]", "", f"{item.name}{item.text}")
            yield item.role, item.kind, _STAMP.sub("", text, count=1) if item.role == "user" else text
