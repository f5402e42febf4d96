"""What is written below a missing folder survives a power cut with that folder, and with those above it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_ledger import Ledger, config
from agents_ledger.capture import export
from agents_ledger.capture.sync import Sync
from agents_ledger.capture.telling import Telling
from agents_ledger.formats.pi import bodies
from agents_ledger.stores.agentuse import AgentUseStore
from agents_ledger.stores.pi import PiFolder
from tests.faults.actions import TESTS, Action, Said, machine_of, visible
from tests.faults.disk import Disk
from tests.faults.places import Place
from tests.faults.runs import run


class Once(Action):
    """Something that is done once."""

    def __init__(self, work: Callable[[Place], None]) -> None:
        self._work = work

    def run(self, place: Place, report: Said, rounds: int) -> None:
        self._work(place)


def pi_store(place: Place) -> None:
    with Ledger.open(place.url) as ledger:
        session = PiFolder(ledger, f"{place.disk}/state/agent/sessions").begin("/project")
        session.say(bodies.user("hello", 1_795_000_000_000))
        session.say(bodies.assistant("hi", 1_795_000_000_000, provider="p", model="m"))


def agentuse_store(place: Place) -> None:
    with Ledger.open(place.url) as ledger:
        AgentUseStore(ledger, f"{place.disk}/data/agentuse").begin("an/agent", model="a:m", root="/project", name="N")


def exported_thread(place: Place) -> None:
    with Ledger.open(place.url) as ledger:
        Telling(ledger, "main", "markdown").write(Path(place.disk, "thread.md"))


def exported_bytes(place: Place) -> None:
    with Ledger.open(place.url) as ledger:
        Sync(ledger, machine_of(place)).run([str(TESTS / "golden/pi/v3/source")])
        (session,) = (line.session.label for line in ledger.sessions() if line.session.origin == "pi")
        (capture,) = export.resolve(ledger, session)
        export.write(ledger, capture, Path(place.disk, "session.jsonl"))


def first_ledger(place: Place) -> None:
    os.environ |= {"XDG_DATA_HOME": f"{place.disk}/home/.local/share"}
    url = config.ledger_url("")
    config.prepare_folder(url)
    Ledger.open(url).close()


@pytest.mark.parametrize("work", [pi_store, agentuse_store, exported_thread, exported_bytes, first_ledger])
def test_every_file_is_on_the_disk_when_the_call_returns(work: Callable[[Place], None], tmp_path: Path) -> None:
    action, template, place = Once(work), Place.below(tmp_path / "template"), Place.below(tmp_path / "work")
    template.clear()
    action.prepare(template)
    place.fill(template)
    done = run(action, place, 1, records=True)
    assert (done.error, done.bug) == ("", "")
    disk = Disk(template.disk)
    for operation in done.operations:
        disk.apply(operation)
    written = {str(path.relative_to(place.disk)): path.read_bytes() for path in visible(place)}
    written |= {str(path.relative_to(place.disk)): path.read_bytes() for path in Path(place.disk).rglob("ledger.db")}
    assert len(written) > 1
    certain = disk.certain().files
    assert {path: certain.get(path) == data for path, data in written.items()} == dict.fromkeys(written, True)
