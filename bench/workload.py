"""What is written: made-up conversations, the same at every run, shaped like an agent's work."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

SEED = 1
SESSIONS, TURNS, STEPS, TEXT_BYTES = 50, 480, 3402, 5_880_000

Kind = Literal["query", "say", "call", "result", "answer"]
_TOOLS = ("Read", "Shell", "Grep", "Edit")
_SYLLABLES = ("ba", "co", "di", "fer", "gu", "hal", "ji", "ken", "lo", "mar", "nes", "pi", "qua", "ro", "sti", "tur")
_VOCABULARY = 20_000
_FORMS = (
    "    {0} = {1}.{2}({3}, {4}={5})",
    "def {0}({1}: int, {2}: str) -> {3}:",
    "    if {0} is not None and {1}[{2}] > {3}:",
    '    return {{"{0}": {1}, "{2}": {3}.{4}}}  # {5}',
    "src/{0}/{1}.py:{2}: error: {3} has no attribute {4}",
)


@dataclass(frozen=True)
class Step:
    """One message, tool call or tool result."""

    kind: Kind
    text: str
    tool: str = ""
    call_id: str = ""


Exchange = tuple[Step, ...]  # one turn, from the query to the answer


@dataclass(frozen=True)
class Conversation:
    """The turns of one session."""

    label: str
    turns: tuple[Exchange, ...]


class Writer:
    """Texts with the word frequencies of real ones: few words often, many seldom."""

    def __init__(self, seed: int = SEED) -> None:
        self.random = random.Random(seed)
        self._words = [self._word() for _ in range(_VOCABULARY)]
        self._weights = list(accumulate(1 / rank for rank in range(1, _VOCABULARY + 1)))
        self._calls = 0

    def prose(self, size: int) -> str:
        """Words, about six characters each."""
        text = " ".join(self.random.choices(self._words, cum_weights=self._weights, k=size // 5 + 2))
        return text[:size]

    def code(self, size: int) -> str:
        """Lines of a program or of a tool's output."""
        lines: list[str] = []
        left = size
        while left > 0:
            names = self.random.choices(self._words, cum_weights=self._weights, k=6)
            lines.append(self.random.choice(_FORMS).format(*names))
            left -= len(lines[-1]) + 1
        return "\n".join(lines)[:size]

    def exchange(self, size: int, steps: int = 7) -> Exchange:
        """A turn of about `size` bytes: a query, words, calls with their results, an answer."""
        spoken = size // 20
        calls = max(0, (steps - 3) // 2)
        says = steps - 2 - 2 * calls
        left = size - spoken * (2 + says) - (spoken // 2) * calls
        answer = spoken if calls else spoken + left  # without tools it is all said
        return (
            Step("query", self.prose(spoken)),
            *(Step("say", self.prose(spoken)) for _ in range(says)),
            *(step for _ in range(calls) for step in self._use(spoken // 2, left // max(calls, 1))),
            Step("answer", self.prose(answer)),
        )

    def _use(self, asked: int, given: int) -> Iterator[Step]:
        self._calls += 1
        tool, call_id = self.random.choice(_TOOLS), f"call_{self._calls:06}"
        yield Step("call", self.code(asked), tool, call_id)
        yield Step("result", self.code(given), tool, call_id)

    def _word(self) -> str:
        return "".join(self.random.choices(_SYLLABLES, k=self.random.randint(1, 5)))


def write_path(scale: float = 1.0) -> list[Conversation]:
    """An agent at work: 50 sessions, 480 turns, 3,402 steps, 5.88 MB of text."""
    writer = Writer()
    longer = STEPS - 7 * TURNS  # so many turns have eight steps, the others seven
    numbers = range(TURNS)
    shares = [writer.random.lognormvariate(0, 0.6) for _ in numbers]
    unit = TEXT_BYTES / sum(shares)
    made = [writer.exchange(int(shares[n] * unit), 8 if n < longer else 7) for n in numbers]
    writer.random.shuffle(made)
    kept = made[: max(2, int(TURNS * scale))]
    sessions = max(1, int(SESSIONS * scale))
    return [Conversation(f"session-{n:02}", tuple(kept[n::sessions])) for n in range(sessions)]


def turns_of(size: int, count: int, steps: int = 7) -> list[Exchange]:
    """Turns of one size."""
    writer = Writer()
    return [writer.exchange(size, steps) for _ in range(count)]


def text_bytes(turns: list[Exchange] | tuple[Exchange, ...]) -> int:
    """How much text there is."""
    return sum(len(step.text.encode()) for turn in turns for step in turn)
