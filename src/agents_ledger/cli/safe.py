"""The last guard in front of a terminal, whatever draws on it. Loaded for terminals only.

Texts are cleaned before they are drawn; but parsing can make new characters (`&#x202e;` in markdown is a bidi
override), and rich can make links, which a terminal would follow to wherever they lead.
"""

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.theme import Theme

from agents_ledger.cli.terminal import clean

THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.block_quote": "dim",
        "markdown.link": "underline",
        "markdown.link_url": "dim",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.hr": "dim",
    }
)


class Safe:
    """Whatever is drawn, without anything that acts: no links, no controls, every character shown."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            if not segment.control:
                style = segment.style
                plain = style.update_link(None) if style is not None and style.link is not None else style
                yield Segment(clean(segment.text), plain)


class Terminal(Console):
    """A console that says when nobody reads any more, and does not end the program itself."""

    def on_broken_pipe(self) -> None:
        """The pager was left, or the terminal is gone."""
        raise BrokenPipeError


class Prefixed:
    """Something drawn with a few characters before each of its lines: others before the first than before the rest."""

    def __init__(self, inner: RenderableType, first: str, rest: str) -> None:
        self._inner = inner
        self._first = first
        self._rest = rest

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width - max(cell_len(self._first), cell_len(self._rest)), 1)
        dim = console.get_style("dim")
        for at, line in enumerate(console.render_lines(self._inner, options.update(width=width), pad=False)):
            yield Segment(self._rest if at else self._first, dim)
            yield from line
            yield Segment.line()
