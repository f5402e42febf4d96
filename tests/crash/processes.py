"""Processes of the tests: forked, so that hundreds of them take seconds; heard over a pipe."""

import os
import select
import time
import traceback
from collections.abc import Callable


def forked(work: Callable[[int], None], reading: int, writing: int) -> int:
    """A child that works and ends, with 0 if nothing went wrong; its error is the last thing in the pipe."""
    child = os.fork()
    if child:
        return child
    end = 1
    try:
        os.close(reading)
        work(writing)
        end = 0
    except BaseException:  # noqa: BLE001 - the parent prints it
        os.write(writing, traceback.format_exc()[-3000:].encode())
    finally:
        os._exit(end)


def drain(pipe: int, seconds: float, *, until_first: bool = False) -> tuple[bytes, bool]:
    """What comes out of a pipe within a time, or until something comes at all; and whether its end was reached."""
    got = b""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([pipe], [], [], left)[0]:
            break
        piece = os.read(pipe, 65536)
        if not piece:
            return got, True
        got += piece
        if until_first:
            break
    return got, False


def outcome_of(work: Callable[[], str]) -> str:
    """What a piece of work says in a process of its own."""
    return "".join(run_all([lambda pipe: _say(pipe, work())]))


def run_all(works: list[Callable[[int], None]], meanwhile: Callable[[], None] = lambda: None) -> list[str]:
    """Runs each work in a process of its own, all at once; gives the lines that they wrote. `meanwhile` is repeated."""
    reading, writing = os.pipe()
    children = [forked(work, reading, writing) for work in works]
    os.close(writing)
    got, is_end = b"", False
    while not is_end:
        meanwhile()
        piece, is_end = drain(reading, 0.05)
        got += piece
    os.close(reading)
    ends = [os.waitpid(child, 0)[1] for child in children]
    text = got.decode()
    assert not any(ends), f"a process failed:\n{text[-6000:]}"
    return text.splitlines()


def _say(pipe: int, text: str) -> None:
    os.write(pipe, f"{text}\n".encode())
