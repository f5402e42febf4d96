"""`ldg sql --timeout` bounds what SQL can take of time and memory, whatever it is."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Ldg

LDG = str(Path(sys.executable).parent / "ldg")
# looks for 8 MB at each place of 16 MB: 10^14 steps in one operation, which looks at no clock
ENDLESS = {
    "sqlite": "SELECT length(replace(printf('%.*c', 16000000, 'a'), printf('%.*c', 8000000, 'a') || 'b', ''))",
    "postgres": "SELECT max(a) FROM (SELECT generate_series(1, 1000000000000) AS a) s",
}
# one value of 900 MB, once more with each sign replaced
HUGE = "SELECT length(replace(printf('%.*c', 900000000, 'a'), 'a', 'b'))"
# an answer of 10 GB, 100 MB a row
HUGE_ANSWER = """WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)
    SELECT zeroblob(100000000) FROM c"""


@pytest.fixture
def everywhere(url: str) -> Ldg:
    ldg = Ldg(url)
    ldg.text("demo")
    return ldg


def test_one_expensive_operation_is_stopped_in_time(everywhere: Ldg) -> None:
    sql = ENDLESS["postgres" if everywhere.url.startswith("postgres") else "sqlite"]
    began = time.monotonic()
    done = everywhere.apart("sql", sql, "--timeout", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "took too long" in done.stderr
    assert time.monotonic() - began < 10, "it would take days"


def test_a_value_of_900_mb_is_refused(ldg: Ldg) -> None:
    assert "more than 128 MB" in ldg.text("sql", HUGE, code=2)


def test_memory_is_bounded(ldg: Ldg) -> None:
    done = ldg.apart("sql", HUGE_ANSWER, "--timeout", "60")
    assert done.returncode == 2
    assert "memory" in done.stderr


def test_ctrl_c_ends_the_query_at_once(ldg: Ldg) -> None:
    asked = subprocess.Popen([LDG, "--db", ldg.url, "sql", ENDLESS["sqlite"], "--timeout", "600"])
    child = _child_of(asked.pid)
    began = time.monotonic()
    asked.send_signal(signal.SIGINT)
    assert asked.wait(20) == 130
    assert time.monotonic() - began < 10
    assert not Path(f"/proc/{child}").exists()


def test_a_reader_that_goes_away_is_no_error(ldg: Ldg) -> None:
    asked = subprocess.Popen(
        [LDG, "--db", ldg.url, "sql", "SELECT content FROM messages, (SELECT 1 FROM messages), log", "--csv"],
        stdout=subprocess.PIPE,
    )
    assert asked.stdout is not None
    asked.stdout.read(1)
    asked.stdout.close()
    assert asked.wait(60) in (0, 141)


def _child_of(pid: int) -> int:
    """The process that another one has started, when it has."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        if children:
            return int(children[0])
        os.sched_yield()
    raise AssertionError("it has not begun")
