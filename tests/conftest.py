"""Fixtures: every ledger test runs on SQLite and on PostgreSQL."""

import gc
import shutil
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from tests.support import properties
from tests.support.databases import PostgresServer, empty_file, postgres_server
from tests.support.places import new_folder

properties.load()  # before a test is defined: its settings are made then


def pytest_configure() -> None:
    """Children can be interrupted, also where a shell has started all this in the background and ignores Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: nobody needs to look through them for garbage again and again."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first, so that no process is left alone with them at the end."""
    items.sort(key=lambda item: "test_machine.py" not in item.nodeid)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The counts of the fault campaigns (`tests/faults`), and their sums."""
    reports = terminalreporter.stats.get("passed", ())
    told = [(name, value) for report in reports for name, value in report.user_properties]
    lines = sorted(value for name, value in told if name == "fault line")
    if not lines:
        return
    terminalreporter.section("power cuts and I/O faults")
    for line in lines:
        terminalreporter.write_line(line)
    sums = {name: sum(value for each, value in told if each == name) for name in ("fault images", "fault runs")}
    terminalreporter.write_line(
        f"together: {sums['fault images']} different images of a disk, {sums['fault runs']} I/O faults"
    )


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A new folder for each test, in memory where that can be."""
    with new_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """The tests' own PostgreSQL, started when the first test asks for it."""
    with postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class UrlSource:
    """New ledgers' URLs of one engine."""

    def __init__(self, folder: Path, server: PostgresServer | None) -> None:
        self._folder = folder
        self._server = server
        self._numbers = count()

    def __call__(self) -> str:
        if self._server is not None:
            return self._server.new_url()
        return f"sqlite:///{self._folder / f'ledger{next(self._numbers)}.db'}"


@pytest.fixture
def url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The URL of a new ledger."""
    running = request.getfixturevalue("server") if engine == "postgres" else None
    return UrlSource(tmp_path, running)()


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    """A new ledger."""
    if url.startswith("sqlite:///"):
        shutil.copyfile(empty_file(), url.removeprefix("sqlite:///"))
    with Ledger.open(url) as opened:
        yield opened
