"""The state machine on both databases: 500 histories of 50 steps each (10,000 with SOAK=1)."""

import os
import shutil
from itertools import count
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from agents_ledger import Env, Ledger
from agents_ledger.ledger.opening import opened
from tests.machine.compactions import CompactingMachine
from tests.machine.machine import LedgerMachine
from tests.support.databases import PostgresServer

SOAK = bool(os.environ.get("SOAK"))
EXAMPLES = 10_000 if SOAK else 500
STEPS = 50
PROFILE = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    print_blob=True,
    # A failure is printed with all its steps; making it small takes minutes and is for whoever looks into it.
    phases=tuple(Phase) if SOAK else (Phase.generate,),
    report_multiple_bugs=False,
)
_RECORD = "turns segments messages tool_calls compactions originals message_files message_lints message_codeblocks"
_AROUND = "sessions session_history session_aliases log leases search search_notes usages usage_slots saves"
_LOOKED_UP = "segment_paths session_ids session_segments"
_FORGET = "; ".join(f"DELETE FROM {table}" for table in f"{_RECORD} {_AROUND} {_LOOKED_UP}".split())  # noqa: S608 - names from above

_A_FEW = 20


def sqlite_machine(folder: Path) -> type[LedgerMachine]:
    """The machine on SQLite files; each history starts with a copy of an empty ledger."""
    template = folder / "template.db"
    Ledger.open(f"sqlite:///{template}").close()
    file = folder / "ledger.db"

    class SqliteMachine(CompactingMachine):
        @staticmethod
        def open_ledger(env: Env) -> Ledger:
            for ending in ("", "-wal", "-shm"):
                Path(f"{file}{ending}").unlink(missing_ok=True)
            shutil.copyfile(template, file)
            return Ledger.open(f"sqlite:///{file}", env=env)

    return SqliteMachine


def postgres_machine(url: str) -> type[LedgerMachine]:
    """The machine on one PostgreSQL database, which is emptied before each history.

    Its connections stay: a server that has to plan everything anew for each history would take most of the time.
    """
    admin = psycopg.connect(url, autocommit=True)
    admin.execute("SET session_replication_role = replica")  # the guards would refuse to forget
    database = opened(url, readonly=False, create=True)
    histories = count(1)

    class PostgresMachine(CompactingMachine):
        @staticmethod
        def open_ledger(env: Env) -> Ledger:
            admin.execute(_FORGET.encode())
            if next(histories) % _A_FEW == 0:
                admin.execute("VACUUM")  # the server does not do it by itself here, and every table would only grow
            admin.execute("UPDATE ledger_facts SET value = '0' WHERE name = 'searchable_through'")
            return Ledger(database, env)

        def close_ledger(self) -> None:
            """Nothing to give back."""

    return PostgresMachine


def test_random_histories_agree_with_the_model_on_sqlite(tmp_path: Path) -> None:
    run_state_machine_as_test(sqlite_machine(tmp_path), settings=PROFILE)


@pytest.mark.parametrize("half", [1, 2])
def test_random_histories_agree_with_the_model_on_postgres(server: PostgresServer, half: int) -> None:
    """In two halves, so that two processes can share the work."""
    run_state_machine_as_test(
        postgres_machine(server.new_url()), settings=settings(PROFILE, max_examples=EXAMPLES // 2)
    )
