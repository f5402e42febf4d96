"""A summary without a model: the conversation's own words, chosen by counting. The same passages give the same text.

It has sections: what was asked, what was decided and found, which files, what failed, what is open. A later one takes
up the sections of the one before.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from agents_ledger.model import findings
from agents_ledger.model.estimates import estimate
from agents_ledger.model.findings import Findings
from agents_ledger.model.sentences import Sentence, choose, is_passing, split
from agents_ledger.model.summary import Done, Passage, Summary, Task

MODEL = "extractive-1"
_OPENING = re.compile(r"\AEarlier turns: (\d+)\. ")
_WORDS = "The conversation's own words, chosen by counting; no model was asked."
_ASKED, _FOUND, _FILES, _FAILED, _OPEN = "Requests", "Decisions and findings", "Files", "What failed", "Open"
_SHARES = {_ASKED: 0.3, _OPEN: 0.15, _FILES: 0.15, _FAILED: 0.1}  # of the room; decisions have what is left
_FILE = re.compile(r"^(written|read): (.+?)(?: \((\d+) times\))?$")
_SPOKEN = {"assistant": 1.0, "user": 1.3}
_LEAST_TOKENS = 250  # of decisions and findings
_SHARE_OF_SAID = 4  # a summary of them has a quarter of what was said, even if there is room for all
_BEFORE = 1.2  # what a summary has taken up already was chosen once


class Extractive(Struct, frozen=True):
    """The summariser that needs nothing."""

    window_tokens: int | None = None

    def summarise(self, task: Task) -> Summary:
        """The summary of a task."""
        return Summary(text=extract(task), model=MODEL)


def extract(task: Task) -> str:
    """The summary's text."""
    count, before = _read(task.earlier)
    found = findings.find(task.passages)
    lists = {_ASKED: before.get(_ASKED, []) + found.requests, _FILES: _file_lines(before.get(_FILES, []), found)}
    lists[_FAILED] = _newest(before.get(_FAILED, []) + found.failures)
    lists[_OPEN] = found.open or before.get(_OPEN, [])
    opening = f"Earlier turns: {count + len(task.passages)}. {_WORDS}"
    room = task.limit_tokens - estimate(opening)
    sections = {title: _within(lists[title], int(room * share), title) for title, share in _SHARES.items()}
    rest = room - sum(estimate(line) + 1 for lines in sections.values() for line in lines)
    sections[_FOUND] = _told(task.passages, before.get(_FOUND, []), rest - len(_SHARES) * 5)
    order = (_ASKED, _FOUND, _FILES, _FAILED, _OPEN)
    blocks = [
        "\n".join([f"## {title}", *(f"- {line}" for line in sections[title])]) for title in order if sections[title]
    ]
    return "\n\n".join([opening, *blocks])


def facts(passages: Sequence[Passage], limit_tokens: int) -> str:
    """The sections that no summariser may lose, as a text: files, failures, open tasks."""
    found = findings.find(passages)
    lists = {_FILES: _file_lines([], found), _FAILED: _newest(found.failures), _OPEN: found.tasks}
    share = limit_tokens // len(lists)
    blocks = []
    for title, lines in lists.items():
        if kept := _within(lines, share, title):
            blocks.append("\n".join([f"## {title}", *(f"- {line}" for line in kept)]))
    return "\n\n".join(blocks)


def _read(earlier: str | None) -> tuple[int, dict[str, list[str]]]:
    """The sections of a summary of ours, and for how many turns it stands; of another one, its sentences."""
    if not earlier:
        return 0, {}
    opening = _OPENING.match(earlier)
    if opening is None:
        return 0, {_FOUND: list(split(earlier))}
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in earlier.splitlines():
        if line.startswith("## "):
            lines = sections.setdefault(line[3:], [])
        elif line.startswith("- ") and not line.startswith("- … "):
            lines.append(line[2:])
    return int(opening[1]), sections


def _told(passages: Sequence[Passage], before: list[str], room: int) -> list[str]:
    """The sentences that say the most, in their order."""
    sentences = [Sentence(line, 0, _BEFORE) for line in before]
    for at, passage in enumerate(passages, 1):
        for step in passage.steps:
            if isinstance(step, Done) or step.source == "context" or step.role not in _SPOKEN:
                continue
            known = step.text[: findings.LONGEST] if findings.is_request(step) else ""  # is among the requests
            lines = split(step.text[len(known) :])
            sentences += [Sentence(line, at, _SPOKEN[step.role]) for line in lines if not is_passing(line)]
    enough = sum(estimate(sentence.text) for sentence in sentences[len(before) :]) // _SHARE_OF_SAID
    held = sum(estimate(line) + 1 for line in before)
    return [sentence.text for sentence in choose(sentences, min(room, max(held + enough, _LEAST_TOKENS)))]


def _file_lines(before: Iterable[str], found: Findings) -> list[str]:
    """Files, those that were written first, then by how often they were used."""
    known = Findings([], {}, [], [], [])
    for line in before:
        if match := _FILE.match(line):
            findings.note_file(known, match[2], is_written=match[1] == "written", count=int(match[3] or 1))
    for file in found.files.values():
        findings.note_file(known, file.path, is_written=file.is_written, count=file.count)
    newest_first = list(known.files.values())[::-1]
    ordered = sorted(newest_first, key=lambda file: (not file.is_written, -file.count))
    times = {file.path: f" ({file.count} times)" if file.count > 1 else "" for file in ordered}
    return [f"{'written' if file.is_written else 'read'}: {file.path}{times[file.path]}" for file in ordered]


def _newest(lines: list[str]) -> list[str]:
    """Each line once, where it came last."""
    return list(dict.fromkeys(reversed(lines)))[::-1]


def _within(lines: list[str], room: int, title: str) -> list[str]:
    """As many lines as there is room for: files from the first on; else the first one, and those at the end."""
    once = list(dict.fromkeys(lines))
    is_ranked = title == _FILES
    ordered = once if is_ranked else once[:1] + once[:0:-1]
    kept: list[str] = []
    for line in ordered:
        room -= estimate(line) + 1
        if room < 0:
            break
        kept.append(line)
    missing = len(once) - len(kept)
    gap = [f"… {missing} more"] if missing and kept else []
    return kept + gap if is_ranked else kept[:1] + gap + kept[:0:-1]
