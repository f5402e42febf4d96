"""Every entry on the active chain of every file is under the head that was imported, judged by an outside reader."""

import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from agents_ledger.capture.sync import Sync
from agents_ledger.ledger import Ledger
from agents_ledger.model.formats import Machine
from oracles.native_chains import Entry, chain_of
from oracles.ours import SHARED, places

_PLACE = re.compile(r"(\d+):(\d+)\+(\d+)")
_UNDER_HEAD = """
WITH RECURSIVE path(id) AS (
    SELECT s.thread_id FROM sessions s JOIN session_captures c ON c.session_label = s.label
    WHERE c.capture_id = :capture
    UNION SELECT t.parent_turn_id FROM path JOIN turns t ON t.id = path.id WHERE t.parent_turn_id IS NOT NULL)
SELECT t.evidence, t.native_id, NULL FROM turns t JOIN path USING (id)
UNION ALL SELECT m.evidence, m.native_id, m.content FROM messages m JOIN path ON path.id = m.turn_id
UNION ALL SELECT c.evidence, c.native_id, NULL FROM tool_calls c JOIN path ON path.id = c.turn_id
"""


def files() -> list[Path]:
    """All files of real agents and people that are here."""
    folders = places(SHARED / "fixtures", SHARED / "corpus")
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())


def _whole(family: str, path: Path) -> Path:
    """What has to be captured together with a file: AgentUse keeps a session as a folder."""
    if family != "agentuse":
        return path
    return next(folder for folder in path.parents if folder.parent.name == "session")


def judged(path: Path) -> tuple[str, list[Entry], list[Entry]] | None:
    """A file's family, the entries of its chain, and those of them that are not under the head."""
    found = chain_of(path)
    if found is None:
        return None
    family, chain = found
    with TemporaryDirectory() as folder:
        with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
            Sync(ledger, Machine(folder, {}, "linux")).run([str(_whole(family, path))])
        with closing(sqlite3.connect(f"{folder}/ledger.db")) as db:
            captures = db.execute("SELECT id FROM captures WHERE path = ?", (str(path),)).fetchall()
            if not captures:
                return None if not chain else (family, chain, chain)
            rows = db.execute(_UNDER_HEAD, {"capture": captures[0][0]}).fetchall()
    found_at = [place for evidence, _, _ in rows for place in _PLACE.findall(evidence or "")]
    under = {int(offset) for capture, offset, _ in found_at if int(capture) == captures[0][0]}
    known = {text for _, native_id, content in rows for text in (native_id, content) if text is not None}
    return (
        family,
        chain,
        [entry for entry in chain if entry.offset not in under and not known & {entry.id, entry.words}],
    )


def test_every_entry_on_a_native_chain_is_under_the_head(capsys: pytest.CaptureFixture[str]) -> None:
    counted: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    entries: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    wrong = []
    for path in files():
        found = judged(path)
        if found is None:
            skipped[path.suffix] += 1
            continue
        family, chain, missing = found
        counted[family] += 1
        entries[family] += len(chain)
        lost[family] += len(missing)
        if missing:
            wrong.append(f"{path}: {len(missing)} of {len(chain)}, first at byte {missing[0].offset}")
    with capsys.disabled():
        print()
        for family in sorted(entries):
            under = entries[family] - lost[family]
            print(f"{family}: {counted[family]} files, {entries[family]} entries on the chain, {under} under the head")
        print(f"not judged, no reader for them: {dict(skipped)}")
    assert sum(entries.values()) > 0
    assert not wrong, "\n".join(wrong)
