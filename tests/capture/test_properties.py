"""What is true for every golden folder, whatever is in it."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.capture.summary import Summary
from agents_ledger.ledger import evidence
from tests.capture.cuts import cuts, growth
from tests.capture.folders import (
    GOLDEN,
    Case,
    assert_sound,
    copy,
    counted_by,
    counts,
    files_below,
    is_lines,
    names,
    opened,
    rows,
    said_by,
    sync,
    write,
)
from tests.support.databases import PostgresServer
from tests.support.places import new_folder

_CUTS = int(os.environ.get("CUTS", "6"))  # for each file
_GROWN_LINES = 60  # a file that grows line by line has no more than so many
_ORDERS = 2
FORMATS = sorted({name.partition("/")[0] for name in names()})


# A copy that is there first seals a turn before its origin has said everything about it (its system prompt's hash).
OTHER_SEALS = {
    "claude-code/cli-fork-of-2.1.325",
}


# Small sources in which the tree was once wrong: these are cut and shuffled on PostgreSQL, too.
MINIMAL = (
    "codex/developer-message-inside-a-turn",
    "agentuse/unfinished-calls",
    "claude-code/children-before-parents",
    "claude-code/compaction-without-its-parent",
    "claude-code/parallel-calls-in-another-order",
    "pi/seed-shape-cut-with-bak",
)


class Captured(NamedTuple):
    """A golden folder's source at a place of its own, and what was made of it at once."""

    origin: Path
    source: Path
    file: Path
    summary: Summary
    said: str


@pytest.fixture(params=names(), scope="module")
def captured(request: pytest.FixtureRequest) -> Iterator[Captured]:
    """A golden folder, captured once for all tests of it."""
    origin = Case(GOLDEN / request.param).source
    with new_folder() as folder:
        source = copy(origin, folder / "source")
        with opened(folder / "whole.db") as ledger:
            summary, said = sync(ledger, source), said_by(ledger)
        yield Captured(origin, source, folder / "whole.db", summary, said)


@pytest.fixture
def source(captured: Captured) -> Path:
    """Its source, whatever the test before has done to it."""
    shutil.rmtree(captured.source, ignore_errors=True)
    return copy(captured.origin, captured.source)


@pytest.fixture
def ledger(captured: Captured, source: Path, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger that has captured it."""
    shutil.copyfile(captured.file, tmp_path / "ledger.db")
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as again:
        yield again


@pytest.fixture
def whole(captured: Captured) -> str:
    """The digest of everything read at once."""
    return captured.said


def test_second_sync_adds_nothing(captured: Captured, ledger: Ledger, source: Path) -> None:
    before = counts(ledger)
    again = sync(ledger, source)
    assert counts(ledger) == before
    assert (again.new, again.grown, again.rewritten, again.gone, again.new_turns) == (0, 0, 0, 0, 0)
    assert again.unchanged == captured.summary.found - len(captured.summary.unrecognised)
    for path in files_below(source):
        path.touch()  # a time is not a change
    sync(ledger, source)
    assert counts(ledger) == before
    assert_sound(ledger)


def test_cut_anywhere_and_read_in_two_pieces_is_the_same(source: Path, whole: str, tmp_path: Path) -> None:
    for path in filter(is_lines, files_below(source)):
        data = path.read_bytes()
        for at in cuts(data, _CUTS, path.name):
            target = tmp_path / f"cut-{path.name}-{at}.db"
            with opened(target) as ledger:
                write(path, data[:at])
                sync(ledger, source)
                assert_sound(ledger)
                write(path, data, tick=1)
                sync(ledger, source)
                assert said_by(ledger) == whole, f"{path.name} cut at {at}"
            target.unlink()
        write(path, data)


def test_growing_line_by_line_is_the_same(
    source: Path, whole: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    files = [path for path in files_below(source) if is_lines(path)]
    pieces = {path: growth(path.read_bytes())[:_GROWN_LINES] for path in files}
    full = {path: path.read_bytes() for path in files}
    with opened(tmp_path / "grown.db") as ledger:
        for path in files:
            write(path, b"")
        for path in files:
            for tick, piece in enumerate(pieces[path]):
                write(path, piece, tick)
                sync(ledger, path)
            write(path, full[path], len(pieces[path]))
        sync(ledger, source)
        assert said_by(ledger) == whole
        rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}")
        with Ledger.open(f"sqlite:///{tmp_path / 'rebuilt.db'}") as rebuilt:
            was = {row["id"]: row for row in _seals(ledger) if row["turn_hash"]}
            others = [row for row in _seals(rebuilt) if row["turn_hash"] and was.get(row["id"], row) != row]
        assert bool(others) == (request.node.callspec.params["captured"] in OTHER_SEALS), "the seals of what grew"


def test_any_order_of_files_is_the_same(source: Path, whole: str, tmp_path: Path) -> None:
    files = files_below(source)
    if len(files) == 1:
        return
    orders = [files, files[::-1]]
    for seed in range(_ORDERS):
        Random(seed).shuffle(shuffled := list(files))  # noqa: S311 - the same orders each time
        orders.append(shuffled)
    for number, order in enumerate(orders):
        with opened(tmp_path / f"order{number}.db") as ledger:
            for path in order:
                sync(ledger, path)
            assert said_by(ledger) == whole, [path.name for path in order]


def test_problems_that_are_over_are_not_listed(
    captured: Captured, ledger: Ledger, source: Path, tmp_path: Path
) -> None:
    """Files that came one by one, or were broken once, have the problems that they have in the end."""
    in_the_end = _problems(ledger)
    files = files_below(source)
    with opened(tmp_path / "late.db") as late:
        for path in reversed(files):
            sync(late, path)
        assert _problems(late) == in_the_end
    with opened(tmp_path / "broken.db") as broken:
        for path in filter(is_lines, files):
            write(path, b'{"broken\n' + path.read_bytes())
        sync(broken, source)
        shutil.rmtree(source)
        copy(captured.origin, source)
        for path in files:
            os.utime(path, (0, 0))
        sync(broken, source)
        assert _problems(broken) == in_the_end


def _problems(ledger: Ledger) -> list[dict[str, object]]:
    """What is wrong with the sources themselves."""
    return rows(
        ledger,
        """SELECT DISTINCT code, detail FROM problems
        WHERE code NOT IN ('changed-step', 'grew-after-seal') ORDER BY code, detail""",
    )


@pytest.mark.parametrize("form", FORMATS)
def test_any_order_of_cases_is_the_same(form: str, tmp_path: Path) -> None:
    cases = [name for name in names() if name.startswith(f"{form}/")]
    for name in cases:
        copy(Case(GOLDEN / name).source, tmp_path / "source" / name)
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, tmp_path / "source")
        whole = said_by(ledger), counted_by(ledger)
    for seed in range(_ORDERS + 1):
        Random(seed).shuffle(order := list(cases))  # noqa: S311 - as above
        with opened(tmp_path / f"order{seed}.db") as ledger:
            for name in order:
                sync(ledger, tmp_path / "source" / name)
            assert (said_by(ledger), counted_by(ledger)) == whole, order


def test_every_byte_is_kept(captured: Captured, ledger: Ledger, source: Path) -> None:
    kept = _kept(ledger)
    for path in files_below(source):
        if str(path) not in captured.summary.unrecognised and not _is_database(path):
            assert kept[str(path)] == path.read_bytes(), path


def test_rows_say_where_they_were_read(ledger: Ledger) -> None:
    captures = {row["id"]: row for row in rows(ledger, "SELECT id, path, shape, size_bytes FROM captures")}
    with ledger.database.read() as tx:
        data: dict[object, bytes] = {number: b"".join(evidence.read(tx, int(str(number)))) for number in captures}
    for table, texts in (
        ("turns", ()),
        ("messages", ("content", "thinking")),
        ("tool_calls", ()),
    ):
        for row in rows(ledger, f"SELECT * FROM {table}"):  # noqa: S608 - the tables above
            _assert_read_from(row, captures, data, texts)


def test_a_session_began_no_later_than_its_first_turn(ledger: Ledger) -> None:
    """Its file may be younger, and another one may have told of it first. Without turns it is as old as it says."""
    later = """SELECT s.label FROM sessions s LEFT JOIN session_details d ON d.session_label = s.label
        WHERE s.created_at > coalesce((SELECT min(t.started_at) FROM turns t WHERE t.session_label = s.label),
            d.started_at, s.created_at)"""
    assert rows(ledger, later) == []


def _assert_read_from(
    row: dict[str, object], captures: dict[object, dict[str, object]], data: dict[object, bytes], texts: tuple[str, ...]
) -> None:
    places = evidence.places(str(row["evidence"] or ""))
    assert places, row
    said = b""
    for number, offset, length in places:
        bytes_ = data[number]
        if bytes_.startswith(b"\x28\xb5\x2f\xfd"):
            return  # places are those of what is packed inside
        assert 0 <= offset < offset + length <= len(bytes_), row
        if captures[number]["shape"] == "lines":
            assert offset == 0 or bytes_[offset - 1 : offset] == b"\n", row
        said += bytes_[offset : offset + length]
    native = row["native_id"]
    if isinstance(native, str) and native.encode() in said:
        return
    words = [str(row[name]) for name in texts if row[name]]
    assert native is None or any(_is_in(word, said) for word in words) or not words, row


def _is_in(word: str, said: bytes) -> bool:
    """Whether the beginning of a text stands in some bytes, as JSON writes it."""
    start = word.split("\n", maxsplit=1)[0][:20]
    forms = {json.dumps(start)[1:-1].encode(), json.dumps(start, ensure_ascii=False)[1:-1].encode()}
    return any(form in said for form in forms)


def _kept(ledger: Ledger) -> dict[str, bytes]:
    """The evidence of every source as it is now."""
    found = rows(ledger, "SELECT id, path FROM captures WHERE state = 'current'")
    with ledger.database.read() as tx:
        return {str(row["path"]): b"".join(evidence.read(tx, int(str(row["id"])))) for row in found}


def _is_database(path: Path) -> bool:
    return path.read_bytes()[:6] == b"SQLite"


def test_rebuilt_from_evidence_alone_is_the_same(ledger: Ledger, source: Path, whole: str, tmp_path: Path) -> None:
    shutil.rmtree(source)
    report = rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}")
    assert report.same
    with Ledger.open(f"sqlite:///{tmp_path / 'rebuilt.db'}") as rebuilt:
        assert said_by(rebuilt) == said_by(ledger) == whole
        assert _seals(rebuilt) == _seals(ledger)
        assert _standing(rebuilt) == _standing(ledger)


@pytest.mark.parametrize("form", FORMATS)
def test_all_cases_together_have_the_same_ids_when_they_are_rebuilt(form: str, tmp_path: Path) -> None:
    source = copy(GOLDEN / form, tmp_path / "source")
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, source)
        rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}")
        with Ledger.open(f"sqlite:///{tmp_path / 'rebuilt.db'}") as rebuilt:
            assert _standing(rebuilt) == _standing(ledger)


def _standing(ledger: Ledger) -> list[dict[str, object]]:
    """What the agents call the messages of all turns that stand, and when they were said."""
    return rows(
        ledger,
        """SELECT id, turn_id, sequence, native_id, created_at FROM messages
        WHERE turn_id NOT IN (SELECT turn_id FROM superseded) ORDER BY id""",
    )


def _seals(ledger: Ledger) -> list[dict[str, object]]:
    """The seals of all turns that stand."""
    fallen = {row["turn_id"] for row in rows(ledger, "SELECT turn_id FROM superseded")}
    found = rows(ledger, "SELECT id, parent_turn_id, turn_hash FROM turns ORDER BY id")
    return [row for row in found if row["id"] not in fallen]


@pytest.mark.parametrize("form", FORMATS)
def test_both_databases_say_the_same(form: str, tmp_path: Path, server: PostgresServer) -> None:
    said = []
    copy(GOLDEN / form, tmp_path / "source")
    for url in (f"sqlite:///{tmp_path / 'ledger.db'}", server.new_url()):
        with Ledger.open(url) as ledger:
            sync(ledger, tmp_path / "source")
            said.append(said_by(ledger))
            sync(ledger, tmp_path / "source")
            assert said_by(ledger) == said[-1]
    assert said[0] == said[1]


@pytest.mark.parametrize("name", MINIMAL)
def test_any_cut_and_any_order_is_the_same_on_postgres(name: str, tmp_path: Path, server: PostgresServer) -> None:
    source = copy(Case(GOLDEN / name).source, tmp_path / "source")
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, source)
        whole = said_by(ledger)
    files = files_below(source)
    with Ledger.open(server.new_url()) as ledger:
        for path in reversed(files):
            sync(ledger, path)
        assert said_by(ledger) == whole
    for path in filter(is_lines, files):
        data = path.read_bytes()
        for piece in growth(data):
            with Ledger.open(server.new_url()) as ledger:
                write(path, piece)
                sync(ledger, source)
                write(path, data, tick=1)
                sync(ledger, source)
                assert said_by(ledger) == whole, f"{path.name} cut at {len(piece)}"
        write(path, data)
