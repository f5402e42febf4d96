"""PostgreSQL alone: the pipeline answers the question that was asked, and readers plan for their values."""

import select
from typing import NamedTuple

import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.model.filters import Filters
from agents_ledger.store import Tx
from agents_ledger.store.postgres import PostgresTx
from tests.support.databases import PostgresServer

STATEMENTS = 2000
ROUNDS = 20
# a statement without parameters has but one plan
PLANS = """SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements
    WHERE cardinality(parameter_types) > 0"""


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


def test_the_tenth_search_is_planned_for_its_own_words(server: PostgresServer) -> None:
    """From the sixth use on the server may take a generic plan, which knows neither the words nor the filters."""
    with Ledger.open(server.new_url()) as ledger:
        for number in range(30):
            ledger.append(
                "main", Turn((Message("user", f"a common word and word{number}"), Message("assistant", "ok")))
            )
        for number in range(10):
            assert ledger.search(f"word{number}").hits
            assert ledger.sessions(Filters(status="completed"))
        with ledger.database.read() as tx:
            assert isinstance(tx, PostgresTx)
            plans = tx._connection.execute(PLANS).fetchall()  # noqa: SLF001 - each connection counts its own
    assert [statement for statement, generic, _ in plans if generic] == []
    often = [statement for statement, _, custom in plans if custom >= 10]
    assert any("@@" in statement for statement in often), "the search's own statement ran ten times"
    assert any("FROM sessions" in statement for statement in often)


def _wait_for_answers(tx: Tx) -> None:
    """Returns when the server has answered statements that the driver has not looked at yet."""
    assert isinstance(tx, PostgresTx)
    select.select([tx._connection], [], [], 0.5)  # noqa: SLF001 - only its socket: nothing is read here
