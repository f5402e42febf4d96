"""Fails every I/O operation of an action, each in every way in which it can fail, and judges what is left."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.faults.actions import ACTIONS, Action
from tests.faults.judge import Reference, problems, reference_of
from tests.faults.operations import Ack, Fault, FaultKind, faults_of
from tests.faults.places import Place
from tests.faults.runs import Run, run


class Counts(Struct):
    """What a campaign did and found."""

    operations: int = 0
    faults: int = 0
    refused: int = 0  # the product said that it failed
    succeeded: int = 0  # the product went on in spite of the fault
    died: int = 0
    different: int = 0  # states that were judged: many faults leave the same one

    def __str__(self) -> str:
        return ", ".join(f"{name} {getattr(self, name)}" for name in self.__struct_fields__)


class Broken(AssertionError):
    """Something that must hold after a fault did not."""


class IoFaults:
    """The faults of one action; `part` of `parts` of them."""

    def __init__(self, action: Action, base: Path, part: int = 0, parts: int = 1) -> None:
        self.action = action
        self.counts = Counts()
        self.broken: list[str] = []
        self._template = Place.below(base / "template")
        self._place = Place.below(base / "work")
        self._part, self._parts = part, parts
        self._judged: set[bytes] = set()
        self._template.clear()
        action.prepare_small(self._template)

    def run(self) -> Counts:
        """All of them; raises Broken at the end, if something is."""
        reference = reference_of(self.action, self._place, self._template, 1)
        clean = self._run(None)
        self.counts.operations = len(clean.kinds)
        planned = [Fault(number, kind) for number, each in enumerate(clean.kinds, 1) for kind in faults_of(each)]
        for fault in planned[self._part :: self._parts]:
            self._one(fault, reference)
        if self.broken:
            raise Broken("\n".join([f"{len(self.broken)} of {self.counts}", *self.broken[:20]]))
        return self.counts

    def _run(self, fault: Fault | None) -> Run:
        self._place.fill(self._template)
        return run(self.action, self._place, 1, fault=fault)

    def _one(self, fault: Fault, reference: Reference) -> None:
        found = self._run(fault)
        self.counts.faults += 1
        self.counts.died += found.has_died
        self.counts.refused += bool(found.error)
        self.counts.succeeded += not (found.error or found.bug or found.has_died)
        wrong = [f"not an error of the product: {found.bug}"] if found.bug else []
        if fault.kind == FaultKind.DEATH and not found.has_died:
            wrong.append("it should have died")
        if not (found.hit or found.has_died):
            wrong.append("it has not come to this operation")
        state = _state_of(self._place, found.acks)
        if state not in self._judged:
            self._judged.add(state)
            self.counts.different += 1
            wrong += problems(self.action, self._place, found.acks, reference)
        self.broken += [
            f"{fault.kind} at operation {fault.number} ({found.hit}; {found.error}): {each}" for each in wrong
        ]


def _state_of(place: Place, acks: Sequence[Ack]) -> bytes:
    """Equal if all files are, and what was acknowledged."""
    digest = hashlib.blake2b(msgspec.json.encode(acks), digest_size=16)
    for folder, _, names in sorted(os.walk(place.disk)):
        for name in sorted(names):
            if not name.endswith("-shm"):
                path = Path(folder, name)
                digest.update(f"{path}:{path.stat().st_size}".encode())
                digest.update(path.read_bytes())
    return digest.digest()


def run_faults(name: str, base: Path, part: int, parts: int) -> Counts:
    """All faults of a part of an action."""
    return IoFaults(ACTIONS[name], base, part, parts).run()
