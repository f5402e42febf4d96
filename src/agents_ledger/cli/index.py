"""`ldg index`: the search index, up to date or made anew."""

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.progress import progress
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import plural


@click.command()
@click.option(
    "--semantic/--words", default=None, help="Also by meaning (the default if the extra is here), or words only."
)
@click.option("--again", is_flag=True, help="Make anew what stands beside the words: titles, paths, meanings …")
@door
def index(opened: Door, semantic: bool | None, again: bool) -> None:
    """Brings the search index up to date; with the extra `semantic`, also what turns are about.

    Words are indexed by every sync, and by every search that finds some missing. Meanings take about 50 ms a turn and
    are made here only. Ctrl-C loses nothing: the next run goes on.
    """
    from agents_ledger.ledger import embedding, meaning, notes  # noqa: PLC0415 - only for this command

    wanted = embedding.is_installed() if semantic is None else semantic
    if wanted:
        meaning.require()
    with opened.writing() as ledger:
        if again:
            ledger.database.write(notes.forget_everything)
            ledger.database.write(meaning.forget)
        ledger.index()
        turns = 0
        if wanted:
            with progress("meanings", is_wanted=not opened.as_json) as advance:
                turns = meaning.feed(ledger.database, advance)
    if opened.as_json:
        answer({"semantic": wanted, "turns": turns})
        return
    screen = Screen()
    screen.line("The words are up to date.")
    if wanted:
        screen.line(f"Meanings of {plural(turns, 'turn')} were added." if turns else "The meanings are up to date.")
    elif semantic is None:
        onward = f"`{opened.ldg} index` again"
        screen.line(f"Search by meaning needs an extra: pip install 'agents-ledger[semantic]', then {onward}.")
