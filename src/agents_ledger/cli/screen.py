"""What people see: lines, blocks and tables; coloured and fitted on a terminal, plain where it is piped.

Everything printed here passes the sanitizer, and nothing is read as markup. Rich is loaded for terminals only.
"""

import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from agents_ledger.cli.terminal import clean, one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Part = str | tuple[str, str]
"""A piece of a line: text, or text with a style."""


_FLAT = str.maketrans({"\n": " ", "\t": " "})


class Screen:
    """Standard output, as a terminal or as a pipe."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self._console: Console | None = _console() if self.is_terminal else None
        self.width = self._console.width if self._console else None

    def line(self, *parts: Part) -> None:
        """One line; on a terminal wrapped at its width."""
        if self._console is None:
            sys.stdout.write("".join(text for text, _ in _cleaned(parts, _spaced)).rstrip() + "\n")
        else:
            self._console.print(_text(_cleaned(parts, _spaced)))

    def drawing(self, lines: Iterable[Sequence[Part]]) -> None:
        """Lines of a drawing; on a terminal cut at its edge."""
        for parts in lines:
            if self._console is None:
                self.line(*parts)
            else:
                self._console.print(_text(_cleaned(parts, _spaced)), no_wrap=True, overflow="ellipsis", crop=True)

    def block(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """A text of several lines; on a terminal wrapped at its width."""
        if self._console is None:
            for line in clean(text).splitlines() or [""]:
                sys.stdout.write((" " * indent + line).rstrip() + "\n")
            return
        from rich.padding import Padding  # noqa: PLC0415 - terminals only

        self._console.print(Padding(_text([(clean(text), style)]), (0, 0, 0, indent)))

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Part]],
        *,
        right: Collection[str] = (),
        wrapped: Collection[str] = (),
    ) -> None:
        """Rows under names; `right` are columns of numbers, `wrapped` those that no terminal may cut."""
        cells = [_cleaned(row, one_line) for row in rows]
        names = [one_line(name) for name in columns]
        if self._console is None:
            numbers = {at for at, name in enumerate(columns) if name in right}
            plain = [names, *([text for text, _ in row] for row in cells)]
            sys.stdout.writelines(f"{line}\n" for line in _aligned(plain, numbers))
            return
        from rich.table import Table  # noqa: PLC0415 - terminals only

        drawn = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
        for given, name in zip(columns, names, strict=True):
            side: Literal["left", "right"] = "right" if given in right else "left"
            is_whole = given in wrapped
            cutting: Literal["fold", "ellipsis"] = "fold" if is_whole else "ellipsis"
            drawn.add_column(_text([(name, "")]), justify=side, no_wrap=not is_whole, overflow=cutting)
        for row in cells:
            drawn.add_row(*(_text([cell]) for cell in row))
        self._console.print(drawn)


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def cut(text: str, width: int) -> str:
    """The beginning of a text, on one line, with an ellipsis if something is missing."""
    text = one_line(text)
    if cell_width(text) <= width:
        return text
    while text and cell_width(text) > width - 1:
        text = text[: max(width - 1, 0)] if len(text) > width else text[:-1]
    return f"{text.rstrip()}…"


def _cleaned(parts: Sequence[Part], cleaner: Callable[[str], str]) -> list[tuple[str, str]]:
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    return [(cleaner(text), style) for text, style in pairs]


def _spaced(text: str) -> str:
    """Clean text on one line, its spaces kept."""
    return clean(text.translate(_FLAT))


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _aligned(rows: Sequence[Sequence[str]], right: set[int]) -> Iterable[str]:
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - cell_width(cell))
            padded.append(gap + cell if at in right else cell + gap)
        yield "  ".join(padded).rstrip()


def _console() -> "Console":
    from rich.console import Console  # noqa: PLC0415 - terminals only

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def _text(parts: Iterable[tuple[str, str]]) -> "Text":
    from rich.text import Text  # noqa: PLC0415 - terminals only

    return Text.assemble(*parts)
