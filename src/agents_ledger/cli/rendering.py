"""What rich draws for us: markdown, code, diffs. Loaded for terminals only.

Texts are cleaned before they are parsed, and once more when they are drawn (see `safe`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, ImageItem, Markdown, MarkdownElement
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from agents_ledger.cli.safe import Prefixed
from agents_ledger.cli.terminal import clean
from agents_ledger.model.changes import Line
from agents_ledger.model.markdown_limits import NESTING, is_readable

_CODE_THEME = "ansi_dark"  # the terminal's own colours, so that it can be read on dark and on light ones
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def markdown(text: str, indent: int) -> RenderableType:
    """A text as markdown: lines stay lines, tags stay text."""
    words = clean(text)
    return Padding(_Prose(words) if is_readable(words) else Text(words), (0, 0, 0, indent))


def code(text: str, language: str, indent: int) -> RenderableType:
    """Code, highlighted if the language is known."""
    return Padding(_highlighted(clean(text), clean(language)), (0, 0, 0, indent))


def diff(lines: Sequence[Line], indent: int) -> RenderableType:
    """The lines of a diff."""
    drawn = []
    for line in lines:
        text = Text(clean(line.text).replace("\n", " ").replace("\t", "    "), style=_STYLES.get(line.sign, "dim"))
        sign = "⋯" if line.sign == "@" else line.sign
        drawn.append(Prefixed(text, f"{' ' * indent}{sign} ", f"{' ' * indent}  "))
    return Group(*drawn)


class _LeftHeading(Heading):
    """Headings stand at the left."""

    LEVEL_ALIGN: ClassVar[dict[str, Any]] = {}


class _Code(CodeBlock):
    """Code without a background of its own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(_highlighted(str(self.text).rstrip(), self.lexer_name), (0, 0, 0, 2))


class _Image(ImageItem):
    """An image by its name and place; nothing is fetched."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text.assemble("[image ", self.text, " ", (self.destination, "dim"), "]", end="")


class _Prose(Markdown):
    """Markdown in which nothing is lost: tags are text, every line is a line, links say where they lead."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _Code,
        "code_block": _Code,
        "image": _Image,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme=_CODE_THEME, hyperlinks=False)
        parser = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["strikethrough", "table"])
        self.markup = text
        self.parsed = [_faithful(token) for token in parser.parse(text)]


def _faithful(token: Token) -> Token:
    """A line break stays one; a link whose text is its target stands there once."""
    children = token.children
    if children is not None:
        for child in children:
            if child.type == "softbreak":
                child.type = "hardbreak"
        token.children = list(_without_bare_links(children))
    return token


def _without_bare_links(tokens: list[Token]) -> Iterator[Token]:
    at = 0
    while at < len(tokens):
        three = tokens[at : at + 3]
        kinds = [each.type for each in three]
        if kinds == ["link_open", "text", "link_close"] and three[0].attrs.get("href") == three[1].content:
            yield three[1]
            at += 3
        else:
            yield tokens[at]
            at += 1


def _highlighted(text: str, language: str) -> Syntax:
    return Syntax(text, language or "text", theme=_CODE_THEME, background_color="default", word_wrap=True)
