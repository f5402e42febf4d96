"""What cannot be judged is skipped, loudly: at the head, at the test and at the end."""

from collections.abc import Iterator
from typing import Any

import pytest

from oracles.box import Box, NoBox, no_box
from oracles.install import JUDGES, missing
from oracles.readers import NotInstalled


def _reasons() -> list[str]:
    return [why for why in (*(missing(name) for name in JUDGES), no_box()) if why]


def pytest_report_header() -> list[str]:
    """Which judges there are, and which not."""
    there = [f"{judge.package} {judge.version}" for judge in JUDGES.values() if not missing(judge.name)]
    return [f"judges: {', '.join(there) or 'NONE'}", *(f"NO JUDGE: {why}" for why in _reasons())]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says once more what was not judged, where it cannot be overlooked."""
    for why in _reasons():
        terminalreporter.write_line(f"NOT JUDGED: {why}", red=True, bold=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skips a test whose judge is missing."""
    try:
        return (yield)
    except (NotInstalled, NoBox) as why:
        pytest.skip(f"NOT JUDGED: {why}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Skips a test whose fixture needs what is missing."""
    try:
        return (yield)
    except (NotInstalled, NoBox) as why:
        pytest.skip(f"NOT JUDGED: {why}")


@pytest.fixture
def box() -> Iterator[Box]:
    """A closed room with the fake model."""
    with Box() as opened:
        yield opened
