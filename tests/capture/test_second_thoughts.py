"""Second thoughts: what was read at a bad time is read anew, and nothing that was sealed changes by it."""

import os
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random

import apsw
import pytest

from agents_ledger import Ledger
from agents_ledger.capture import turnstile
from agents_ledger.capture.discover import below
from agents_ledger.capture.export import slices
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.capture.summary import Summary
from agents_ledger.capture.sync import Sync
from agents_ledger.capture.taking import Taking
from agents_ledger.errors import NotFound
from agents_ledger.formats import formats
from agents_ledger.ledger.stats import Line, tokens
from agents_ledger.model.rules import RETRACTED
from tests.capture.folders import (
    GOLDEN,
    MACHINE,
    assert_sound,
    copy,
    counts,
    files_below,
    is_lines,
    opened,
    rows,
    said_by,
    sync,
    write,
)

IMPORTED = GOLDEN / "gemini" / "imported-and-forked" / "source"
_ORIGIN = "session-2026-11-16T09-40-cc21d0a2.jsonl"  # one of its copies says less of the same turns
_HEADS = "SELECT label, thread_id FROM sessions ORDER BY label"
_SEALED = "SELECT * FROM turns WHERE seal_seq > 0 ORDER BY id"
GROWING = (
    "agentuse/every-part",
    "claude-code/cli-fork-of-2.1.325",
    "codex/fork-by-reference",
    "gemini/imported-and-forked",
    "opencode/tree-of-1.1",
    "pi/full-copy-and-branched-copy",
    "pi/written-by-the-store",
)
_SEEDS = int(os.environ.get("GROWTHS", "1"))  # how often, each time otherwise
_LINKS = """SELECT s.label, s.parent_session_label, c.native_id, x.turn_id FROM sessions s
    LEFT JOIN tool_calls c ON c.id = s.spawn_tool_call_id AND c.turn_id = s.parent_turn_id
    LEFT JOIN superseded x ON x.turn_id = c.turn_id ORDER BY s.label"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Sessions of which one takes in another."""
    return copy(IMPORTED, tmp_path / "source")


def _mislead(ledger: Ledger, source: Path) -> Ledger:
    """Lets a ledger read everything but the origin of a copy."""
    sync(ledger, *(path for path in source.rglob("*.jsonl") if path.name != _ORIGIN))
    return ledger


@pytest.fixture
def misled(source: Path, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger in a file that has read everything but the origin of a copy."""
    with opened(tmp_path / "ledger.db") as ledger:
        yield _mislead(ledger, source)


def _parts(ledger: Ledger) -> list[dict[str, object]]:
    sealed = "turn_id IN (SELECT id FROM turns WHERE seal_seq > 0)"
    return [
        row
        for table in ("messages", "tool_calls")
        for row in rows(ledger, f"SELECT * FROM {table} WHERE {sealed} ORDER BY id")  # noqa: S608 - both tables
    ]


def test_what_was_sealed_stays_as_it_was_and_names_what_stands_for_it(
    ledger: Ledger, source: Path, tmp_path: Path
) -> None:
    misled = _mislead(ledger, source)
    sealed, parts = rows(misled, _SEALED), _parts(misled)
    sync(misled, source)
    now = {row["id"]: {**row, "has_children": None} for row in rows(misled, "SELECT * FROM turns")}
    assert [now[row["id"]] for row in sealed] == [{**row, "has_children": None} for row in sealed]
    assert all(row in _parts(misled) for row in parts)
    fallen = rows(misled, "SELECT turn_id, by_turn_id FROM superseded ORDER BY turn_id")
    assert fallen
    for row in fallen:
        old, new = now[row["turn_id"]], now[row["by_turn_id"]]
        assert old["native_id"] == new["native_id"]
        assert (old["total_tokens"], old["parent_turn_id"]) != (new["total_tokens"], new["parent_turn_id"])
    with opened(tmp_path / "whole.db") as whole:
        sync(whole, source)
        assert said_by(misled) == said_by(whole)


def test_a_second_sync_has_no_second_thoughts(misled: Ledger, source: Path) -> None:
    sync(misled, source)
    before = counts(misled)
    sync(misled, source)
    for path in source.rglob("*.jsonl"):
        path.touch()
    sync(misled, source)
    assert counts(misled) == before
    assert_sound(misled)


def test_whoever_is_stopped_before_leaves_them_to_the_next(misled: Ledger, source: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "whole.db") as whole:
        sync(whole, source)
        wanted = said_by(whole)
    found = [(each, None) for each in below(str(source)) if each.name.endswith(_ORIGIN)]
    watch = Sync(misled, MACHINE)
    watch.run([str(path) for path in source.rglob("*.jsonl") if path.name != _ORIGIN])
    with turnstile.alone(misled):
        Taking(misled).take_all(found, (), list(formats()), Summary())  # a sync, but for its last step
    assert said_by(misled) != wanted
    watch.run([str(source)])  # nothing is new by now
    assert said_by(misled) == wanted


def test_a_session_that_somebody_rewound_stays_where_it_is(misled: Ledger, source: Path) -> None:
    label = "gemini:d9b90edf-873a-4020-b744-e2c3bea73608"  # not one of those that fall
    head = next(row["thread_id"] for row in rows(misled, _HEADS) if row["label"] == label)
    [above] = rows(misled, f"SELECT parent_turn_id FROM turns WHERE id = '{head}'")  # noqa: S608 - as above
    misled.rewind(label, str(above["parent_turn_id"]))
    sync(misled, source)
    assert rows(misled, "SELECT turn_id FROM superseded")
    assert misled.session(label).thread_id == above["parent_turn_id"]


def test_what_is_told_again_stands_again(tmp_path: Path) -> None:
    source = copy(GOLDEN / "agentuse" / "every-part" / "source", tmp_path / "source")
    part = next(path for path in source.rglob("*.json") if b'"I will look."' in path.read_bytes())
    said = part.read_bytes()
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, source)
        wanted, standing = said_by(ledger), len(rows(ledger, "SELECT id FROM turns"))
        part.write_bytes(said.replace(b'"I will look."', b'"I will see."'))
        sync(ledger, source)
        fallen = {str(row["turn_id"]) for row in rows(ledger, "SELECT turn_id FROM superseded")}
        assert len(fallen) >= 1
        assert said_by(ledger) != wanted
        part.write_bytes(said)
        sync(ledger, source)
        assert_sound(ledger)
        again = {str(row["turn_id"]) for row in rows(ledger, "SELECT turn_id FROM superseded")}
        assert not again & fallen
        assert len(rows(ledger, "SELECT id FROM turns")) == standing + len(again)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE superseded SET turn_id = (SELECT max(id) FROM turns) WHERE turn_id = FIRST",
        "UPDATE superseded SET by_turn_id = NULL WHERE turn_id = FIRST",
        "UPDATE superseded SET at = at + 1 WHERE turn_id = FIRST",
        "DELETE FROM superseded WHERE turn_id = FIRST",
        "INSERT INTO superseded SELECT max(id), NULL, 0 FROM turns",
    ],
)
def test_a_mark_that_was_changed_is_found(misled: Ledger, source: Path, tmp_path: Path, change: str) -> None:
    sync(misled, source)
    [(first,)] = misled.database.query("SELECT min(turn_id) FROM superseded")[1]
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as file:
        file.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        file.execute(change.replace("FIRST", f"'{first}'"))
    assert {finding.place for finding in misled.verify().findings} == {"superseded"}


@pytest.mark.parametrize("seed", range(_SEEDS))
@pytest.mark.parametrize("name", GROWING)
def test_files_that_grow_in_turns_end_in_the_same_ledger(name: str, seed: int, tmp_path: Path) -> None:
    source = copy(GOLDEN / name / "source", tmp_path / "source")
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, source)
        wanted, links, spent = said_by(ledger), rows(ledger, _LINKS), _spent(ledger)
    with opened(tmp_path / "grown.db") as ledger:
        for path, piece, tick in _growth(source, Random(f"{name} {seed}")):  # noqa: S311 - the same pieces each time
            write(path, piece, tick)
            sync(ledger, path)
        assert said_by(ledger) == wanted
        assert rows(ledger, _LINKS) == links
        assert _spent(ledger) == spent
        assert rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}").same


def _spent(ledger: Ledger) -> list[Line]:
    """The tokens of each model."""
    return tokens(ledger.database, by=("model",)).lines


def _growth(source: Path, chance: Random) -> Iterator[tuple[Path, bytes, int]]:
    """All files of a folder, piece by piece: lines in pieces that end anywhere, others whole; whichever comes next."""
    left = {path: path.read_bytes() for path in files_below(source)}
    ends = dict.fromkeys(left, 0)
    for path in left:
        path.unlink()
    for tick in count():
        if not left:
            return
        path = chance.choice(sorted(left))
        data = left[path]
        ends[path] += chance.randrange(1, max(2, len(data) // 2)) if is_lines(path) else len(data)
        yield path, data[: ends[path]], 0 if ends[path] >= len(data) else tick
        if ends[path] >= len(data):
            del left[path]


def test_what_a_source_told_once_was_not_written_here(tmp_path: Path) -> None:
    """Retracted turns and superseded ones have no evidence to be rebuilt from, and are not missed."""
    source = copy(GOLDEN / "pi" / "written-by-the-store" / "source", tmp_path / "source")
    with opened(tmp_path / "ledger.db") as ledger:
        for path in files_below(source):
            sync(ledger, path)
        found = [str(row["id"]) for row in rows(ledger, f"SELECT id FROM turns WHERE error = '{RETRACTED}'")]  # noqa: S608
        assert len(found) == 1
        report = rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}")
        assert (report.same, report.not_rebuilt) == (True, 0)
        with pytest.raises(NotFound, match="retracted"):
            list(slices(ledger, found[0]))
