"""`ldg replay`: a session or a turn once more, step by step, as it happened."""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import click

from agents_ledger import config
from agents_ledger.capture.patches import changes_of
from agents_ledger.cli import shapes
from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.stepping import step_through
from agents_ledger.cli.steps import Stage
from agents_ledger.cli.turns import Detail
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.replay import Event, Replay

Pause = Callable[[Event], float]
_SECOND = 1000
_LONGEST_S = 3.0


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
    longest_s = _LONGEST_S if max_pause is None else max_pause
    pause = partial(_pause_s, speed or 1.0, longest_s) if is_timed else None
    with opened.reading() as ledger:
        chosen = _chosen(ledger, id, last, sees=context)
        if opened.as_json:
            _answer(ledger, chosen, pause, context=context, full=full)
            return
        detail = Detail(thinking=True, full=full, ldg=opened.ldg)
        stage = Stage(Screen(), partial(changes_of, ledger), detail, context=context)
        is_watched = sys.stdin.isatty() and sys.stdout.isatty() and not config.is_dumb_terminal()
        if is_watched and pause is None and not no_pause:
            step_through(chosen, stage)
        else:
            _play(chosen, stage, pause)


def _pause_s(speed: float, longest_s: float, event: Event) -> float:
    """How long to wait before an event."""
    return min(event.after_ms / _SECOND / speed, longest_s)


def _chosen(ledger: Ledger, text: str, last: int | None, *, sees: bool) -> Replay:
    """The thread of a session, its last turns, or one turn."""
    try:
        head = ledger.session(text).thread_id
    except (NotFound, BadInput):
        head, last = ledger.find(text), 1
    if head is None:
        raise NotFound(f"session {text!r} has no turns yet: there is nothing to replay")
    whole = ledger.replay(head, sees=sees)
    return whole if last is None else ledger.replay(head, whole.last - last + 1, sees=sees)


def _paced(chosen: Replay, pause: Pause | None) -> Iterator[Event]:
    for event in chosen:
        if pause is not None:
            time.sleep(pause(event))  # as long as it took then, or what was asked for
        yield event


def _play(chosen: Replay, stage: Stage, pause: Pause | None) -> None:
    for event in _paced(chosen, pause):
        stage.show(event, chosen)
        stage.screen.flush()


def _answer(ledger: Ledger, chosen: Replay, pause: Pause | None, *, context: bool, full: bool) -> None:
    for number, event in enumerate(_paced(chosen, pause), 1):
        shape = shapes.event(number, event)
        if event.kind == "call" and event.call is not None:
            shape["changes"] = changes_of(ledger, event.call)
        if context and event.seen is not None:
            shape["seen"] = event.seen
        if context and full and event.kind == "turn":
            shape["context"] = chosen.context(event.record.turn.depth)
        shapes.answer(shape)
        sys.stdout.flush()
