"""`ldg search`: what was said and done, found by words."""

from typing import TYPE_CHECKING

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.filters import chosen, filtered
from agents_ledger.cli.options import print_more, with_cursor, with_limit, with_pager
from agents_ledger.cli.screen import Part, Screen, paged
from agents_ledger.cli.shapes import answer, found_page
from agents_ledger.cli.terminal import one_line
from agents_ledger.cli.words import ago, clock, plural, quoted, short
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.finding import is_behind
from agents_ledger.model.queries import remarks

if TYPE_CHECKING:
    from agents_ledger.ledger.finding import By
    from agents_ledger.model.filters import Filters
    from agents_ledger.model.hits import Found, Group, Hit, Snippet

_SESSIONS = 10
_NOTHING = "Nothing found. Fewer words, a beginning (conf*) or fewer filters find more: see `ldg search -h`."
_WRAPPED = " " * 6  # before what goes on in the next line
_NO_MORE = "Nothing more: all sessions in which it stands were shown."


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@with_limit("Sessions", _SESSIONS)
@with_cursor
@click.option("--semantic/--words", default=None, help="By meaning as well as by words, or by words only.")
@filtered
@with_pager
@door
def search(
    opened: Door,
    query: tuple[str, ...],
    limit: int,
    cursor: str | None,
    semantic: bool | None,
    filters: "Filters",
    pager: bool | None,
) -> int:
    """What was said and done, by words.

    \b
    login token          all of the words, in any order
    '"exact phrase"'     these words, one after the other
    config*              words that begin so
    -test                without this word
    role:user            said by: user, assistant, system, tool
    tool:Bash            in calls of this tool
    file:auth.py         in turns that had to do with this file
    project:shop         in folders of this name, and in all that are in one
    model:opus           by models with this in their name
    origin: session: since: until:

    Options ask as they do in every list: --project for folders of this name or in this path, --model for the whole name
    ('*opus*' for a part of it).

    Words count in messages, thinking, tools' parameters and results, titles, summaries and paths of files. The best
    come first: dialogue before thinking before tools, new before old. A question of four words or more finds turns that
    have the most telling ones of them; after `ldg index` with the extra `semantic`, also those that mean the same.
    """  # noqa: D301 - click's own mark
    text = " ".join(query)
    with catching_up(opened) as ledger:
        found = ledger.search(text, filters=filters, limit=limit, cursor=cursor, by=_way(semantic))
    notes = remarks(text)
    if opened.as_json:
        answer(found_page(text, found, notes))
    else:
        for note in notes:
            click.echo(f"ldg: {one_line(note)}", err=True)
        with paged(is_wanted=pager) as screen:
            _print(screen, opened, text, found, is_later=cursor is not None)
    return 0 if found.groups else 1


def _way(semantic: bool | None) -> "By | None":
    return None if semantic is None else "both" if semantic else "words"


def catching_up(opened: Door) -> Ledger:
    """The ledger to read; to write, if something waits to be indexed."""
    ledger = opened.reading()
    if not is_behind(ledger.database):
        return ledger
    ledger.close()
    return opened.showing(opened.writing())


def _print(screen: Screen, opened: Door, text: str, found: "Found", *, is_later: bool) -> None:
    if not found.groups:
        screen.line(_NO_MORE if is_later else _NOTHING)
        return
    for group in found.groups:
        _print_group(screen, group, is_named="session:" in text.lower())
    if found.next:
        words = [quoted(text)]
        first, last = ([], ["--", *words]) if text.startswith("-") else (words, [])  # else it would be an option
        print_more(screen, opened, "search", *first, *_again(), *chosen(), cursor=found.next, last=last)


def _again() -> list[str]:
    """What else was chosen, as it is typed."""
    given = click.get_current_context().params
    ways = {True: ["--semantic"], False: ["--words"], None: []}
    return ways[given["semantic"]] + ([f"--limit {given['limit']}"] if given["limit"] != _SESSIONS else [])


def _print_group(screen: Screen, group: "Group", *, is_named: bool) -> None:
    about = [group.origin or "", _folder(group.project), "subagent" if group.is_subagent else ""]
    head: list[Part] = [(group.session or "(no session)", "bold")]
    if group.title:
        head.append(f"  {group.title}")
    if any(about):
        head.append((f"  {' · '.join(word for word in about if word)}", "dim"))
    screen.hanging(*head, rest=_WRAPPED)
    for hit in group.hits:
        when = ago(hit.started_at) if screen.is_terminal else clock(hit.started_at)
        where: list[Part] = [(short(hit.turn_id), "cyan"), "  ", (f"{when}  {_who(hit)}  ", "dim")]
        screen.hanging(*where, *_pieces(hit), first="  ", rest=_WRAPPED)
    if group.more or group.is_least:
        how = "a higher --limit shows them" if is_named else f"session:{quoted(group.session or '')}"
        screen.hanging((f"… {_more(group)}: {how}", "dim"), first="  ", rest=_WRAPPED)
    screen.line()


def _more(group: "Group") -> str:
    """How many turns are not shown, as far as they were counted."""
    if not group.more:
        return "perhaps older turns"
    return plural(group.more, "more turn") + (" at least" if group.is_least else "")


def _folder(project: str | None) -> str:
    return (project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]


def _who(hit: "Hit") -> str:
    """Who said it, or where else it stands."""
    if hit.tool is not None:
        return f"{hit.tool}{' result' if hit.place == 'result' else ''}"
    if hit.place == "thinking":
        return "thinking"
    return hit.role or hit.place


def _pieces(hit: "Hit") -> list[Part]:
    """The snippet, with what was looked for in bold; a mark where words are missing."""
    parts: list[Part] = [("(some of the words) ", "dim")] if hit.is_partial else []
    return parts + marked(hit.snippet)


def marked(snippet: "Snippet") -> list[Part]:
    """A snippet, with what was looked for in bold."""
    parts: list[Part] = []
    done = 0
    for start, end in snippet.marks:
        parts += [snippet.text[done:start], (snippet.text[start:end], "bold yellow")]
        done = end
    return [*parts, snippet.text[done:]]
