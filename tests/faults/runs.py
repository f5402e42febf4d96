"""Runs of an action in a process of its own, with every operation on its files watched."""

import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import msgspec
from msgspec import Struct

from agents_ledger.errors import LedgerError
from tests.faults.actions import Action, Said
from tests.faults.operations import DIED, Ack, Fault, Kind, Operation, Watch
from tests.faults.places import Place
from tests.faults.python_files import PythonFiles
from tests.faults.sqlite_files import WatchedVfs

_REPORT = "report"


class Run(Struct):
    """What a process said about its run."""

    operations: list[Operation] = []
    kinds: list[Kind] = []
    acks: list[Ack] = []
    hit: str = ""  # the operation that failed
    error: str = ""  # what the product raised
    bug: str = ""  # anything that is not the product's own exception
    has_died: bool = False


def run(
    action: Action,
    place: Place,
    rounds: int,
    *,
    fault: Fault | None = None,
    records: bool = False,
    plant: Callable[[], None] | None = None,
) -> Run:
    """Runs an action in a child, from what is in the place; `plant` changes the product there."""
    report = f"{place.base}/{_REPORT}"
    child = os.fork()
    if not child:
        end = 1
        try:
            with open(report, "wb") as out:
                _work(action, place, rounds, fault, plant, records, out.fileno())
            end = 0
        finally:
            os._exit(end)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with open(report, "rb") as written:
        lines = written.read().splitlines()
    found = Run(has_died=code == DIED)
    for line in lines:
        told = msgspec.json.decode(line)
        if "run" in told:
            found = msgspec.convert(told["run"], Run)
            found.operations = _read_operations(place) if records else []
        else:
            found.acks.append(msgspec.convert(told, Ack))
    if code not in (0, DIED):
        found.bug = found.bug or f"the process ended with {code}"
    return found


def _work(
    action: Action,
    place: Place,
    rounds: int,
    fault: Fault | None,
    plant: Callable[[], None] | None,
    records: bool,
    out: int,
) -> None:
    """In the child: everything that was acknowledged is reported at once, in case that it dies."""
    watch = Watch([place.disk, str(place.sources), str(place.temporary)], place.disk if records else None, fault)
    tempfile.tempdir = str(place.temporary)
    said: list[Ack] = []
    write = os.write  # not the watched one

    def tell(ack: Ack) -> None:
        said.append(ack)
        watch.acknowledge(ack)
        write(out, msgspec.json.encode(ack) + b"\n")

    vfs = WatchedVfs(watch, place.seed)  # it is there as long as somebody holds it
    PythonFiles(watch).patch()
    if plant is not None:
        plant()
    found = Run(acks=said)
    try:
        action.run(place, Said(tell, partial(_unwatched, watch)), rounds)
    except LedgerError as problem:
        found.error = f"{type(problem).__name__}: {problem}"
    except BaseException:  # noqa: BLE001 - reported as a bug
        found.bug = traceback.format_exc()[-1500:]
    watch.is_paused = True
    del vfs
    if watch.hit is not None:
        found.hit = f"{watch.hit.kind} of {os.path.basename(watch.hit.path)}"
    found.kinds = watch.kinds
    if records:
        with open(f"{place.base}/operations", "wb") as file:
            file.write(msgspec.msgpack.encode(watch.operations))
    write(out, msgspec.json.encode({"run": found}) + b"\n")


def _read_operations(place: Place) -> list[Operation]:
    with open(f"{place.base}/operations", "rb") as file:
        return msgspec.msgpack.decode(file.read(), type=list[Operation])


@contextmanager
def _unwatched(watch: Watch) -> Iterator[None]:
    watch.is_paused = True
    try:
        yield
    finally:
        watch.is_paused = False
