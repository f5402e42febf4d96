"""The tables of docs/words.md that say which column of a face is what."""

import re
from pathlib import Path

from msgspec import Struct

WORDS = Path(__file__).parents[2] / "docs" / "words.md"
_ROW = re.compile(r"^\|(.+)\|$")


class Word(Struct, frozen=True):
    """One column: what each system calls it, and the SQL over our own tables that gives it."""

    names: dict[str, str]  # by system; those that do not have it are missing
    ours: str | None
    relation: str  # '' (equal), 'end of', 'in'

    def of(self, system: str) -> str:
        """Its name in a system."""
        return self.names[system]


def words(heading: str) -> list[Word]:
    """The rows of the table below a heading."""
    below = WORDS.read_text("utf-8").split(f"\n### {heading}\n")[1].split("\n#")[0]
    rows = [_cells(line) for line in below.splitlines() if _ROW.match(line)]
    head, _, *body = rows
    return [_word(head, cells) for cells in body]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\|)\|(?!\|)", line.strip("|"))]


def _word(head: list[str], cells: list[str]) -> Word:
    at = head.index("ours")
    names = {name: cell.strip("`") for name, cell in zip(head[:at], cells[:at], strict=True) if "`" in cell}
    told = re.fullmatch(r"(end of|in)? ?`(.+)`", cells[at])
    return Word(names, told[2] if told else None, (told[1] or "") if told else "")
