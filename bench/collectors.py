"""The commands that read a home folder full of sessions into a database: ours and agentsview's."""

import sqlite3
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from bench.figures import disk_bytes


class Collector(Protocol):
    """A command that collects sessions."""

    name: str

    def command(self, data: Path) -> list[str]:
        """What is run."""

    def environ(self, home: Path, data: Path) -> Mapping[str, str]:
        """Where the sessions are, and where the database goes."""

    def sessions(self, data: Path) -> int:
        """How many it has collected."""

    def stored_bytes(self, data: Path) -> int:
        """What it needs on the disk."""


class Ours:
    """`ldg sync`."""

    name = "ours"

    def command(self, data: Path) -> list[str]:
        """A round over the agents' own places."""
        script = Path(sys.executable).with_name("ldg")
        return [str(script), "--db", str(data / "ledger.db"), "sync"]

    def environ(self, home: Path, _data: Path) -> Mapping[str, str]:
        """Its home folder."""
        return {"HOME": str(home)}

    def sessions(self, data: Path) -> int:
        """Those in the ledger."""
        return _count(data / "ledger.db")

    def stored_bytes(self, data: Path) -> int:
        """The ledger: rows, search index, evidence."""
        return disk_bytes(data)


class AgentsView:
    """`agentsview sync`, alone: no server stays behind it, nothing is sent."""

    name = "agentsview"

    def command(self, _data: Path) -> list[str]:
        """The program itself, without the Python that starts it."""
        found = find_spec("agentsview")
        assert found is not None and found.origin is not None, "asked for after `is_installed`"  # noqa: PT018
        return [str(Path(found.origin).parent / "bin" / "agentsview"), "sync"]

    def environ(self, home: Path, data: Path) -> Mapping[str, str]:
        """Its home folder, its data folder."""
        quiet = {"AGENTSVIEW_NO_DAEMON": "1", "AGENTSVIEW_TELEMETRY_ENABLED": "0", "DO_NOT_TRACK": "1"}
        return {"HOME": str(home), "AGENTSVIEW_DATA_DIR": str(data), **quiet}

    def sessions(self, data: Path) -> int:
        """Those in its database."""
        return _count(data / "sessions.db")

    def stored_bytes(self, data: Path) -> int:
        """Its database."""
        return disk_bytes(data)


def is_installed() -> bool:
    """Whether agentsview is here (the `bench` dependency group)."""
    return find_spec("agentsview") is not None


def _count(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        found: int = connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
    finally:
        connection.close()
    return found
