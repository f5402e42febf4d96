"""A thread as one HTML file that needs nothing else, runs nothing and loads nothing.

Everything is escaped; Markdown is read without HTML in it, links lead to the web only, and pictures are those of the
evidence. A policy in the file's head says the same to the browser: no scripts, nothing from elsewhere.
"""

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

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
from agents_ledger.exports.pictures import picture
from agents_ledger.exports.style import STYLE
from agents_ledger.exports.texts import pretty
from agents_ledger.model.changes import Line
from agents_ledger.model.chronicle import Chapter, Chronicle
from agents_ledger.model.markdown_limits import NESTING, is_readable
from agents_ledger.model.pictures import described
from agents_ledger.model.story import Block, Call, Image, Result, Text, Thinking

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_WEB = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_CLASSES = {"+": "a", "-": "d", "@": "p", " ": "k"}


def write(chronicle: Chronicle) -> Iterator[str]:
    """The document, in pieces."""
    name = escape(title(chronicle))
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="referrer" content="no-referrer">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{name}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<header>\n<h1>{name}</h1>\n<dl>\n"
    for key, value in facts(chronicle):
        yield f"<dt>{key}</dt><dd><bdi>{escape(value)}</bdi></dd>\n"
    yield f'</dl>\n<p><a href="#turn-1">first turn</a> · <a href="#turn-{chronicle.depth}">last turn</a></p>\n'
    yield "</header>\n<main>\n"
    for chapter in chronicle.chapters:
        yield from _chapter(chapter, chronicle.depth)
    yield "</main>\n</body>\n</html>\n"


def _chapter(chapter: Chapter, last: int) -> Iterator[str]:
    turn, at = chapter.turn, chapter.turn.depth
    before = f'<a href="#turn-{at - 1}" title="the turn before">↑</a>' if at > 1 else ""
    after = f'<a href="#turn-{at + 1}" title="the next turn">↓</a>' if at < last else ""
    yield f'<section id="turn-{at}">\n<header><nav>{before}{after}</nav><h2><a href="#turn-{at}">Turn {at}</a></h2> '
    yield " · ".join(escape(each) for each in turn_facts(turn))
    yield f"<br><code>{escape(turn.id)}</code> · seal <code>{escape(seal(turn))}</code></header>\n"
    if turn.error:
        yield f'<article class="system"><h3 class="bad">error</h3>{_pre(turn.error)}</article>\n'
    if chapter.compaction is not None:
        words = f'<div class="words" dir="auto">{_rich(chapter.compaction.summary)}</div>'
        yield f'<article class="system"><h3>compaction, in place of what came before</h3>{words}</article>\n'
    for step in steps(chapter):
        yield from _step(step)
    yield "</section>\n"


def _step(step: Step) -> Iterator[str]:
    who = speaker(step.entry)
    yield f'<article class="{who}">\n<h3>{who}</h3>\n'
    for item in step.items:
        is_aside = who in ("context", "system") and isinstance(item, Text)
        yield _aside(item) if is_aside and isinstance(item, Text) else _item(item)
    yield "</article>\n"


def _aside(item: Text) -> str:
    return _details(f"{len(item.text):,} characters: {escape(one_line(item.text, 80))}", _pre(item.text))


def _item(item: Block | Done) -> str:
    if isinstance(item, Text):
        return f'<div class="words" dir="auto">{_rich(item.text)}</div>\n' if item.text.strip() else ""
    if isinstance(item, Thinking):
        return _details("thinking", _pre(item.text)) if item.text else "<p>thinking that only its model can read</p>\n"
    if isinstance(item, Image):
        return _image(item)
    if isinstance(item, Done):
        return _done(item)
    assert isinstance(item, Result), "a call is always told with what came of it"  # noqa: S101
    return _details(f"result of <b>{escape(one_line(item.tool))}</b>", _result(item))


def _done(done: Done) -> str:
    is_bad = done.result is None or done.result.is_error
    ending = f' <span class="{"bad" if is_bad else "good"}">{escape(status(done))}</span>'
    head = f"<b>{escape(one_line(done.call.tool))}</b> <code>{escape(gist(done.call))}</code>{ending}"
    return _details(head, _params(done.call) + ("" if done.result is None else _result(done.result)))


def _params(call: Call) -> str:
    changed = diff_of(call.tool, call.params)
    return _diff(changed) if changed else _pre(command_of(call) or pretty(call.params))


def _result(result: Result) -> str:
    told = []
    for part in result.content:
        if isinstance(part, Image):
            told.append(_image(part))
        elif part.text.strip():
            changed = marked(part.text)
            told.append(_diff(changed) if changed else _pre(part.text))
    return "".join(told) or "<p>nothing came back</p>\n"


def _diff(lines: list[Line]) -> str:
    told = (f'<span class="{_CLASSES[line.sign]}">{escape(shown(line.sign + line.text))}</span>' for line in lines)
    return f'<pre class="diff">{"".join(told)}</pre>\n'


def _image(image: Image) -> str:
    found = picture(image)
    words = escape(one_line(described(image)))
    if found is None:
        return f"<p>{words}</p>\n"
    return f'<p><img loading="lazy" alt="{words}" src="data:{found.media_type};base64,{found.data}"></p>\n'


def _details(summary: str, inside: str) -> str:
    """Something that opens when it is asked for; both are HTML already."""
    return f"<details><summary>{summary}</summary>\n{inside}</details>\n"


def _pre(text: str) -> str:
    return f'<pre dir="auto">{escape(shown(text))}</pre>\n'


def _rich(text: str) -> str:
    """Markdown as HTML."""
    words = shown(text)
    return str(_parser().render(words)) if is_readable(words) else _pre(words)


@cache
def _parser() -> "MarkdownIt":
    """CommonMark and tables, without HTML and pictures; links lead to the web or stay text."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - no other export needs all of it

    options = {"html": False, "linkify": False, "typographer": False, "maxNesting": NESTING}
    parser = MarkdownIt("js-default", options)
    parser.disable("image")
    parser.validateLink = lambda url: _WEB.match(url) is not None  # type: ignore[method-assign]
    parser.add_render_rule("link_open", _link)
    return parser


def _link(self: Any, tokens: Any, at: int, options: Any, _env: Any) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    return str(self.renderToken(tokens, at, options, _env))
