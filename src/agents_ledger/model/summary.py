"""What a summariser is given, and what it gives."""

from typing import Any, Protocol

from msgspec import Struct


class Said(Struct, frozen=True):
    """A message. `source` is 'human', 'context' (put in by the agent's program) …, where it is known."""

    role: str
    text: str
    source: str | None = None


class Done(Struct, frozen=True):
    """A tool call and what came of it."""

    tool: str
    params: Any = None
    result: str | None = None
    error: str | None = None
    status: str = "completed"


class Passage(Struct, frozen=True):
    """What is to be summarised of one turn, in order."""

    turn_id: str
    steps: tuple[Said | Done, ...]


class Task(Struct, frozen=True, kw_only=True):
    """What is to be summarised, and how long the summary may be."""

    passages: tuple[Passage, ...]
    earlier: str | None = None  # the summary of what came before, which the new one replaces
    instructions: str | None = None  # what somebody wants the summary to look at
    limit_tokens: int = 4_000


class Summary(Struct, frozen=True, kw_only=True):
    """A summary, and what it cost as far as the summariser says so."""

    text: str
    model: str
    provider: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    calls: int = 0  # to a model


class Summariser(Protocol):
    """Whoever can summarise: `Extractive` without any model, an endpoint, your own.

    It raises `SummariserFailed` if it can't. It is called outside of any transaction, and may take its time.
    """

    @property
    def window_tokens(self) -> int | None:
        """How much it can read at once; None, if there is no limit."""

    def summarise(self, task: Task) -> Summary:
        """The summary of a task."""
