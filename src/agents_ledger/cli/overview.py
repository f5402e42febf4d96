"""`ldg` alone: what it knows, and what to do next."""

from agents_ledger.cli.door import Door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.sessions import print_sessions
from agents_ledger.cli.shapes import answer, session_line
from agents_ledger.cli.words import named, plural
from agents_ledger.errors import NotFound
from agents_ledger.ledger import Ledger

_NEWEST = 5
_LOOKED_AT = 50  # of which those without turns are left out


def overview(opened: Door) -> None:
    """Prints the ledger's place, its counts, the newest sessions, and the next steps."""
    try:
        ledger = opened.reading()
    except NotFound:
        _nothing_yet(opened)
        return
    with ledger:
        if opened.as_json:
            newest = [session_line(line) for line in ledger.sessions(limit=_NEWEST)]
            answer(
                {
                    "db": ledger.database.url,
                    "exists": True,
                    "counts": ledger.counts(),
                    "origins": ledger.origins(),
                    "sessions": newest,
                }
            )
        else:
            _print(ledger, Screen(), opened.ldg)


def _print(ledger: Ledger, screen: Screen, ldg: str) -> None:
    counts = ledger.counts()
    screen.line(("Agents Ledger", "bold"), "  ", (ledger.database.url, "dim"))
    alive = sum(not each.is_left_behind for each in ledger.live_turns()) if counts["live"] else 0
    live = f", {alive:,} live now" if alive else ""
    known = [plural(counts[name], word) for name, word in (("sessions", "session"), ("turns", "turn"))]
    inside = [plural(counts[name], word) for name, word in (("messages", "message"), ("tool_calls", "tool call"))]
    screen.line(f"{known[0]}, {known[1]}{live} ({inside[0]}, {inside[1]})")
    if origins := ledger.origins():
        screen.line(("from ", "dim"), ", ".join(f"{name} {count:,}" for name, count in origins.items()))
    screen.line()
    if not counts["sessions"]:
        _print_next(screen, ldg, _EMPTY)
        return
    newest = ledger.sessions(limit=_LOOKED_AT)
    found = [line for line in newest if line.depth][:_NEWEST] or newest[:_NEWEST]
    print_sessions(screen, found)
    screen.line()
    label = named(found[0].session.label)
    _print_next(
        screen,
        ldg,
        (
            (f"show {label}", "what was said and done"),
            (f"replay {label}", "once more, step by step"),
            (f"tree {label}", "the tree of turns, with its forks"),
            ("verify", "whether everything is as it was written"),
            ("--help", "everything else"),
        ),
    )


_EMPTY = (
    ("sync", "captures the agents' sessions on this machine"),
    ("demo", "fills it with a conversation to look at"),
    ("--help", "shows what else there is"),
)


def _nothing_yet(opened: Door) -> None:
    if opened.as_json:
        answer({"db": opened.url, "exists": False, "counts": {}, "origins": {}, "sessions": []})
        return
    screen = Screen()
    screen.line(("Agents Ledger", "bold"), "  ", (opened.url, "dim"))
    screen.line("There is no ledger here yet.")
    screen.line()
    _print_next(screen, opened.ldg, _EMPTY)


def _print_next(screen: Screen, ldg: str, steps: tuple[tuple[str, str], ...]) -> None:
    width = max(len(command) for command, _ in steps)
    widest = len(f"  {ldg} ") + width + max(len(f"  {gives}") for _, gives in steps)
    is_narrow = screen.width is not None and widest > screen.width
    for command, gives in steps:
        if is_narrow:  # long names are copied, so they stand alone
            screen.unbroken("  ", (f"{ldg} {command}", "bold cyan"))
            screen.line((f"      {gives}", "dim"))
        else:
            screen.line("  ", (f"{ldg} {command.ljust(width)}", "bold cyan"), f"  {gives}")
