"""What each face says of each golden folder, as before. `make golden` writes what it says now: read the difference."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agents_ledger import Ledger
from agents_ledger.faces.tables import TABLES, Table
from tests.capture.folders import GOLDEN, Case, copy, names, opened, sync

ANSWERS = Path(__file__).parents[1] / "golden_faces"
_LONGEST = 200  # characters of a text; the golden folder itself has all of it


@pytest.mark.parametrize("name", names())
def test_the_faces_say_of_a_golden_folder_what_they_said(name: str, tmp_path: Path) -> None:
    source = copy(Case(GOLDEN / name).source, tmp_path / "source")
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, source)
        text = "".join(line + "\n" for table in TABLES.values() for line in answers(ledger, table))
    text = text.replace(str(tmp_path), "")
    path = ANSWERS / f"{name}.jsonl"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"{name} has no answers yet: `make golden` writes them"
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def answers(ledger: Ledger, table: Table) -> list[str]:
    """The rows of a table, session by session, a line each. AIX's messages, turns and calls are Mnemonic's."""
    if table.system == "aix" and table.by_session:
        return []
    sessions = [row.id for row in TABLES["agent_sessions"].page(ledger, "", None, 10_000)]  # type: ignore[attr-defined]
    pages = [table.page(ledger, each, None, 10_000) for each in (sessions if table.by_session else [""])]
    return [_line(table, row) for page in pages for row in page]


def _line(table: Table, row: Any) -> str:
    told = {name: _short(value) for name, value in msgspec.structs.asdict(row).items() if value is not None}
    return msgspec.json.encode({"table": table.name, **told}).decode()


def _short(value: Any) -> Any:
    return f"{value[:_LONGEST]}… {len(value)}" if isinstance(value, str) and len(value) > _LONGEST else value
