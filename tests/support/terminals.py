"""A terminal for commands that run inside this process: a pseudo-terminal in place of standard output."""

import os
import pty
import re
import threading
from contextlib import redirect_stderr, redirect_stdout

from agents_ledger.cli.main import cli

COLOURS = re.compile("\x1b\\[[0-9;]*m")
# how a progress bar is drawn again in its place
BARS = re.compile("\x1b\\[\\?25[lh]|\r|\x1b\\[2K|\x1b\\[1A")


def on_a_terminal(*args: str) -> tuple[str, int]:
    """What `ldg` writes to a terminal (output and errors), and its exit code. Set TERM and COLUMNS before."""
    ours, theirs = pty.openpty()
    pieces: list[bytes] = []
    reader = threading.Thread(target=_drain, args=(ours, pieces))
    reader.start()
    try:
        with open(theirs, "w", encoding="utf-8") as file, redirect_stdout(file), redirect_stderr(file):  # noqa: PTH123 - a descriptor
            code = _code(args)
    finally:
        reader.join()
        os.close(ours)
    return b"".join(pieces).decode().replace("\r\n", "\n"), code


def _code(args: tuple[str, ...]) -> int:
    try:
        cli.main(args, prog_name="ldg")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _drain(descriptor: int, pieces: list[bytes]) -> None:
    try:
        while piece := os.read(descriptor, 65536):
            pieces.append(piece)
    except OSError:  # Linux: the other end is closed
        pass


def without_ours(said: str) -> str:
    """What was written, without the colours and progress bars that are the program's own."""
    return BARS.sub("", COLOURS.sub("", said))
