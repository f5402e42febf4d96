"""`ldg sync --full`."""

import os
from pathlib import Path

from tests.cli.conftest import Ldg


def test_a_full_sync_finds_a_session_that_was_rewritten_in_place(home: Path, tmp_path: Path) -> None:
    ldg = Ldg(str(tmp_path / "new.db"))
    first = ldg.json("sync")
    path = next((home / ".claude" / "projects").rglob("*.jsonl"))
    facts, data = path.stat(), path.read_bytes()
    assert b"timestamp" in data
    path.write_bytes(data.replace(b'Z"', b'z"', 1))  # any byte
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert ldg.json("sync")["rewritten"] == 0
    full = ldg.json("sync", "--full")
    assert full["rewritten"] == 1
    assert full["found"] == first["found"]
    assert ldg.json("sync", "--full")["rewritten"] == 0
    assert ldg.json("verify")["good"]
