"""`ldg context`: what an agent would see."""

import sys

import click

from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.options import with_pager
from agents_ledger.cli.screen import paged
from agents_ledger.cli.shapes import answer
from agents_ledger.ledger.context import as_text
from agents_ledger.ledger.tokens import Tokens, count

_REQUESTS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-responses": "openai-responses",
    "gemini": "gemini-api",
}
_FORMS = click.Choice(["text", "json", *_REQUESTS])


@click.command()
@click.argument("turn", shell_complete=complete_ids)
@click.option("--query", metavar="TEXT", help="The question that comes next.")
@click.option("--as", "form", type=_FORMS, default="text", show_default=True, help="JSON, or a provider's request.")
@with_pager
@door
def context(opened: Door, turn: str, query: str | None, form: str, pager: bool | None) -> None:
    """What an agent would see after TURN (or a session's head): system prompt, summary, kept turns, query.

    How many tokens that are is said on stderr: as the provider counted them in the last call, where that is recorded,
    else estimated.
    """
    with opened.reading() as ledger:
        turn_id = ledger.find(turn)
        seen = ledger.context(turn_id, query)
        with ledger.database.read() as tx:
            tokens = count(tx, seen)
        if form in _REQUESTS:
            from agents_ledger.capture.telling import Telling  # noqa: PLC0415 - loads all formats and exports
            from agents_ledger.cli.export import put_text  # noqa: PLC0415 - as above

            put_text(Telling(ledger, turn_id, _REQUESTS[form], query).pieces())
            _say(tokens)
            return
    if opened.as_json or form == "json":
        answer({"context": seen, "tokens": tokens})
        return
    with paged(is_wanted=pager) as screen:
        screen.block(as_text(seen))
    _say(tokens)


def _say(tokens: Tokens) -> None:
    """Beside the text, not in it: what is piped on is what the agent would see and nothing else."""
    parts = {
        "recorded": "as the provider counted them",
        "mixed": f"{tokens.recorded:,} recorded, {tokens.estimated:,} estimated",
        "estimated": "estimated: a quarter of the bytes",
    }
    sys.stdout.flush()
    sys.stderr.write(f"{tokens.count:,} tokens ({parts[tokens.how]})\n")
