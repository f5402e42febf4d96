"""Sessions of real programs and people, where they are at hand: what holds for golden folders holds for them."""

import shutil
from pathlib import Path
from random import Random

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.ledger import evidence
from tests.capture.cuts import cuts
from tests.capture.folders import (
    SHARED,
    assert_sound,
    copy,
    counted_by,
    counts,
    files_below,
    is_lines,
    opened,
    rows,
    said_by,
    sync,
    write,
)

OURS = ("agentuse", "claude", "clawdbot", "codex", "cursor", "openclaw", "pi")
FOLDERS = [
    f"{place}/{folder.name}"
    for place in ("fixtures", "corpus")
    if (SHARED / place).is_dir()
    for folder in sorted((SHARED / place).iterdir())
    if folder.is_dir() and folder.name.startswith(OURS)
]
# Files beside sessions that are none.
STRANGE = {"agents/main/agent/models.json": "clawdbot's and openclaw's list of models"}
_CUT_BYTES = 300_000  # no larger file is cut
_CUT_FILES = 3
pytestmark = pytest.mark.skipif(not FOLDERS, reason="../shared/fixtures and ../shared/corpus are not here")


@pytest.fixture(params=FOLDERS)
def folder(request: pytest.FixtureRequest) -> Path:
    """A folder of sessions; nothing writes there."""
    return SHARED / str(request.param)


def test_folders_that_come_one_after_the_other_say_the_same_in_any_order(tmp_path: Path) -> None:
    """Some sessions are in several folders, and go on differently there."""
    said = set()
    folders = [SHARED / name for name in FOLDERS if name.startswith(("fixtures/c", "fixtures/pi"))]
    for at, ordered in enumerate((folders, folders[::-1])):
        with opened(tmp_path / f"{at}.db") as ledger:
            for each in ordered:
                copy(each, tmp_path / "all" / each.name)
                sync(ledger, tmp_path / "all")
            assert_sound(ledger)
            said.add(said_by(ledger))
            assert rebuild(ledger, f"sqlite:///{tmp_path / f'{at}-rebuilt.db'}").same
        shutil.rmtree(tmp_path / "all")
    assert len(said) == 1


def test_everything_is_recognised_kept_sound_and_read_once(folder: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        first = sync(ledger, folder)
        strange = [Path(path).relative_to(folder).as_posix() for path in first.unrecognised]
        assert [path for path in strange if path not in STRANGE] == []
        assert (first.unreadable, first.turns > 0) == ([], True)
        before = counts(ledger)
        again = sync(ledger, folder)
        assert counts(ledger) == before
        assert (again.new, again.grown, again.rewritten, again.gone, again.bytes_read) == (0, 0, 0, 0, 0)
        assert rows(ledger, "SELECT path, detail FROM problems WHERE code = 'reader-failed'") == []
        _assert_kept(ledger, folder, set(first.unrecognised))
        said, counted = said_by(ledger), counted_by(ledger)
        report = rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}")
        assert report.same
    with Ledger.open(f"sqlite:///{tmp_path / 'rebuilt.db'}") as rebuilt:
        assert (said_by(rebuilt), counted_by(rebuilt)) == (said, counted)


def _assert_kept(ledger: Ledger, folder: Path, strange: set[str]) -> None:
    """The evidence of every file is its bytes."""
    found = {str(row["path"]): int(str(row["id"])) for row in rows(ledger, "SELECT id, path FROM captures")}
    with ledger.database.read() as tx:
        for path in files_below(folder):
            data = path.read_bytes()
            if data and str(path) not in strange and not data.startswith(b"SQLite"):
                assert b"".join(evidence.read(tx, found[str(path)])) == data, path


def test_cut_and_read_in_two_pieces_is_the_same(folder: Path, tmp_path: Path) -> None:
    source = copy(folder, tmp_path / "source")
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, source)
        whole = said_by(ledger)
    files = [path for path in files_below(source) if is_lines(path) and 1 < path.stat().st_size < _CUT_BYTES]
    random = Random(folder.name)  # noqa: S311 - the same files each time
    for path in random.sample(files, min(_CUT_FILES, len(files))):
        data = path.read_bytes()
        for at in cuts(data, 1, path.name):
            write(path, data[:at])
            with opened(tmp_path / f"{path.name}-{at}.db") as ledger:
                sync(ledger, source)
                assert_sound(ledger)
                write(path, data, tick=1)
                sync(ledger, source)
                assert said_by(ledger) == whole, f"{path} cut at {at}"


def test_any_order_of_files_is_the_same(folder: Path, tmp_path: Path) -> None:
    said = []
    for seed in range(2):
        files = files_below(folder)
        Random(seed).shuffle(files)  # noqa: S311 - as above
        with opened(tmp_path / f"{seed}.db") as ledger:
            for path in files if seed else [folder]:
                sync(ledger, path)
            said.append((said_by(ledger), counted_by(ledger)))
    assert said[0] == said[1]
