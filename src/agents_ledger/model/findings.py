"""What passages of a conversation say without anybody's judgement: requests, files, failures, open tasks."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from agents_ledger.model.sentences import shortened, split
from agents_ledger.model.summary import Done, Passage, Said

_PATHS = ("file_path", "filePath", "path", "notebook_path", "filename", "file", "target_file", "absolute_path")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_WRITES = re.compile(r"write|edit|patch|create|replace|delete|move|insert|save", re.IGNORECASE)
_LISTS = re.compile(r"todo|plan|task", re.IGNORECASE)
_FINISHED = frozenset({"completed", "done", "cancelled", "deleted"})
_OPEN = re.compile(
    r"\b(?:todo|fixme|next steps?|remain(?:s|ing)?|still (?:need|fail|open|to)\w*|left to do|not yet|follow[- ]?up|"
    r"open questions?|will need|pending|blocked|unresolved)\b",
    re.IGNORECASE,
)
LONGEST = 240  # characters of a request, a failure or a task
_MOST_ITEMS = 30  # of a list of tasks


class File(Struct):
    """A file that was worked on, and how often."""

    path: str
    is_written: bool = False
    count: int = 0


class Findings(Struct):
    """Everything found, in order; files by the path, the last used at the end."""

    requests: list[str]
    files: dict[str, File]
    failures: list[str]
    tasks: list[str]  # of the last list of tasks, those that are not done
    hints: list[str]  # sentences that speak of something open

    @property
    def open(self) -> list[str]:
        """What is to be done: by the list of tasks, else by what was said last."""
        return self.tasks or self.hints[-3:]


def find(passages: Sequence[Passage]) -> Findings:
    """What passages say of themselves."""
    found = Findings([], {}, [], [], [])
    for passage in passages:
        for step in passage.steps:
            if isinstance(step, Done):
                _look_at_call(found, step)
            else:
                _listen(found, step)
    return found


def note_file(found: Findings, path: str, *, is_written: bool, count: int = 1) -> None:
    """Counts a file once more, and puts it last."""
    file = found.files.pop(path, File(path))
    file.is_written = file.is_written or is_written
    file.count += count
    found.files[path] = file


def is_request(step: Said) -> bool:
    """Whether a person asks for something (and not the agent's program)."""
    return step.role == "user" and step.source in (None, "human") and bool(step.text.strip())


def _listen(found: Findings, step: Said) -> None:
    if is_request(step):
        found.requests.append(shortened(" ".join(step.text.split()), LONGEST))
    elif step.role == "assistant":
        found.hints += [line for line in split(step.text) if _OPEN.search(line)]


def _look_at_call(found: Findings, step: Done) -> None:
    if step.error is not None or step.status in ("failed", "rejected"):
        why = next((line.strip() for line in (step.error or step.result or "").splitlines() if line.strip()), "")
        found.failures.append(shortened(f"{step.tool}: {why or step.status}", LONGEST))
    for path in _paths(step.params):
        note_file(found, path, is_written=bool(_WRITES.search(step.tool)))
    if _LISTS.search(step.tool) and (items := _items(step.params)) is not None:
        found.tasks = items


def _paths(params: Any) -> Iterator[str]:
    if isinstance(params, dict):
        for name in _PATHS:
            if isinstance(value := params.get(name), str) and 0 < len(value) <= LONGEST and "\n" not in value:
                yield value
        params = params.get("input") or params.get("patch")
    if isinstance(params, str):
        yield from _PATCHED.findall(params)


def _items(params: Any) -> list[str] | None:
    """The open items of a list of tasks (Claude Code's `todos`, Codex's `plan`); None if there is none."""
    listed = params.get("todos", params.get("plan")) if isinstance(params, dict) else None
    if not isinstance(listed, list):
        return None
    items = []
    for item in listed[:_MOST_ITEMS]:
        if isinstance(item, dict) and str(item.get("status")) not in _FINISHED:
            text = item.get("content") or item.get("step") or item.get("title")
            items += [shortened(" ".join(text.split()), LONGEST)] if isinstance(text, str) else []
    return items
