"""`ldg replay`: a session or a turn once more, step by step, as it happened."""

import sys
import time
from collections.abc import Iterator
from functools import partial

import click

from agents_ledger.capture.patches import changes_of
from agents_ledger.cli import shapes
from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.stepping import step_through
from agents_ledger.cli.steps import Stage
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.replay import Event, Replay

_SECOND = 1000


@click.command()
@click.argument("id", shell_complete=complete_ids)
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    metavar="X",
    help="Go on by itself, X times as fast as it was. Without it a terminal waits for your keys.",
)
@click.option(
    "--max-pause",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="No pause is longer than this (3, if only --speed is given).",
)
@click.option("--no-pause", is_flag=True, help="Everything at once. So it is where the output is piped.")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Of a session: only its last N turns.")
@click.option("--context", is_flag=True, help="Say what the model saw at each step; with --full, all of it.")
@click.option("--full", is_flag=True, help="Show parameters, results and diffs whole.")
@door
def replay(
    opened: Door,
    id: str,  # noqa: A002 - its name on the screen
    speed: float | None,
    max_pause: float | None,
    no_pause: bool,
    last: int | None,
    context: bool,
    full: bool,
) -> None:
    """Steps through a session (label or alias), or one turn, as it happened. Moves nothing.

    Keys: space or n next step, p previous, t next turn, b turn before, c all that the model saw, a everything
    that is left, q quit. With --json: one line for each event, with its time and the pause before it.
    """
    if no_pause and (speed is not None or max_pause is not None):
        raise click.UsageError("--no-pause leaves nothing for --speed and --max-pause")
    is_timed = speed is not None or max_pause is not None
    pause = _pauses(speed or 1.0, _LONGEST_S if max_pause is None else max_pause) if is_timed else None
    with opened.reading() as ledger:
        chosen = _chosen(ledger, id, last)
        if opened.as_json:
            _answer(chosen, pause, context=context, full=full)
            return
        stage = Stage(Screen(), partial(changes_of, ledger), full=full, context=context)
        if pause is None and not no_pause and sys.stdin.isatty() and sys.stdout.isatty():
            step_through(chosen, stage)
        else:
            _play(chosen, stage, pause)


_LONGEST_S = 3.0


class _pauses:  # noqa: N801 - a function with two settings
    """How long to wait before an event."""

    def __init__(self, speed: float, longest_s: float) -> None:
        self._speed = speed
        self._longest_s = longest_s

    def __call__(self, event: Event) -> float:
        return min(event.after_ms / _SECOND / self._speed, self._longest_s)


def _chosen(ledger: Ledger, text: str, last: int | None) -> Replay:
    """The thread of a session, or one turn."""
    try:
        session = ledger.session(text)
    except (NotFound, BadInput):
        found = ledger.replay(ledger.find(text))
        return ledger.replay(found.turn_id, found.last)
    if session.thread_id is None:
        raise NotFound(f"session {text!r} has no turns yet: there is nothing to replay")
    whole = ledger.replay(session.thread_id)
    return whole if last is None else ledger.replay(session.thread_id, whole.last - last + 1)


def _paced(chosen: Replay, pause: _pauses | None) -> Iterator[Event]:
    for event in chosen:
        if pause is not None:
            time.sleep(pause(event))
        yield event


def _play(chosen: Replay, stage: Stage, pause: _pauses | None) -> None:
    for event in _paced(chosen, pause):
        stage.show(event, chosen)
        stage.screen.flush()


def _answer(chosen: Replay, pause: _pauses | None, *, context: bool, full: bool) -> None:
    for number, event in enumerate(_paced(chosen, pause), 1):
        seen = chosen.context(event.record.turn.depth) if context and full and event.kind == "turn" else None
        shapes.answer(shapes.event(number, event, context=context, whole=seen))
        sys.stdout.flush()
