"""`ldg compact`: a summary stands for the earlier turns."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agents_ledger import config
from agents_ledger.cli.completing import complete_sessions
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import named, number, plural, short
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.compacting import Outcome
from agents_ledger.ledger.policy import Due, Plan, Policy, due, plan
from agents_ledger.model.extractive import Extractive

if TYPE_CHECKING:
    from agents_ledger.model.entries import Trigger
    from agents_ledger.model.summary import Summariser

_TRIGGERS = click.Choice(["context_limit", "manual", "periodic"])
_STRATEGIES = click.Choice(["summary", "sliding_window", "selective"])
_MODES = click.Choice(["default", "safeguard"])
_SIZE = click.IntRange(0, 1_000_000_000)
_USUAL = Policy()
_NOT_DUE = 1


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--summary", metavar="TEXT|@FILE|-", help="A summary of yours: a text, a file, or stdin.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="The last N turns stay word for word.")
@click.option("--keep-tokens", type=_SIZE, default=_USUAL.keep_tokens, show_default=True, help="Or as many as fit.")
@click.option("--strategy", type=_STRATEGIES, default="summary", show_default=True, help="What becomes of the rest.")
@click.option("--mode", type=_MODES, default="default", show_default=True, help="safeguard: in stages, with checks.")
@click.option("--window", type=_SIZE, default=_USUAL.window_tokens, show_default=True, help="Tokens the agent can see.")
@click.option("--reserve", type=_SIZE, default=_USUAL.reserve_tokens, show_default=True, help="Of these, kept free.")
@click.option("--if-due", is_flag=True, help="Only if the limit is near (or --every is reached); exit code 1 if not.")
@click.option("--every", type=click.IntRange(min=1), metavar="N", help="With --if-due: also after every N turns.")
@click.option(
    "--summary-tokens",
    type=click.IntRange(100, 200_000),
    default=_USUAL.limit_tokens,
    show_default=True,
    help="How long the summary may be.",
)
@click.option("--instructions", metavar="TEXT", help="What the summary (or the selection) should look at.")
@click.option("--flush", metavar="COMMAND", help="Runs first, with the context on stdin: to write memory down.")
@click.option("--offline", is_flag=True, help="Ask no model, whatever is configured.")
@click.option("--trigger", type=_TRIGGERS, help="Why it happens, for the record.")
@click.option("--dry-run", is_flag=True, help="Only say what would be summarised and kept.")
@door
def compact(opened: Door, /, session: str, summary: str | None, **given: Any) -> None:
    """Adds a compaction turn to SESSION; the summarised turns stay in the ledger.

    The summary is yours (--summary), or comes from the endpoint of AGENTS_LEDGER_SUMMARISER_URL (with …_MODEL, …_KEY),
    or is made of the conversation's own words, without any model.
    """
    if summary is not None:
        if given["if_due"] or given["dry_run"] or given["flush"] or given["strategy"] != "summary":
            raise click.UsageError("--summary is written as it is: only --keep and --trigger go with it")
        _by_hand(opened, session, read_text(summary), given)
        return
    if given["if_due"] and given["trigger"]:
        raise click.UsageError("--if-due finds the trigger by itself: leave out one of them")
    if given["every"] and not given["if_due"]:
        raise click.UsageError("--every says when it is due: add --if-due")
    policy = _policy(given)
    if given["dry_run"]:
        _show_plan(opened, session, policy)
        return
    who: Summariser = Extractive() if given["offline"] else config.summariser()
    with opened.writing() as ledger:
        trigger: Trigger | None = given["trigger"] or (None if given["if_due"] else "manual")
        made = ledger.compact_by(who, policy, flush=_flush(given["flush"])).run(session, trigger)
        missing = None if made else _due(ledger, session, policy)
        origin = ledger.session(session).origin
    if made is None:
        _say_not_due(opened, session, missing)
    elif opened.as_json:
        answer({"turn_id": made.turn_id, "compaction": made})
    else:
        _say(opened, session, made, origin)


def read_text(given: str) -> str:
    """A text as it was given, from a file (`@path`), or from standard input (`-`)."""
    if given == "-":
        text = sys.stdin.read()
    elif given.startswith("@"):
        text = Path(given[1:]).read_text("utf-8")
    else:
        text = given
    if not text.strip():
        raise click.BadParameter("it is empty: write a few words", param_hint="'--summary'")
    return text


def _by_hand(opened: Door, session: str, text: str, given: dict[str, Any]) -> None:
    with opened.writing() as ledger:
        turn_id = ledger.compact(session, text, keep=given["keep"], trigger=given["trigger"] or "manual")
    if opened.as_json:
        answer({"turn_id": turn_id})
        return
    screen = Screen()
    screen.line("compacted: turn ", (short(turn_id), "bold"), f" summarises {session}")
    screen.line((f"`{opened.ldg} context {short(turn_id)}` shows what the agent sees from here", "dim"))


def _policy(given: dict[str, Any]) -> Policy:
    return Policy(
        mode=given["mode"],
        strategy=given["strategy"],
        window_tokens=given["window"],
        reserve_tokens=given["reserve"],
        keep_tokens=given["keep_tokens"],
        keep=given["keep"],
        every_turns=given["every"],
        limit_tokens=given["summary_tokens"],
        instructions=given["instructions"],
    )


def _flush(command: str | None) -> Any:
    if command is None:
        return None
    from agents_ledger.summarisers.command import flush_by  # noqa: PLC0415 - loads subprocess; only if asked for

    return flush_by(command)


def _due(ledger: Ledger, session: str, policy: Policy) -> Due | None:
    head = ledger.head(session)
    if head is None:
        return None
    with ledger.database.read() as tx:
        return due(tx, head, policy)


def _say_not_due(opened: Door, session: str, found: Due | None) -> None:
    if opened.as_json:
        answer({"turn_id": None, "due": found})
    elif found is not None:
        told = f"{number(found.left_tokens)} of its tokens are left, {plural(found.turns, 'turn')} since the last one"
        Screen().line(f"not due: {session} has {number(found.tokens.count)} tokens ({found.tokens.how}); {told}")
    raise click.exceptions.Exit(_NOT_DUE)


def _say(opened: Door, session: str, made: Outcome, origin: str | None) -> None:
    screen = Screen()
    before, after = made.tokens_before, made.tokens_after
    screen.line("compacted: turn ", (short(made.turn_id), "bold"), f" summarises {session}")
    kept = f"{plural(made.turns_summarised, 'turn')} summarised, {plural(made.turns_kept, 'turn')} kept word for word"
    screen.line(f"{kept}; {made.strategy} by {made.model}, {made.duration_ms:,} ms")
    screen.line(f"{number(before.count)} tokens before ({before.how}), about {number(after)} now")
    if made.flush is not None and "error" in made.flush:
        screen.line((f"memory was not written down: {made.flush['error']}", "yellow"))
    if origin is not None:
        onward = f"`{opened.ldg} fork {short(made.turn_id)} --into {origin}` goes on from it there"
        screen.line((f"{origin} itself does not know of it; {onward}", "dim"))
    screen.line((f"`{opened.ldg} context {short(made.turn_id)}` shows what the agent sees from here", "dim"))


def _show_plan(opened: Door, session: str, policy: Policy) -> None:
    with opened.reading() as ledger:
        found = _due(ledger, session, policy)
        head = ledger.head(session)
        if found is None or head is None:
            raise click.UsageError(f"session {session!r} has no turns yet: nothing to compact")
        with ledger.database.read() as tx:
            planned = plan(tx, head, policy)
    if opened.as_json:
        answer({"due": found, "plan": _plan_shape(planned)})
        return
    screen = Screen()
    screen.line(f"{session}: {number(found.tokens.count)} tokens ({found.tokens.how}), due: {found.trigger or 'no'}")
    screen.line(
        f"{plural(len(planned.dropped), 'turn')} would be summarised, {plural(len(planned.kept), 'turn')} kept; "
        f"nothing was written. `{opened.ldg} compact {named(session)}` does it"
    )


def _plan_shape(planned: Plan) -> dict[str, Any]:
    ids = {name: [turn.turn_id for turn in getattr(planned, name)] for name in ("dropped", "kept")}
    return {"head": planned.head, "through": planned.through, "message_id": planned.first_kept_message_id, **ids}
