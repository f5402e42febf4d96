"""Cuts the power at every moment of an action, and judges what may be on the disk then."""

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path

from msgspec import Struct

from tests.faults.actions import ACTIONS, Action
from tests.faults.disk import Disk, Image
from tests.faults.judge import LOST, Reference, problems, reference_of
from tests.faults.operations import Kind, Operation
from tests.faults.places import Place
from tests.faults.runs import run

IMAGES_IN_A_RUN = 1000  # of a soak; then the action is recorded anew, with other ids and salts
_TRIES = 4  # of images for each one that is wanted: many are not new where little is unsynced


class Counts(Struct):
    """What a campaign did and found."""

    operations: int = 0  # that were recorded: writes, syncs, names
    syncs: int = 0
    images: int = 0  # different ones, all judged
    acked: int = 0  # acknowledgements in the run
    broken: int = 0  # images of which something is wrong
    lost: int = 0  # of them: something acknowledged is not there

    def __str__(self) -> str:
        return ", ".join(f"{name} {getattr(self, name)}" for name in self.__struct_fields__)


class Broken(AssertionError):
    """Something that must hold after a power cut did not."""

    def __init__(self, text: str, counts: Counts) -> None:
        super().__init__(text)
        self.counts = counts


class PowerCuts:
    """Power cuts during one run of an action."""

    def __init__(
        self, action: Action, base: Path, seed: int, rounds: int, plant: Callable[[], None] | None = None
    ) -> None:
        self.action = action
        self.seed = seed
        self.counts = Counts()
        self.seen: set[bytes] = set()  # the digests of all images
        self._rng = random.Random(seed)  # noqa: S311 - a repeatable plan
        self._template = Place.below(base / "template", seed)
        self._place = Place.below(base / "work", seed)
        self._image = self._place.with_disk(base / "image")
        self._rounds = rounds
        self._plant = plant
        self._judged: set[tuple[bytes, int]] = set()
        self._template.clear()
        action.prepare(self._template)

    def judge(self, wanted: int) -> Counts:
        """So many images, spread over the whole run; raises Broken at the end, if something is."""
        reference, operations = self._record()
        first: list[str] = []
        for at, image, acks in self._images(operations, wanted):
            found = self._problems(image, acks, reference, operations)
            if found:
                self.counts.broken += 1
                self.counts.lost += any(each.startswith(LOST) for each in found)
                before = operations[at - 1] if at else None
                what = f"{before.kind} of {before.path}" if before else "nothing"
                first += [f"after operation {at} ({what}; {image.how}): {each}" for each in found[:3]]
        self.counts.images = len(self.seen)
        if first:
            text = "\n  ".join(first[:20])
            raise Broken(f"{self.action.name}, seed {self.seed}: {self.counts}\n  {text}", self.counts)
        return self.counts

    def _record(self) -> tuple[Reference, list[Operation]]:
        """A run without faults, and all that it did to its files."""
        reference = reference_of(self.action, self._place, self._template, self._rounds)
        self._place.fill(self._template)
        recorded = run(self.action, self._place, self._rounds, records=True, plant=self._plant)
        assert not recorded.error, recorded.error
        assert not recorded.bug, recorded.bug
        self.counts.operations = sum(each.kind != Kind.ACK for each in recorded.operations)
        self.counts.syncs = sum(each.kind in (Kind.SYNC, Kind.SYNC_FOLDER) for each in recorded.operations)
        self.counts.acked = len(recorded.acks)
        return reference, recorded.operations

    def _images(self, operations: list[Operation], wanted: int) -> Iterator[tuple[int, Image, int]]:
        """Images with what had been acknowledged, spread over all moments; as many passes as it takes."""
        before = -1
        while len(self.seen) < wanted and len(self.seen) > before:
            before = len(self.seen)
            yield from self._pass(operations, wanted)

    def _pass(self, operations: list[Operation], wanted: int) -> Iterator[tuple[int, Image, int]]:
        disk, acked = Disk(self._template.disk), 0
        left = sum(not _is_acked_next(operations, at) for at in range(1, len(operations) + 1))
        for done, operation in enumerate(operations, 1):
            disk.apply(operation)
            if _is_acked_next(operations, done):
                continue  # the same disk, of which more is demanded
            if len(disk.acks) > acked:
                acked = len(disk.acks)
                yield from self._new(done, disk.certain(), acked)
            share = -(-(wanted - len(self.seen)) // left)
            left -= 1
            until = len(self.seen) + share
            for _ in range(share * _TRIES):
                if len(self.seen) < until:
                    yield from self._new(done, disk.image(self._rng), acked)

    def _new(self, done: int, image: Image, acked: int) -> Iterator[tuple[int, Image, int]]:
        """An image, unless it was judged already with as much acknowledged."""
        digest = image.digest()
        if (digest, acked) not in self._judged:
            self._judged.add((digest, acked))
            self.seen.add(digest)
            yield done, image, acked

    def _problems(self, image: Image, acked: int, reference: Reference, operations: list[Operation]) -> list[str]:
        folder = Path(self._image.disk)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        image.write(self._image.disk)
        acks = [each.ack for each in operations if each.ack is not None][:acked]
        return problems(self.action, self._image, acks, reference)


def _is_acked_next(operations: list[Operation], done: int) -> bool:
    return done < len(operations) and operations[done].kind == Kind.ACK


def seed() -> int:
    """A new seed, or the one of a failure that is to be repeated."""
    given = os.environ.get("FAULTS_SEED")
    return int(given) if given else random.SystemRandom().getrandbits(32)


class Job(Struct, frozen=True):
    """One run of a soak."""

    action: str
    base: str
    seed: int
    rounds: int
    images: int


class Done(Struct, frozen=True):
    """What it did."""

    counts: Counts
    seen: frozenset[bytes]
    broken: str = ""


def one_run(job: Job) -> Done:
    """A run in a process of its own; it leaves nothing behind."""
    base = Path(job.base)
    base.mkdir()
    cuts, broken = PowerCuts(ACTIONS[job.action], base, job.seed, job.rounds), ""
    try:
        cuts.judge(job.images)
    except Broken as problem:
        broken = str(problem)
    finally:
        shutil.rmtree(base)
    return Done(cuts.counts, frozenset(cuts.seen), broken)


def soak(name: str, base: Path, first_seed: int, wanted: int, rounds: int) -> Counts:
    """Runs with one seed after the other, on all processors, until there were so many different images."""
    total, seen, seeds = Counts(), set[bytes](), count(first_seed)
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        while len(seen) < wanted:
            batch = list(islice(seeds, workers * 4))
            jobs = [Job(name, str(base / str(each)), each, rounds, min(IMAGES_IN_A_RUN, wanted)) for each in batch]
            for done in pool.map(one_run, jobs):
                if done.broken:
                    raise Broken(done.broken, done.counts)
                seen |= done.seen
                for field in ("operations", "syncs", "acked"):
                    setattr(total, field, getattr(total, field) + getattr(done.counts, field))
            total.images = len(seen)
            sys.stdout.write(f"{name}: {total.images} of {wanted} images\n")
    return total
