"""Any change of a saved state behind the ledger's back is found, and refused where the guards are."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from agents_ledger import Ledger
from agents_ledger.errors import LedgerError
from agents_ledger.faces.agent_os import Bus
from tests.faces.agent_os.conversation import AT, Speaker
from tests.seed.rich import Story
from tests.test_tamper import REFUSED, Tampered, changes


@pytest.fixture
def saved(url: str) -> Iterator[Tampered]:
    with Ledger.open(url) as ledger:
        speaker = Speaker(Bus(ledger))
        speaker.task(note="kept")
        speaker.message("m1")
        for at, status in enumerate(("pending", "in_progress", "completed")):
            speaker.call("c", status, endMessageId="m1", updatedAt=AT + at, number=at)
        speaker.task(completionStatus="success", updatedAt=AT + 9)
    story = Story("", "", "", "", "", "", "", "", "", "", [])  # nothing of it is asked for here
    with closing(Tampered(url, story)) as opened:
        assert opened.ledger.verify().findings == []
        yield opened


def test_a_change_of_any_column_of_a_save_is_found(saved: Tampered) -> None:
    missed, tried = [], 0
    for change in changes(saved, "saves"):
        try:
            place = saved.set("saves", change.row[saved.place], change.column, change.value)
        except REFUSED:
            continue
        tried += 1
        findings = saved.ledger.verify().findings
        change.row[saved.place] = saved.set("saves", place, change.column, change.row[change.column])
        if not findings or findings[0].place not in ("saves", "log", "storage"):
            missed.append((change.column, change.value, findings))
    assert missed == []
    assert tried >= len(saved.columns("saves"))
    assert saved.ledger.verify().findings == []


def test_a_save_that_is_gone_or_was_added_is_found(saved: Tampered) -> None:
    last = max(saved.rows("saves"), key=lambda row: row["id"])
    columns = ", ".join(saved.columns("saves"))
    copied = columns.replace("id, entity", "99, entity", 1)
    saved.run(f"INSERT INTO saves ({columns}) SELECT {copied} FROM saves WHERE id = ?", last["id"])  # noqa: S608
    assert ("saves", str(last["id"])) in [(each.place, each.row) for each in saved.ledger.verify().findings]
    saved.run("DELETE FROM saves WHERE id IN (?, 99)", last["id"])
    assert ("saves", str(last["id"])) in [(each.place, each.row) for each in saved.ledger.verify().findings]


@pytest.mark.parametrize(
    "sql", ["UPDATE saves SET status = 'other'", "UPDATE saves SET next_id = id", "DELETE FROM saves"]
)
def test_guards_refuse_to_change_saves(ledger: Ledger, sql: str) -> None:
    speaker = Speaker(Bus(ledger))
    speaker.task()
    speaker.task(completionStatus="success")
    with pytest.raises(LedgerError, match="ledger: "):
        ledger.database.migrate("", "test", sql)
