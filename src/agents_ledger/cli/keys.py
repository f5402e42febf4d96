"""Keys, one by one, as a reader presses them; none is lost that is pressed while something is drawn."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_LONGEST = 32  # bytes that come at once


@contextmanager
def keys() -> Iterator[Callable[[], str]]:
    """A function that waits for the next key; the terminal is as it was afterwards."""
    try:
        import termios  # noqa: PLC0415 - not on Windows
        import tty  # noqa: PLC0415 - as above
    except ImportError:
        yield click.getchar
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)
        yield _Presses(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


class _Presses:
    """The keys that are pressed, also those that come at once."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._waiting = ""

    def __call__(self) -> str:
        if not self._waiting:
            self._waiting = os.read(self._terminal, _LONGEST).decode("utf-8", "replace")
            if not self._waiting:
                raise EOFError
        if self._waiting.startswith("\x1b"):  # an arrow is several characters
            key, self._waiting = self._waiting, ""
        else:
            key, self._waiting = self._waiting[0], self._waiting[1:]
        return key
