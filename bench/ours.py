"""Conversations, written with the ledger: a turn at a time, or step by step."""

from pathlib import Path

from agents_ledger import Call, Ledger, LiveCall, Message, Settings, Turn, Usage
from bench.workload import Exchange

_SETTINGS = Settings(model="model-1", provider="bench", tools=("Read", "Shell", "Grep", "Edit"))
_USAGE = Usage(input=900, output=140, cached=4000)


def open_ledger(folder: Path) -> Ledger:
    """A ledger in a folder of its own."""
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    facts = ledger.database.facts()
    assert (facts["journal_mode"], facts["synchronous"]) in (("wal", "full"), ("wal", "extra"))  # the same in WAL mode
    return ledger


def finished(exchange: Exchange) -> Turn:
    """The whole turn as a value."""
    messages: list[Message] = []
    calls: list[Call] = []
    results = {step.call_id: step.text for step in exchange if step.kind == "result"}
    for step in exchange:
        if step.kind == "call":
            calls.append(Call(step.tool, {"input": step.text}, results[step.call_id], native_id=step.call_id))
        elif step.kind != "result":
            messages.append(Message("user" if step.kind == "query" else "assistant", step.text))
    return Turn(messages=tuple(messages), calls=tuple(calls), usage=_USAGE, settings=_SETTINGS)


class Whole:
    """Ours, a durable commit for each turn."""

    name = "ours, append"

    def __init__(self, folder: Path) -> None:
        self.ledger = open_ledger(folder)

    def prepare(self, label: str, turns: list[Exchange]) -> None:
        """A session with turns."""
        for exchange in turns:
            self.ledger.append(label, finished(exchange))
        self.ledger.index()

    def turn(self, label: str, exchange: Exchange) -> None:
        """One more turn."""
        self.ledger.append(label, finished(exchange))

    def finish(self) -> None:
        """Everything can be found by its words."""
        self.ledger.index()

    def steps(self) -> int:
        """Messages, calls and their results."""
        counts = self.ledger.counts()
        return counts["messages"] + 2 * counts["tool_calls"]

    def close(self) -> None:
        """Ends."""
        self.ledger.close()


class Live(Whole):
    """Ours, a durable commit for each step; the last one ends the turn."""

    name = "ours, live"

    def turn(self, label: str, exchange: Exchange) -> None:
        """One more turn, step by step."""
        query, *rest = exchange
        kept = _SETTINGS
        with self.ledger.turn(label, query.text, model=kept.model, provider=kept.provider, tools=kept.tools) as turn:
            running: dict[str, LiveCall] = {}
            for step in rest:
                if step.kind == "call":
                    running[step.call_id] = turn.call(step.tool, {"input": step.text}, id=step.call_id)
                elif step.kind == "result":
                    running[step.call_id].complete(step.text)
                elif step.kind == "answer":
                    turn.answer(step.text, usage=_USAGE)
                else:
                    turn.reply(step.text)


class Unindexed(Live):
    """The same for comparison with stores that have no search index: nothing is put into ours."""

    name = "ours, live, without search"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ledger._unindexed = -(1 << 30)  # noqa: SLF001 - so many turns later it would be fed

    def finish(self) -> None:
        """No words are found."""
