"""A replay by keys: forward, back, from turn to turn."""

import sys
from collections.abc import Callable

from agents_ledger.cli.keys import keys
from agents_ledger.cli.steps import Stage
from agents_ledger.ledger.replay import Event, Replay

_WORDS = {
    "next": (" ", "n", "j", "\r", "\n", "\x1b[C", "\x1b[B", "\x1bOC", "\x1bOB"),
    "previous": ("p", "k", "\x7f", "\x08", "\x1b[D", "\x1b[A", "\x1bOD", "\x1bOA"),
    "turn": ("t", "\x1b[6~"),
    "back": ("b", "\x1b[5~"),
    "context": ("c",),
    "all": ("a",),
    "quit": ("q", "\x1b", "\x04"),
}
_MEANING = {key: word for word, keys in _WORDS.items() for key in keys}
_KEYS = ("space next", "p back", "t turn", "c context", "q quit")
_LEFT_OUT = ("c context", "t turn", "p back", "space next")  # where there is no room: these, one after the other
_ERASE = "\r\x1b[2K"


def step_through(chosen: Replay, stage: Stage) -> None:
    """Shows one event after the other, each when a key asks for it."""
    walk = Walk(chosen)
    with keys() as press:
        stage.show(walk.event, chosen)
        while (word := _asked(walk, stage, press)) != "quit":
            if word == "context":
                stage.show_context(chosen, walk.depth)
            elif word == "all":
                while walk.next():
                    stage.show(walk.event, chosen)
                return
            elif word in _MOVES and _MOVES[word](walk):
                stage.show(walk.event, chosen)
            elif word == "previous" and walk.previous():
                stage.screen.clear()
                for event in walk.so_far():
                    stage.show(event, chosen)


class Walk:
    """A place in a replay: a turn, and an event of it."""

    def __init__(self, chosen: Replay) -> None:
        self._chosen = chosen
        self.depth, self.at = chosen.first, 0
        self._events = chosen.turn(chosen.first)

    @property
    def event(self) -> Event:
        """The event that is shown."""
        return self._events[self.at]

    @property
    def is_last(self) -> bool:
        """Whether nothing follows."""
        return self.depth == self._chosen.last and self.at == len(self._events) - 1

    def so_far(self) -> list[Event]:
        """The events of the turn, up to this one."""
        return self._events[: self.at + 1]

    def place(self) -> str:
        """Where one is: `turn 3 of 7, step 2 of 9`."""
        return f"turn {self.depth:,} of {self._chosen.last:,}, step {self.at + 1:,} of {len(self._events):,}"

    def next(self) -> bool:
        """One event on; False at the end."""
        if self.at + 1 < len(self._events):
            self.at += 1
            return True
        return self.next_turn()

    def previous(self) -> bool:
        """One event back; False at the beginning."""
        if self.at > 0:
            self.at -= 1
            return True
        if not self.turn_before():
            return False
        self.at = len(self._events) - 1
        return True

    def next_turn(self) -> bool:
        """To the beginning of the next turn; False in the last one."""
        if self.depth == self._chosen.last:
            return False
        self._go(self.depth + 1, self._events[-1])
        return True

    def turn_before(self) -> bool:
        """To the beginning of the turn before; False in the first one."""
        if self.depth == self._chosen.first:
            return False
        self._go(self.depth - 1)
        return True

    def _go(self, depth: int, before: Event | None = None) -> None:
        self.depth, self.at = depth, 0
        self._events = self._chosen.turn(depth, before)


_MOVES = {"next": Walk.next, "turn": Walk.next_turn, "back": Walk.turn_before}


def asking(said: list[str], width: int) -> str:
    """The line that asks: what is said, and the keys; where there is no room, the least important make way whole."""
    parts, left = [*said, *_KEYS], [*_LEFT_OUT, *said[:0:-1]]
    while len(line := " · ".join(parts)) > width and left:
        parts.remove(left.pop(0))
    return f"{line} "[:width]


def _asked(walk: Walk, stage: Stage, press: Callable[[], str]) -> str:
    """What the reader wants next; the line that asks is gone afterwards."""
    stage.screen.flush()
    ended = ["the end"] if walk.is_last else []
    hint = asking([f"— {walk.place()}", *ended], (stage.screen.width or 80) - 1)
    try:
        sys.stdout.write(f"\x1b[7m{hint}\x1b[0m")
        sys.stdout.flush()
        return _MEANING.get(press(), "")
    except EOFError:
        return "quit"
    finally:  # Ctrl-C ends it as it ends everything else
        sys.stdout.write(_ERASE)
        sys.stdout.flush()
