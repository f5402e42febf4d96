"""What is captured on PostgreSQL is what is captured on SQLite: golden folders, fixtures, sessions of real people."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents_ledger import Ledger
from tests.capture.folders import GOLDEN, SHARED, cases, opened, said_by, sync
from tests.support.databases import PostgresServer

FORMATS = sorted({case.format for case in cases()})
IN_A_ROW = 20
LDG = str(Path(sys.executable).parent / "ldg")


@pytest.mark.parametrize("format_", FORMATS)
def test_golden_folders_give_the_same_ledger_on_both_engines(
    format_: str, server: PostgresServer, tmp_path: Path
) -> None:
    _assert_same([case.source for case in cases() if case.format == format_], server, tmp_path)


@pytest.mark.parametrize("name", ["fixtures", "corpus"])
def test_real_sessions_give_the_same_ledger_on_both_engines(name: str, server: PostgresServer, tmp_path: Path) -> None:
    if not (SHARED / name).is_dir():
        pytest.skip(f"there is no {SHARED / name} on this machine")
    _assert_same([SHARED / name], server, tmp_path)


@pytest.mark.skipif(not os.environ.get("SOAK"), reason="20 large syncs take minutes: `make soak`")
def test_twenty_syncs_in_a_row_succeed(server: PostgresServer) -> None:
    """Each into a database of its own, by `ldg` itself: the first sync of 70 MB used to fail three times of four."""
    places = [place for place in (SHARED / "fixtures", SHARED / "corpus") if place.is_dir()] or [GOLDEN]
    digests = set()
    for number in range(1, IN_A_ROW + 1):
        url = server.new_url()
        asked = [word for place in places for word in ("--path", str(place))]
        began = time.monotonic()
        done = subprocess.run([LDG, "--db", url, "sync", *asked], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"sync {number} of {IN_A_ROW}: {done.stderr}"
        with Ledger.open(url) as ledger:
            digests.add(said_by(ledger))
            turns = ledger.counts()["turns"]
        took = time.monotonic() - began
        sys.stdout.write(f"sync {number} of {IN_A_ROW}: {turns:,} turns in {took:.1f} s\n")
    assert len(digests) == 1


def _assert_same(places: list[Path], server: PostgresServer, tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as on_sqlite, Ledger.open(server.new_url()) as on_postgres:
        summaries = [sync(ledger, *places) for ledger in (on_sqlite, on_postgres)]
        assert summaries[0].sources
        assert summaries[0].sources == summaries[1].sources
        assert summaries[0].problems == summaries[1].problems
        assert said_by(on_sqlite) == said_by(on_postgres)
