"""PostgreSQL alone: the pipeline answers the question that was asked, and readers plan for their values."""

import select
from typing import NamedTuple

import pytest

from agents_ledger import Ledger
from agents_ledger.store import Tx
from agents_ledger.store.postgres import PostgresTx
from tests.support.databases import PostgresServer

STATEMENTS = 2000
ROUNDS = 20


class Fact(NamedTuple):
    name: str
    value: str


@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "after the first answers have arrived"])
def test_a_question_after_many_statements_gets_its_own_answer(server: PostgresServer, is_late: bool) -> None:
    """A question that shared its cursor with earlier statements took a late answer to one of them for its own."""

    def work(tx: Tx) -> None:
        tx.run_all("put_fact", [Fact("pipelined", str(number)) for number in range(STATEMENTS)])
        if is_late:
            _wait_for_answers(tx)
        assert tx.rows("fact", name="pipelined") == [(str(STATEMENTS - 1),)]
        tx.run("put_fact", name="pipelined", value="last")
        assert tx.value("fact", name="pipelined") == "last"

    with Ledger.open(server.new_url()) as ledger:
        for _ in range(ROUNDS):
            ledger.database.write(work)


def _wait_for_answers(tx: Tx) -> None:
    """Returns when the server has answered statements that the driver has not looked at yet."""
    assert isinstance(tx, PostgresTx)
    select.select([tx._connection], [], [], 0.5)  # noqa: SLF001 - only its socket: nothing is read here
