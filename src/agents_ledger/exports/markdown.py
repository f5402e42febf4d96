"""A thread as Markdown that reads well on GitHub. Whatever was said stays in its place.

What somebody said stands in a quote, every line of it behind `>`: no heading, list or fence gets out of there.
Outside of code a word joiner keeps `<` from beginning a tag and `![` from loading a picture; what tools gave stands in
fences that are longer than any inside.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from agents_ledger.exports.diffs import diff_of, marked
from agents_ledger.exports.pages import (
    Done,
    Step,
    command_of,
    facts,
    gist,
    one_line,
    seal,
    shown,
    speaker,
    status,
    steps,
    title,
    turn_facts,
)
from agents_ledger.exports.texts import pretty
from agents_ledger.model.chronicle import Chapter, Chronicle
from agents_ledger.model.markdown_limits import is_readable
from agents_ledger.model.pictures import described
from agents_ledger.model.story import Block, Call, Image, Result, Text, Thinking

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_JOINER = "\N{WORD JOINER}"
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_DEFINITION = re.compile(r"^([ \t>*+\-\d.)]*)\[(?=[^\]\n]*\]:)", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$@])")
_RUN = re.compile(r"`+")


def write(chronicle: Chronicle) -> Iterator[str]:
    """The document, in pieces."""
    yield f"# {plain(title(chronicle))}\n\n"
    for name, value in facts(chronicle):
        yield f"- **{name}** {code(value)}\n"
    for chapter in chronicle.chapters:
        yield from _chapter(chapter)


def _chapter(chapter: Chapter) -> Iterator[str]:
    turn = chapter.turn
    yield f"\n---\n\n## Turn {turn.depth}\n\n"
    yield f"{' · '.join(plain(each) for each in turn_facts(turn))} · {code(turn.id)}"
    yield f" · seal {code(seal(turn))}\n"
    if turn.error:
        yield f"\n**error**\n\n{quote(turn.error)}\n"
    if chapter.compaction is not None:
        yield f"\n**compaction**, in place of what came before\n\n{quote(chapter.compaction.summary)}\n"
    for step in steps(chapter):
        yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    who = speaker(step.entry)
    is_aside = who in ("context", "system")
    if not is_aside:
        yield f"\n**{who}**\n"
    for item in step.items:
        if is_aside and isinstance(item, Text):
            yield details(f"{who}, {len(item.text):,} characters", fence(item.text))
        else:
            yield _item(item)


def _item(item: Block | Done) -> str:
    if isinstance(item, Text):
        return f"\n{quote(item.text)}\n" if item.text.strip() else ""
    if isinstance(item, Thinking):
        return details("thinking", fence(item.text)) if item.text else "\n*thinking that only its model can read*\n"
    if isinstance(item, Image):
        return f"\n*{plain(one_line(described(item)))}*\n"
    if isinstance(item, Done):
        return _done(item)
    assert isinstance(item, Result), "a call is always told with what came of it"  # noqa: S101
    return details(f"result of {item.tool}: {item.status}", _result(item))


def _done(done: Done) -> str:
    about = gist(done.call)
    head = f"{done.call.tool}{': ' if about else ''}{about} ({status(done)})"
    inside = _params(done.call)
    return details(head, inside if done.result is None else f"{inside}\n{_result(done.result)}")


def _params(call: Call) -> str:
    params = call.params
    changed = diff_of(call.tool, params)
    if changed:
        return fence("\n".join(line.sign + line.text for line in changed), "diff")
    command = command_of(call)
    if command is not None:
        return fence(command, "sh")
    return fence(pretty(params), "" if isinstance(params, str) else "json")


def _result(result: Result) -> str:
    told = []
    for part in result.content:
        if isinstance(part, Image):
            told.append(f"*{plain(one_line(described(part)))}*\n")
        elif part.text.strip():
            told.append(fence(part.text, "diff" if marked(part.text) else ""))
    return "\n".join(told) or "*nothing*\n"


def details(summary: str, inside: str) -> str:
    """Something that opens when it is asked for."""
    return f"\n<details>\n<summary>{escape(one_line(summary, 200))}</summary>\n\n{inside}\n</details>\n"


def fence(text: str, language: str = "") -> str:
    """Text between fences that are longer than any inside."""
    words = shown(text).rstrip("\n")
    longest = max((len(run) for run in _RUN.findall(words)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}{language}\n{words}\n{bar}\n"


def code(text: str) -> str:
    """A short text as code."""
    longest = max((len(run) for run in _RUN.findall(text)), default=0)
    bar = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{bar}{pad}{text}{pad}{bar}"


def plain(text: str) -> str:
    """A short text in which nothing is Markdown."""
    return _SPECIAL.sub(r"\\\1", text)


def quote(text: str) -> str:
    """What somebody said, as Markdown, in a quote that it can't leave."""
    words = shown(text).strip("\n")
    if not is_readable(words):
        return fence(words)
    lines, harmless = words.split("\n"), _defused(words).split("\n")
    inside = _code_lines(harmless)
    return _quoted(line if at in inside else harmless[at] for at, line in enumerate(lines))


def _quoted(lines: Iterable[str]) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in lines)


def _defused(words: str) -> str:
    words = _TAG.sub(f"<{_JOINER}", words).replace("![", f"!{_JOINER}[")
    return _DEFINITION.sub(r"\1\\[", words)


def _code_lines(lines: list[str]) -> set[int]:
    """The lines that are code for sure: between fences, as CommonMark sees them where nothing is HTML.

    It sees them in their quote: a tab is narrower there.
    """
    text = _quoted(lines)
    if "```" not in text and "~~~" not in text:
        return set()
    fences = (token.map for token in _parser().parse(text) if token.type == "fence")
    return {line for span in fences if span is not None for line in range(*span)}


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only where there is a fence

    parser = MarkdownIt("commonmark", {"html": False})
    parser.core.ruler.enableOnly(["normalize", "block"])  # what is inside of lines does not matter here
    return parser
