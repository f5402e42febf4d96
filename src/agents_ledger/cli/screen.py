"""What people see: lines, blocks and tables; coloured and fitted on a terminal, plain where it is piped.

Everything printed here passes the sanitizer, and nothing is read as markup. Rich is loaded for terminals only.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Literal

from agents_ledger import config
from agents_ledger.cli.terminal import clean, one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from agents_ledger.model.changes import Line

Part = str | tuple[str, str]
"""A piece of a line: text, or text with a style."""


_LONGEST_MARKDOWN = 200_000  # characters; above, parsing takes longer than anybody waits
_GAP = 2  # between the columns of a table
_LEAST = 16  # what a column that is cut keeps, before others make way for it
_FLAT = str.maketrans({"\n": " ", "\t": " "})


class Screen:
    """Standard output, as a terminal or as a pipe."""

    def __init__(self, file: IO[str] | None = None) -> None:
        self.is_terminal = file is not None or sys.stdout.isatty() or config.forces_colour()
        self._file = file
        self._console: Console | None = _console(file) if self.is_terminal else None
        self.width = self._console.width if self._console else None

    def line(self, *parts: Part) -> None:
        """One line; on a terminal wrapped at its width."""
        if self._console is None:
            sys.stdout.write("".join(text for text, _ in _cleaned(parts, _spaced)).rstrip() + "\n")
        else:
            self._put(_text(_cleaned(parts, _spaced)))

    def hanging(self, *parts: Part, first: str = "", rest: str = "") -> None:
        """One line after `first`; where a terminal wraps it, it goes on after `rest`."""
        if self._console is None:
            self.line(first, *parts)
            return
        from agents_ledger.cli.safe import Prefixed  # noqa: PLC0415 - terminals only

        self._put(Prefixed(_text(_cleaned(parts, _spaced)), first, rest))

    def unbroken(self, *parts: Part) -> None:
        """One line that is to be copied: where it is too long the terminal wraps it, and knows that it is one."""
        if self._console is None:
            self.line(*parts)
        else:
            self._put(_text(_cleaned(parts, _spaced)), is_unbroken=True)

    def drawing(self, lines: Iterable[Sequence[Part]]) -> None:
        """Lines of a drawing; on a terminal cut at its edge."""
        for parts in lines:
            if self._console is None:
                self.line(*parts)
            else:
                self._put(_text(_cleaned(parts, _spaced)), is_cut=True)

    def block(self, text: str, *, indent: int = 0, style: str = "", first: str = "", rest: str = "") -> None:
        """A text of several lines, on a terminal wrapped at its width; `first` and `rest` stand before the lines."""
        if self._console is None:
            for at, line in enumerate(clean(text).splitlines() or [""]):
                sys.stdout.write((" " * indent + (rest if at else first) + line).rstrip() + "\n")
            return
        from agents_ledger.cli.safe import Prefixed  # noqa: PLC0415 - terminals only

        shown = _text([(clean(text), style)])
        self._put(Prefixed(shown, " " * indent + first, " " * indent + rest))

    def markdown(self, text: str, *, indent: int = 0) -> None:
        """A text with markdown in it: drawn on a terminal, as it is in a pipe."""
        if self._console is None or len(text) > _LONGEST_MARKDOWN:
            self.block(text, indent=indent)
            return
        from agents_ledger.cli import rendering  # noqa: PLC0415 - terminals only

        self._put(rendering.markdown(text, indent))

    def code(self, text: str, language: str, *, indent: int = 0) -> None:
        """Code: highlighted on a terminal, as it is in a pipe."""
        if self._console is None or len(text) > _LONGEST_MARKDOWN:
            self.block(text, indent=indent)
            return
        from agents_ledger.cli import rendering  # noqa: PLC0415 - terminals only

        self._put(rendering.code(text, language, indent))

    def diff(self, lines: Sequence["Line"], *, indent: int = 0) -> None:
        """The lines of a diff, each with its sign."""
        if self._console is None:
            for line in lines:
                self.block(f"{'⋯' if line.sign == '@' else line.sign} {_spaced(line.text)}", indent=indent)
            return
        from agents_ledger.cli import rendering  # noqa: PLC0415 - terminals only

        self._put(rendering.diff(lines, indent))

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Part]],
        *,
        right: Collection[str] = (),
        wrapped: Collection[str] = (),
        cut: Collection[str] = (),
        optional: Sequence[str] = (),
        elsewhere: str | None = None,
    ) -> None:
        """Rows under names; `right` are columns of numbers.

        Where a terminal is too small, the `optional` columns make way, one after the other; then those in `cut` are
        cut, and those in `wrapped` go on in the next line. Which made way is said, with what has them `elsewhere`.
        """
        cells = [_cleaned(row, one_line) for row in rows]
        names = [one_line(name) for name in columns]
        if self._console is None:
            numbers = {at for at, name in enumerate(columns) if name in right}
            plain = [names, *([text for text, _ in row] for row in cells)]
            sys.stdout.writelines(f"{line}\n" for line in _aligned(plain, numbers))
            return
        from rich.table import Table  # noqa: PLC0415 - terminals only

        drawn = Table(box=None, padding=(0, _GAP, 0, 0), header_style="dim", pad_edge=False)
        natural = [max(cell_width(text) for text in column) for column in zip(names, *_texts(cells), strict=True)]
        elastic = {at for at, name in enumerate(columns) if name in cut or name in wrapped}
        shown = _shown(columns, natural, elastic, optional, self._console.width)
        widths = _widths(shown, natural, elastic, self._console.width)
        for at in shown:
            side: Literal["left", "right"] = "right" if columns[at] in right else "left"
            cutting: Literal["fold", "ellipsis"] = "fold" if columns[at] in wrapped else "ellipsis"
            no_wrap = columns[at] not in wrapped
            drawn.add_column(
                _text([(names[at], "")]), justify=side, no_wrap=no_wrap, overflow=cutting, width=widths[at]
            )
        for row in cells:
            drawn.add_row(*(_text([row[at]]) for at in shown))
        self._put(drawn)
        left = [name for at, name in enumerate(columns) if name and at not in shown]
        if left and elsewhere is not None:
            counted = f"{len(left)} column{'s' if len(left) > 1 else ''} left out ({', '.join(left)})"
            self.line((f"{counted}: a wider terminal or {elsewhere} has {'them' if len(left) > 1 else 'it'}", "dim"))

    def clear(self) -> None:
        """An empty terminal; nothing in a pipe."""
        if self._console is not None:
            self._console.clear()

    def flush(self) -> None:
        """Everything so far is there to be seen."""
        (self._file or sys.stdout).flush()

    def _put(self, drawn: "RenderableType", *, is_cut: bool = False, is_unbroken: bool = False) -> None:
        from agents_ledger.cli.safe import Safe  # noqa: PLC0415 - terminals only

        assert self._console is not None, "only a terminal draws"  # noqa: S101
        if is_cut:
            self._console.print(Safe(drawn), no_wrap=True, overflow="ellipsis", crop=True)
        else:
            self._console.print(Safe(drawn), soft_wrap=is_unbroken)


@contextmanager
def paged(*, is_wanted: bool | None) -> Iterator[Screen]:
    """The screen; on a terminal with a pager in front of it, if what comes is long."""
    if is_wanted is False or not sys.stdout.isatty():
        yield Screen()
        return
    from agents_ledger.cli import pager  # noqa: PLC0415 - terminals only

    with pager.paged(is_wanted=is_wanted) as file:
        yield Screen(file)


def _texts(cells: Sequence[Sequence[tuple[str, str]]]) -> list[list[str]]:
    return [[text for text, _ in row] for row in cells]


def _shown(
    columns: Sequence[str], natural: Sequence[int], elastic: set[int], optional: Sequence[str], width: int
) -> list[int]:
    """The columns that a terminal has room for."""
    shown = list(range(len(columns)))
    for name in optional:
        needed = sum(min(natural[at], _LEAST) if at in elastic else natural[at] for at in shown)
        if needed + _GAP * (len(shown) - 1) <= width:
            break
        shown = [at for at in shown if columns[at] != name]
    return shown


def _widths(shown: Sequence[int], natural: Sequence[int], elastic: set[int], width: int) -> dict[int, int]:
    """How wide each column is: those that are elastic share what the others leave, the narrow ones first."""
    found = {at: natural[at] for at in shown}
    room = width - _GAP * (len(shown) - 1) - sum(natural[at] for at in shown if at not in elastic)
    waiting = sorted((at for at in shown if at in elastic), key=lambda at: natural[at])
    while waiting:
        at, *rest = waiting
        found[at] = max(min(natural[at], room // len(waiting)), 1)
        room, waiting = room - found[at], rest
    return found


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
    import unicodedata  # noqa: PLC0415 - most texts are ASCII

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


def _console(file: IO[str] | None) -> "Console":
    """The terminal; `file` leads there through a pager, whose width and colours are the terminal's."""
    from agents_ledger.cli.safe import THEME, Terminal  # noqa: PLC0415 - terminals only

    make: Callable[..., Console] = partial(
        Terminal, highlight=False, markup=False, emoji=False, soft_wrap=False, theme=THEME
    )
    here = make()
    if file is None:
        return here
    return make(file=file, force_terminal=True, color_system=here.color_system, width=here.width)


def _text(parts: Iterable[tuple[str, str]]) -> "Text":
    from rich.text import Text  # noqa: PLC0415 - terminals only

    return Text.assemble(*parts)
