"""Forks into the agents of the night: they, too, put before the model the history up to the turn, and nothing else."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from oracles.box import Box
from oracles.conversation import Item
from oracles.fake_model import EVENT
from oracles.forks import NAMES, expected, failures, lived
from oracles.live import Claude, LiveAgent
from oracles.test_forks import check_one_tree
from oracles.translation import SUMMARY, summarised, translated
from oracles.written import Gemini, OpenClaw, OpenCode, Qwen

# what these programs say by themselves, around a conversation and around a summary
_OWN = re.compile(
    r"This is the Qwen Code\. |Got it\. Thanks for the (additional )?context!|What did we do so far\?$"
    r"|Attached media from tool result:|\[the conversation goes on\]$|<session_context>"
)
_STAMP = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d UTC\] ")  # openclaw says when somebody spoke
_PICTURE = re.compile(r"\[image [0-9a-f]+\]")
_REMOVED = "[image data removed - already processed by model]"  # openclaw's words for a picture of an earlier question


@pytest.mark.parametrize("target", [Qwen, OpenCode, Gemini, OpenClaw], ids=lambda kind: kind.__name__)
def test_a_fork_of_any_turn_is_resumed_in_the_agent_s_own_words(box: Box, target: type[LiveAgent]) -> None:
    with lived(box, Claude) as life:
        for turn in life.path:
            made, sent = life.fork(turn, target)
            assert not made.is_copy
            wanted = translated(expected(life, turn), "claude-code", NAMES[target])
            if target is OpenClaw:
                wanted = _without_old_pictures(wanted)
            assert plainly(summarised(sent)) == plainly(wanted), f"{turn.turn_type} turn {turn.depth}"
            assert target is not OpenClaw or failures(sent) == failures(wanted)  # the others' APIs have no mark
        check_one_tree(life, life.path)


def plainly(items: list[Item]) -> list[tuple[str, str, str]]:
    """Role, kind and text; words of one message together, summaries as such, a picture behind what it came with."""
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
        elif item.kind == "image":
            yield "user", "image", item.text
        elif not (item.kind == "text" and _OWN.match(item.text)):
            text = _PICTURE.sub("", f"{item.name}{item.text}")
            yield item.role, item.kind, _asked(text) if item.role == "user" else text
            yield from (("user", "image", picture) for picture in _PICTURE.findall(item.text))


def without_stamp(item: Item) -> Item:
    """A question without the time that openclaw puts before it."""
    return replace(item, text=_STAMP.sub("", item.text, count=1)) if item.role == "user" else item


def _asked(text: str) -> str:
    """A question without what openclaw puts before it."""
    words = _STAMP.sub("", text, count=1)
    return words.rpartition("\n\n")[2] if words.startswith(EVENT) else words


def _without_old_pictures(items: list[Item]) -> list[Item]:
    """As openclaw shows them: a model has seen what came before the last question."""
    asked = max((at for at, item in enumerate(items) if (item.role, item.kind) == ("user", "text")), default=0)
    old = [replace(item, text=_REMOVED) if _PICTURE.search(item.text) else item for item in items[:asked]]
    return old + items[asked:]
