"""Golden folders: sources of agents, each with what the ledger makes of them; and copies of them to work on."""

import os
import shutil
from collections.abc import Iterable
from datetime import UTC
from pathlib import Path

from agents_ledger import Ledger
from agents_ledger.capture.summary import Summary
from agents_ledger.capture.sync import Sync
from agents_ledger.ledger.digest import digest
from agents_ledger.ledger.stats import tokens
from agents_ledger.model.formats import Machine
from tests.support.databases import empty_file

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
SHARED = ROOT.parent / "shared"
MACHINE = Machine(home="/nowhere", environ={}, platform="linux")
_WHEN_S = 1_794_800_000  # every copy is as old as the others, whenever it was checked out


class Case:
    """One golden folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.format = folder.parent.name
        self.name = f"{self.format}/{folder.name}"
        self.source = folder / "source"

    def files(self) -> list[Path]:
        """Its source files, relative to `source`."""
        return [path.relative_to(self.source) for path in files_below(self.source)]


def cases() -> list[Case]:
    """All golden folders."""
    return [Case(folder) for folder in sorted(GOLDEN.glob("*/*")) if (folder / "source").is_dir()]


def names() -> list[str]:
    """Their names, as test ids."""
    return [case.name for case in cases()]


def files_below(folder: Path) -> list[Path]:
    """All files below a folder, in the order of their names."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def copy(source: Path, target: Path) -> Path:
    """A copy of a folder, with times that are always the same."""
    shutil.copytree(source, target)
    for path in files_below(target):
        os.utime(path, (_WHEN_S, _WHEN_S))
    return target


def write(path: Path, data: bytes, tick: int = 0) -> None:
    """Writes a file as an agent would have, so many ticks after the others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (_WHEN_S + tick, _WHEN_S + tick))


def sync(ledger: Ledger, *paths: Path) -> Summary:
    """One sync of some paths, by a process of its own as it were."""
    return Sync(ledger, MACHINE).run([str(path) for path in paths])


def opened(path: Path) -> Ledger:
    """A new ledger in a file."""
    shutil.copyfile(empty_file(), path)
    return Ledger.open(f"sqlite:///{path}")


def said_by(ledger: Ledger) -> str:
    """The digest of a ledger that was found to be sound."""
    assert_sound(ledger)
    return digest(ledger.database)


def counted_by(ledger: Ledger) -> dict[tuple[str | None, ...], int]:
    """The tokens by day and model, every call once; plain SQL over the view agrees."""
    lines = tokens(ledger.database, by=("day", "model"), zone=UTC).lines
    apart = """SELECT coalesce(sum(t.total_tokens), 0) FROM turns t
        WHERE t.id NOT IN (SELECT turn_id FROM usages) AND t.id NOT IN (SELECT turn_id FROM superseded)"""
    plain = f"SELECT coalesce((SELECT sum(total_tokens) FROM usages_once), 0) + ({apart})"  # noqa: S608 - ours
    assert sum(line.sums.total_tokens for line in lines) == ledger.database.query(plain)[1][0][0]
    return {line.key: line.sums.total_tokens for line in lines if line.sums.total_tokens}


def assert_sound(ledger: Ledger) -> None:
    """Nothing to find for `verify`, and the search index holds exactly the texts that are there."""
    report = ledger.verify()
    assert report.is_good, report.findings[:5]
    if ledger.database.dialect == "sqlite":
        ledger.database.ask("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")


def counts(ledger: Ledger) -> dict[str, int]:
    """How many rows each table has."""
    tables = sorted(table for table in ledger.database.tables() if "_fts" not in table and "search" not in table)
    sql = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables)  # noqa: S608
    return dict(ledger.database.query(sql)[1])


def rows(ledger: Ledger, sql: str) -> list[dict[str, object]]:
    """The rows of a query, by the names of their columns."""
    columns, found = ledger.database.query(sql)
    return [dict(zip(columns, row, strict=True)) for row in found]


def is_lines(path: Path) -> bool:
    """Whether a source grows line by line."""
    name = path.name
    return ".jsonl" in name and not name.endswith(".zst")


def relative(paths: Iterable[str], root: Path) -> list[str]:
    """Paths below a folder, as it names them."""
    return [path.removeprefix(f"{root}/") for path in paths]
