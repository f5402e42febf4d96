"""Nothing is lost: not what other tools drop, not what a source drops of itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture import export
from agents_ledger.capture.operations import Grow, PutBlock
from agents_ledger.capture.taking import Taking
from agents_ledger.ledger import evidence
from tests.capture import told
from tests.capture.folders import (
    GOLDEN,
    assert_sound,
    copy,
    counts,
    files_below,
    opened,
    rows,
    said_by,
    sync,
    write,
)

LABEL = f"claude-code:{told.SESSION}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the transcript lies."""
    return tmp_path / "source" / f"{told.SESSION}.jsonl"


def captured(ledger: Ledger, label: str = LABEL) -> bytes:
    """All evidence of a session."""
    return b"".join(chunk for capture in export.resolve(ledger, label) for chunk in export.raw(ledger, capture))


def turns(ledger: Ledger) -> list[dict[str, Any]]:
    """What all turns say, by their ids."""
    messages = rows(
        ledger, "SELECT turn_id, sequence, role, content, thinking FROM messages ORDER BY turn_id, sequence"
    )
    calls = rows(
        ledger, "SELECT turn_id, tool_name, params_json, result_json FROM tool_calls ORDER BY turn_id, sequence"
    )
    found = rows(ledger, "SELECT id, parent_turn_id FROM turns ORDER BY id")
    for turn in found:
        turn["messages"] = [row for row in messages if row["turn_id"] == turn["id"]]
        turn["calls"] = [row for row in calls if row["turn_id"] == turn["id"]]
    return found


def leaves(ledger: Ledger) -> list[str]:
    """The last words of every branch."""
    sql = (
        "SELECT m.content AS words FROM turns t JOIN messages m ON m.turn_id = t.id AND m.sequence ="
        " (SELECT max(sequence) FROM messages WHERE turn_id = t.id)"
        " WHERE NOT EXISTS (SELECT 1 FROM turns c WHERE c.parent_turn_id = t.id) ORDER BY words"
    )
    return [str(row["words"]) for row in rows(ledger, sql)]


# --- what other tools drop ----------------------------------------------------------------------------------------


def test_everything_planted_is_in_the_evidence_and_texts_are_in_rows(path: Path, tmp_path: Path) -> None:
    write(path, data := told.written(told.marked()))
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, path)
        assert_sound(ledger)
        assert captured(ledger) == data
        said = json.dumps(rows(ledger, "SELECT content, thinking, blocks_json FROM messages"))
        done = json.dumps(rows(ledger, "SELECT params_json, result_json FROM tool_calls"))
        known = json.dumps(rows(ledger, "SELECT * FROM session_details"), default=str)
        wrong = {(row["code"]) for row in rows(ledger, "SELECT code FROM problems")}
    assert all(f"MARK-{word}" in said for word in ("question", "thought", "answer", "done", "look", "end"))
    assert all(f"MARK-{word}" in done for word in ("path", "read-output", "new", "edited"))
    assert "MARK-summary" in known
    assert {"broken-line", "unknown-entry"} <= wrong


@pytest.mark.parametrize(
    ("sql", "marks"),
    [
        ("SELECT id FROM messages WHERE thinking = 'MARK-thought'", ["MARK-signature=="]),
        ("SELECT id FROM messages WHERE content = 'MARK-done'", ["MARK-redacted"]),
        ("SELECT id FROM messages WHERE content = 'MARK-look'", [told.IMAGE]),
        ("SELECT id FROM tool_calls WHERE tool_name = 'Read'", ["MARK-read-output", "MARK-file-content"]),
        ("SELECT id FROM tool_calls WHERE tool_name = 'Edit'", ["MARK-original", "MARK-patch", "MARK-old"]),
    ],
)
def test_what_a_row_does_not_hold_is_found_in_its_slices(
    path: Path, tmp_path: Path, sql: str, marks: list[str]
) -> None:
    write(path, told.written(told.marked()))
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, path)
        [row] = rows(ledger, sql)
        found = b"\n".join(export.slices(ledger, str(row["id"])))
    assert all(mark.encode() in found for mark in marks), found


def test_a_broken_line_can_be_found_by_its_problem(path: Path, tmp_path: Path) -> None:
    write(path, data := told.written(told.marked()))
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, path)
        [problem] = rows(ledger, "SELECT place FROM problems WHERE code = 'broken-line'")
    assert data[int(str(problem["place"])) :].split(b"\n")[0].endswith(b"MARK-broken")


# --- what a source drops of itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [1, 5, 20])
def test_a_source_rewritten_to_its_last_lines_loses_nothing(path: Path, tmp_path: Path, kept: int) -> None:
    lines = told.talk(20)
    write(path, whole := told.written(lines))
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, path)
        before = turns(ledger)
        write(path, told.written(lines[-kept:]), tick=1)
        summary = sync(ledger, path)
        assert (summary.rewritten, summary.new_turns) == (1, 0)
        assert turns(ledger) == before
        assert whole in captured(ledger)
        write(path, told.written([*lines[-kept:], *told.talk(1, 41, 40)]), tick=2)
        assert sync(ledger, path).new_turns == 1
        assert leaves(ledger) == ["answer 41"]
        assert_sound(ledger)


def test_a_session_compacted_by_clawdbot_is_one_history(tmp_path: Path) -> None:
    folder = copy(GOLDEN / "pi" / "clawdbot-cut-with-bak" / "source", tmp_path / "source")
    [archive] = [file for file in files_below(folder) if ".bak." in file.name]
    live = archive.with_name("cut-1.jsonl")
    cut, whole = live.read_bytes(), archive.read_bytes()
    archive.unlink()
    write(live, whole)
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, folder)
        before = turns(ledger)
        write(archive, whole, tick=1)
        write(live, cut, tick=1)
        sync(ledger, folder)
        after = {turn["id"]: turn for turn in turns(ledger)}
        assert_sound(ledger)
        ids = {turn["id"] for turn in before}
        assert ids <= after.keys()
        assert [turn["id"] for turn in after.values() if turn["parent_turn_id"] is None] == [
            turn["id"] for turn in before if turn["parent_turn_id"] is None
        ]
        assert len(rows(ledger, "SELECT label FROM sessions")) == 1


def test_a_deleted_source_is_gone_and_everything_it_said_stays(path: Path, tmp_path: Path) -> None:
    write(path, data := told.written(told.marked()))
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, path)
        before, sizes = turns(ledger), counts(ledger)
        path.unlink()
        assert sync(ledger, path.parent).gone == 1
        assert sync(ledger, path.parent).gone == 0
        assert rows(ledger, "SELECT state FROM captures") == [{"state": "gone"}]
        assert (turns(ledger), counts(ledger), captured(ledger)) == (before, sizes, data)
        assert_sound(ledger)
        write(path, data, tick=1)
        sync(ledger, path.parent)
        assert (turns(ledger), counts(ledger)) == (before, sizes)
        assert rows(ledger, "SELECT state FROM captures") == [{"state": "current"}]


def test_short_abandoned_branches_stay_branches(path: Path, tmp_path: Path) -> None:
    lines = [
        *told.talk(2),
        told.user(5, 2, "never answered"),
        told.user(6, 2, "asked again"),
        told.answer(7, 6, told.text("kept")),
        told.user(8, None, "a new beginning"),
        told.answer(9, 8, told.text("and its end")),
    ]
    write(path, told.written(lines))
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, path)
        assert leaves(ledger) == ["and its end", "answer 3", "kept", "never answered"]
        assert_sound(ledger)


# --- what it costs ------------------------------------------------------------------------------------------------


def test_a_source_that_grew_is_read_from_its_end(path: Path, tmp_path: Path) -> None:
    lines = told.talk(1500)
    write(path, whole := told.written(lines))
    more = told.written(told.talk(1, 3001, 3000))
    with opened(tmp_path / "ledger.db") as ledger:
        assert sync(ledger, path).bytes_read == len(whole)
        write(path, whole + more, tick=1)
        summary = sync(ledger, path)
        assert (summary.grown, summary.new_turns) == (1, 1)
        assert summary.bytes_read == len(more)
        assert sync(ledger, path).bytes_read == 0


def test_what_was_kept_and_not_read_when_somebody_was_stopped_is_read_by_the_next(tmp_path: Path) -> None:
    source = copy(GOLDEN / "codex" / "tools" / "source", tmp_path / "source")
    (file,) = files_below(source)
    data = file.read_bytes()
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, source)
        whole = said_by(ledger)
    with opened(tmp_path / "ledger.db") as ledger:
        write(file, data[: len(data) // 2])
        sync(ledger, source)
        writer, block = Taking(ledger).writer, evidence.pack(data)
        writer.add(PutBlock(1, 0, block))
        writer.add(Grow(1, len(data), evidence.digest_of([block.digest])))
        writer.flush()
        write(file, data, tick=1)
        sync(ledger, source)
        assert said_by(ledger) == whole


def test_what_stands_in_two_sources_is_kept_once(path: Path, tmp_path: Path) -> None:
    write(path, data := told.written(told.talk(30)))
    write(path.parent / "copy" / path.name, data)
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, path.parent)
        assert len(rows(ledger, "SELECT id FROM captures")) == 2
        assert len(rows(ledger, "SELECT id FROM blocks")) == 1
        assert len(leaves(ledger)) == 1
