"""Streamed messages: gathered in memory, saved when they are complete."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agents_ledger.errors import BadInput
from agents_ledger.faces.agent_os.schemas import read
from agents_ledger.ledger.env import Env


class Stream:
    """A message that is being received."""

    def __init__(self, env: Env, task_id: str, role: str, message_id: str | None) -> None:
        self._env = env
        self._facts = {"id": message_id or env.new_id(None), "taskId": task_id, "role": role}
        self._pieces: list[str] = []
        self._at = env.now()

    def add(self, chunk: str, emit: Callable[[str], object] | None) -> None:
        """Takes another piece, and passes it on."""
        self._pieces.append(chunk)
        if emit is not None:
            emit(chunk)
        self._at = self._env.now()

    def message(self) -> dict[str, Any]:
        """The whole message; its time is when the last piece came."""
        return {**self._facts, "content": "".join(self._pieces), "timestamp": self._at}


def contents(chunks: Iterable[str]) -> Iterator[str]:
    """The words in chunks as Agent OS streams them: each a JSON object, its words (if any) under `content`."""
    for chunk in chunks:
        words = content(chunk)
        if words:
            yield words


def content(chunk: str) -> str:
    """The words of one such chunk."""
    value = read(chunk)
    words = value.get("content") if isinstance(value, dict) else None
    if not isinstance(words, str | None):
        raise BadInput("the content of a chunk must be text")
    return words or ""
