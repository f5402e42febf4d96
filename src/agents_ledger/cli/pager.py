"""Long output goes through a pager: on terminals only, and only if it is longer than the screen."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from agents_ledger import config

if TYPE_CHECKING:
    import subprocess


@contextmanager
def paged(*, is_wanted: bool | None) -> Iterator[IO[str] | None]:
    """A stream into the pager, or None where none is wanted or there is none. `is_wanted=None`: as the terminal is."""
    command = _command(is_wanted)
    if command is None:
        yield None
        return
    with _started(command) as pager:
        assert pager.stdin is not None, "it was started with a pipe"  # noqa: S101
        try:
            yield pager.stdin
        except BrokenPipeError:
            pass  # the reader has seen enough
        finally:
            with suppress(BrokenPipeError):
                pager.stdin.close()
            _wait(pager)


def _command(is_wanted: bool | None) -> list[str] | None:
    if is_wanted is False or not (sys.stdout.isatty() and sys.stdin.isatty()):
        return None
    from shutil import which  # noqa: PLC0415 - only on a terminal

    words = shlex.split(config.pager())
    if not words or words[0] == "cat" or which(words[0]) is None:
        return None
    if words[0].rpartition("/")[2] == "less" and len(words) == 1 and not config.has_less_options():
        words += ["-R", "-X"] + ([] if is_wanted else ["-F"])
    return words


def _started(command: list[str]) -> "subprocess.Popen[str]":
    import subprocess  # noqa: PLC0415 - only on a terminal

    return subprocess.Popen(  # noqa: S603 - the reader's own choice of a pager
        command, stdin=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
    )


def _wait(pager: "subprocess.Popen[str]") -> None:
    """Until the reader leaves the pager; Ctrl-C is the pager's business meanwhile."""
    while True:
        with suppress(KeyboardInterrupt):
            pager.wait()
            return
