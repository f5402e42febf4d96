"""`ldg demo`: a conversation to look at."""

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.story import MAIN, SESSIONS, StoryClock, tell
from agents_ledger.cli.words import plural
from agents_ledger.errors import NotFound
from agents_ledger.ledger import Env, Ledger

_NEXT = (
    (f"tree {MAIN}", "the tree of turns, with its forks"),
    (f"show {MAIN} --thinking", "what was said, thought and done"),
    (f"history {MAIN}", "how its pointer moved: rewound, and on again"),
    ("context another-way", "what an agent would see there"),
    ("sql 'SELECT tool_name, status, count(*) FROM tool_calls GROUP BY 1, 2'", "your own questions"),
)


@click.command()
@click.option("--if-empty", is_flag=True, help="Do nothing if the ledger has turns already.")
@door
def demo(opened: Door, if_empty: bool) -> None:
    """Fills the ledger with a forked conversation: tools, thinking, a rewind, a compaction, a subagent."""
    clock = StoryClock()
    with opened.writing(create=True, env=Env(now=clock.now, new_id=clock.new_id)) as ledger:
        before = ledger.counts()["turns"]
        if (if_empty and before) or _is_told(ledger):
            _say(opened, ledger, 0)
            return
        tell(ledger, clock)
        _say(opened, ledger, ledger.counts()["turns"] - before)


def _is_told(ledger: Ledger) -> bool:
    try:
        ledger.session(MAIN)
    except NotFound:
        return False
    return True


def _say(opened: Door, ledger: Ledger, added: int) -> None:
    if opened.as_json:
        answer({"added": added, "sessions": list(SESSIONS) if added else []})
        return
    screen = Screen()
    if not added:
        screen.line(f"nothing to do: {ledger.database.url} has turns already")
        return
    screen.line(f"added {plural(added, 'turn')} in {plural(len(SESSIONS), 'session')} to {ledger.database.url}")
    screen.line()
    screen.line("Now try:")
    for command, gives in _NEXT:
        screen.line("  ", (f"{opened.ldg} {command}", "bold cyan"))
        screen.line(f"      {gives}")
