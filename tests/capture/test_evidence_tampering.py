"""Any change of evidence or usage behind the ledger's back is found, and what it hit is named."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from agents_ledger import Ledger
from tests.capture.folders import GOLDEN, copy, opened, sync

KEYS = {
    "usages": ("turn_id", "sequence"),
    "captures": ("id",),
    "blocks": ("id",),
    "capture_blocks": ("capture_id", "idx"),
}
FLIPS = 40
# What `verify` can't know, and why that is right.
FREE = {
    ("captures", "path"): "where a source lay: bytes are known by their content",
    ("captures", "bundle"): "as path",
    ("captures", "format"): "what it was taken for; reading it again would tell",
    ("captures", "kind"): "as format",
    ("captures", "shape"): "as format",
    ("captures", "generation"): "the order of a path's captures is that of their numbers",
    ("captures", "state"): "about the source, not about its bytes",
    ("captures", "modified_ns"): "as state",
    ("captures", "first_seen_at"): "when bytes came is not part of what they say",
    ("captures", "seen_at"): "as first_seen_at",
    ("captures", "read_bytes"): "where reading goes on; `rebuild` does without",
    ("captures", "resume"): "as read_bytes",
    ("captures", "awaits"): "as read_bytes",
    ("captures", "chain_entries"): "`verify --sources` counts again",
    ("captures", "chain_under_head"): "as chain_entries",
}


class Tampered:
    """A ledger of captured sources, and a raw connection that no guard stops."""

    def __init__(self, path: Path) -> None:
        self.ledger = Ledger.open(f"sqlite:///{path}")
        self._file = apsw.Connection(str(path))
        self._file.execute("PRAGMA foreign_keys=OFF; PRAGMA ignore_check_constraints=ON; PRAGMA synchronous=OFF")
        self._file.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)  # here alone: the schema stays as it is

    def rows(self, table: str, where: str = "TRUE") -> list[dict[str, Any]]:
        """The rows of a table."""
        columns, found = self.ledger.database.query(f"SELECT * FROM {table} WHERE {where} ORDER BY 1, 2")  # noqa: S608
        return [dict(zip(columns, row, strict=True)) for row in found]

    def put(self, table: str, row: dict[str, Any]) -> None:
        """Writes a row."""
        marks = ", ".join("?" for _ in row)
        self._file.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))  # noqa: S608

    def drop(self, table: str, row: dict[str, Any]) -> None:
        """Deletes a row."""
        where = " AND ".join(f"{key} = ?" for key in KEYS[table])
        self._file.execute(f"DELETE FROM {table} WHERE {where}", tuple(row[key] for key in KEYS[table]))  # noqa: S608
        assert self._file.changes() == 1

    def named(self, table: str, row: dict[str, Any], **changes: Any) -> set[tuple[str, str]]:
        """What `verify` names while a row says something else."""
        self.drop(table, row)
        self.put(table, row | changes)
        try:
            return self.findings()
        finally:
            self.drop(table, row | changes)
            self.put(table, row)

    def change(self, table: str, key: str, column: str, value: object) -> None:
        """Writes one value of the row with an id."""
        self._file.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (value, key))  # noqa: S608

    def findings(self) -> set[tuple[str, str]]:
        """What `verify` names."""
        return {(finding.place, finding.row) for finding in self.ledger.verify().findings}

    def close(self) -> None:
        """Closes both connections."""
        self.ledger.close()
        self._file.close()


@pytest.fixture(scope="module")
def tampered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tampered]:
    """Two sources, one of two blocks, and a way past the guards."""
    folder = tmp_path_factory.mktemp("tampered")
    source = copy(GOLDEN / "claude-code" / "chat-with-tools" / "source", folder / "source")
    copy(GOLDEN / "pi" / "v3" / "source", folder / "source" / "pi")
    filler = b'{"type":"custom","id":"%08x","parentId":null,"timestamp":"2026-11-15T18:00:00.000Z","data":"%s"}\n'
    with next((source / "pi").glob("*.jsonl")).open("ab") as file:
        file.writelines(filler % (at, b"x" * 60_000) for at in range(10))
    with opened(folder / "ledger.db") as ledger:
        sync(ledger, source)
    with closing(Tampered(folder / "ledger.db")) as made:
        assert made.findings() == set()
        yield made
        assert made.findings() == set()


def others(value: Any) -> list[Any]:
    """Other values of a kind."""
    if isinstance(value, int):
        return [value + 1, value + 1000]
    if isinstance(value, bytes):
        return [value[:-1] + bytes([value[-1] ^ 1]), value[:-1], b""]
    return ["other"] if value is None else [value + "x", None]


@pytest.mark.parametrize("table", KEYS)
def test_a_change_of_any_column_is_found_and_its_row_is_named(tampered: Tampered, table: str) -> None:
    missed, misnamed, tried = [], [], 0
    sealed = "turn_id IN (SELECT id FROM turns WHERE seal_seq > 0)"
    row = tampered.rows(table, sealed if table == "usages" else "TRUE")[-1]
    for column in row:
        if (table, column) in FREE:
            continue
        for value in others(row[column]):
            try:
                found = tampered.named(table, row, **{column: value})
            except apsw.ConstraintError:
                tampered.put(table, row)
                continue  # the database itself refuses
            tried += 1
            if not found:
                missed.append((column, value))
            elif not found & about(table, row | {column: value}) | found & about(table, row):
                misnamed.append((column, value, found))
    assert missed == []
    assert misnamed == []
    assert tried >= len(row) - len([key for key in FREE if key[0] == table])


def about(table: str, row: dict[str, Any]) -> set[tuple[str, str]]:
    """What may be named for a row: itself, and what it is a part of."""
    if table == "usages":
        return {("turns", str(row["turn_id"])), ("usages", str(row["turn_id"]))}
    if table == "capture_blocks":
        return {
            ("captures", str(row["capture_id"])),
            ("capture_blocks", str(row["capture_id"])),
            ("blocks", str(row["block_id"])),
        }
    return {(table, str(row["id"]))}


@pytest.mark.parametrize("table", KEYS)
def test_a_row_that_is_gone_is_missed(tampered: Tampered, table: str) -> None:
    sealed = "turn_id IN (SELECT id FROM turns WHERE seal_seq > 0)"
    found = tampered.rows(table, sealed if table == "usages" else "TRUE")
    for row in (found[0], found[-1]):
        tampered.drop(table, row)
        assert tampered.findings(), row
        tampered.put(table, row)


@pytest.mark.parametrize("table", KEYS)
def test_a_row_that_was_added_is_found(tampered: Tampered, table: str) -> None:
    another: dict[str, dict[str, Any]] = {
        "usages": {"sequence": 99},
        "captures": {"id": 99, "generation": 99},
        "blocks": {"id": 99, "digest": b"x" * 32},
        "capture_blocks": {"idx": 99},
    }
    sealed = "turn_id IN (SELECT id FROM turns WHERE seal_seq > 0)"
    row = tampered.rows(table, sealed if table == "usages" else "TRUE")[-1] | another[table]
    tampered.put(table, row)
    assert tampered.findings()
    tampered.drop(table, row)


def test_a_flipped_bit_in_a_block_is_found_wherever_it_is(tampered: Tampered) -> None:
    random = Random(7)  # noqa: S311 - the same bits each time
    blocks = tampered.rows("blocks")
    assert len(blocks) >= 3
    for _ in range(FLIPS):
        row = random.choice(blocks)
        packed = bytearray(row["packed"])
        packed[random.randrange(len(packed))] ^= 1 << random.randrange(8)
        assert ("blocks", str(row["id"])) in tampered.named("blocks", row, packed=bytes(packed))


def test_two_blocks_that_changed_places_are_found(tampered: Tampered) -> None:
    [two] = [row["id"] for row in tampered.rows("captures") if row["size_bytes"] > 512 << 10]
    one, other = tampered.rows("capture_blocks", f"capture_id = {two}")
    for row, block in ((one, other["block_id"]), (other, one["block_id"])):
        tampered.drop("capture_blocks", row)
        tampered.put("capture_blocks", row | {"block_id": block})
    assert ("captures", str(two)) in tampered.findings()
    for row in (one, other):
        tampered.drop("capture_blocks", row)
        tampered.put("capture_blocks", row)


@pytest.mark.parametrize("table", ["turns", "messages", "tool_calls"])
def test_evidence_that_names_no_bytes_is_found(tampered: Tampered, table: str) -> None:
    row = tampered.rows(table, "evidence IS NOT NULL")[0]
    capture = tampered.rows("captures", f"id = {row['evidence'].partition(':')[0]}")[0]
    beyond = f"{capture['id']}:{capture['size_bytes']}+1"
    for other in ("999999:0+1", beyond, "x", "", f"{row['evidence']} 1", "-1:0+1", f"{capture['id']}:-5+1"):
        tampered.change(table, row["id"], "evidence", other)
        try:
            assert (table, row["id"]) in tampered.findings(), other
        finally:
            tampered.change(table, row["id"], "evidence", row["evidence"])
    assert tampered.findings() == set()


def test_a_turn_of_a_source_that_is_said_to_be_another_sessions_is_found(tampered: Tampered) -> None:
    """Where a session grew by it; one that a session jumped to may be told by several sources."""
    labels = [row["label"] for row in tampered.rows("sessions")]
    grown = {row["thread_id"] for row in tampered.rows("session_history", "reason = 'advance'")}
    missed = []
    assert grown
    for row in tampered.rows("turns", "evidence IS NOT NULL"):
        another = next(label for label in labels if label != row["session_label"])
        for other in ["evil", another] if row["id"] in grown else ["evil"]:
            tampered.change("turns", row["id"], "session_label", other)
            if ("turns", row["id"]) not in tampered.findings():
                missed.append((row["id"], other))
            tampered.change("turns", row["id"], "session_label", row["session_label"])
    assert missed == []
    assert tampered.findings() == set()
