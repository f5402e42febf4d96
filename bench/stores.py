"""What it costs a runtime to have each message in its file and in the ledger, before the call returns."""

import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from agents_ledger import Ledger, Message, Turn
from agents_ledger.formats.pi import bodies
from agents_ledger.stores.pi import PiFolder
from bench.figures import Row, Setup, at_most, ms, seconds

_AT = 1_772_359_200_000
_TEXT = "It goes on, word after word, as long as answers are. " * 20


def store_rows(setup: Setup) -> Iterator[Row]:
    """A message of a long session by the store, against a durable line and a durable commit of the same text."""
    count = setup.pick(400, 60)
    with setup.place() as place, Ledger.open(f"sqlite:///{place}/ledger.db") as ledger:
        session = PiFolder(ledger, str(place / "sessions")).begin("/")
        said = [bodies.user(_TEXT, _AT), bodies.assistant(_TEXT, _AT, provider="p", model="m")] * (count // 2)
        pairs = [
            (seconds(lambda body=body: session.say(body)), _floor(ledger, place, number))  # type: ignore[misc]
            for number, body in enumerate(said)
        ]
    times = [pair[0] for pair in pairs]
    ours, floor = median(times), median(pair[1] for pair in pairs)
    yield at_most("store", f"message {count} of a session", ms(ours), f"{ms(floor)} fsync + append", ours / floor, 8)
    early, late = median(times[: count // 4]), median(times[-count // 4 :])
    yield at_most("store", "the last quarter of it", ms(late), f"{ms(early)} the first quarter", late / early, 3)


def _floor(ledger: Ledger, place: Path, number: int) -> float:
    file = os.open(place / "floor.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    turn = Turn(messages=(Message("user", _TEXT),))

    def work() -> None:
        os.write(file, _TEXT.encode() + b"\n")
        os.fsync(file)
        ledger.append(f"floor {number % 4}", turn)

    try:
        return seconds(work)
    finally:
        os.close(file)
