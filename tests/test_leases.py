"""Who may end whose turn, when the clocks of two machines disagree; a writer that is gone is still found out."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agents_ledger import Env, Ledger, LiveTurn
from agents_ledger.capture import turnstile
from agents_ledger.errors import LeaseLost, StoreBusy, TurnIsSealed
from agents_ledger.model.overview import Live
from agents_ledger.model.times import now_ms
from agents_ledger.store import Tx

ELSEWHERE = "another-machine|1|1|x"
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
SKEWS = {"61 s ahead": 61 * SECOND, "61 s behind": -61 * SECOND, "a day ahead": DAY, "a day behind": -DAY}


class World:
    """Time as it passes, and the clocks of two machines."""

    def __init__(self, skew_ms: int) -> None:
        self.begin = now_ms()
        self.passed = 0  # milliseconds
        self.skew_ms = skew_ms
        self.started_at = 5_000_000  # how long this machine has been running when it begins

    @property
    def far(self) -> Env:
        """The machine of the writer: its clock is right."""
        return Env(now=lambda: self.begin + self.passed)

    @property
    def here(self) -> Env:
        """This machine: its wall clock is not, but it runs as fast."""
        return Env(now=lambda: self.begin + self.passed + self.skew_ms, elapsed=lambda: self.started_at + self.passed)


@pytest.fixture(params=list(SKEWS.values()), ids=list(SKEWS))
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


@contextmanager
def far_writer(url: str, world: World) -> Iterator[tuple[Ledger, LiveTurn]]:
    """A live turn of another machine."""
    with Ledger.open(url, env=world.far) as ledger:
        ledger.writer = ELSEWHERE
        yield ledger, ledger.turn("main", "far away")


def look(url: str, world: World) -> list[str]:
    """What a command on this machine closes when it opens the ledger."""
    with Ledger.open(url, env=world.here) as ledger:
        return ledger.recovered


def pass_time(ledger: Ledger, world: World, ms: int) -> None:
    """Time passes in which the writer renews nothing."""
    world.passed += ms
    if ledger.database.dialect == "postgres":  # the server's clock can't be set: the lease is made older instead

        def age(tx: Tx) -> None:
            left = int(tx.rows("all_leases")[0][-1]) - ms - int(tx.value("server_time"))
            tx.run("renew_leases", writer=ELSEWHERE, now=0, expires_at=left)

        ledger.database.write(age)


def test_a_healthy_turn_of_another_machine_is_left_alone_whatever_the_clock_here_says(url: str, world: World) -> None:
    with far_writer(url, world) as (far, turn):
        for _ in range(5):
            assert look(url, world) == []
            for _ in range(3):
                pass_time(far, world, 20 * SECOND)
                far._renew()  # noqa: SLF001 - what its heartbeat does every 20 s
            assert look(url, world) == []
        with Ledger.open(url, readonly=True, env=world.here) as reader:
            assert reader.live_turns() == [Live(turn.id, "main", is_left_behind=False)]
        turn.reply("still here")
        turn.complete()
        assert far.head("main") == turn.id


def test_a_turn_is_left_alone_when_this_machine_looks_again_after_a_long_time(url: str, world: World) -> None:
    with far_writer(url, world) as (far, turn):
        assert look(url, world) == []
        pass_time(far, world, 20 * SECOND)
        far._renew()  # noqa: SLF001 - as above
        world.passed += DAY
        if far.database.dialect == "sqlite":  # (a server has measured that day, and knows)
            assert look(url, world) == [], "it was renewed since: a lease time begins now"
        turn.complete()


def test_a_dead_writers_turn_is_closed_after_one_lease_time(url: str, world: World) -> None:
    with far_writer(url, world) as (far, turn):
        assert look(url, world) == []
        pass_time(far, world, 59 * SECOND)
        assert look(url, world) == []
        with Ledger.open(url, readonly=True, env=world.here) as reader:
            assert reader.live_turns() == [Live(turn.id, "main", is_left_behind=False)]
        pass_time(far, world, 2 * SECOND)
        with Ledger.open(url, readonly=True, env=world.here) as reader:
            assert reader.live_turns() == [Live(turn.id, "main", is_left_behind=True)]
        assert look(url, world) == [turn.id]
        assert look(url, world) == []
        with pytest.raises(LeaseLost, match="begin a new turn"):
            turn.reply("too late")
        with pytest.raises(TurnIsSealed, match="is failed"):
            turn.complete()
        assert far.get(turn.id).turn.status == "failed"
        assert len(far.get(turn.id).messages) == 1
        assert far.verify().is_good


def test_a_writer_whose_clock_is_set_back_renews_its_lease(url: str) -> None:
    """A renewal must look like one to others, even if the clock of the writer says the same time as before."""
    world = World(0)
    with far_writer(url, world) as (far, turn):
        assert look(url, world) == []
        world.passed += 50 * SECOND
        world.begin -= 50 * SECOND
        far._renew()  # noqa: SLF001 - as above
        assert look(url, world) == []
        world.passed += 50 * SECOND
        assert look(url, world) == []
        turn.complete()


def test_each_machine_goes_by_what_it_has_seen_itself(url: str) -> None:
    world = World(0)
    with far_writer(url, world) as (far, turn):
        if far.database.dialect == "postgres":
            assert look(url, world) == []
            assert far.database.write(lambda tx: tx.value("fact", name="lease_sightings")) is None
            turn.complete()
            return
        assert look(url, world) == []

        def move(tx: Tx) -> None:
            [(_, [sign, since])] = json.loads(tx.value("fact", name="lease_sightings"))[turn.id].items()
            there = {turn.id: {"a third machine": [sign, since - DAY]}}
            tx.run("put_fact", name="lease_sightings", value=json.dumps(there))

        far.database.write(move)
        world.passed += 61 * SECOND
        assert look(url, world) == [], "what a third machine saw, by a clock of its own, says nothing here"
        world.passed += 61 * SECOND
        assert look(url, world) == [turn.id]


def test_a_machine_that_was_started_again_begins_to_count_again(url: str) -> None:
    world = World(0)
    with far_writer(url, world) as (far, turn):
        assert look(url, world) == []
        world.started_at = -world.passed
        assert look(url, world) == []
        pass_time(far, world, 61 * SECOND)
        assert look(url, world) == [turn.id]


def test_a_turn_that_nobody_has_touched_for_a_month_is_closed_at_the_first_look(url: str) -> None:
    world = World(0)
    with far_writer(url, world) as (far, turn):
        pass_time(far, world, 31 * DAY)
        assert look(url, world) == [turn.id]


def test_a_sync_of_another_machine_is_waited_for_whatever_the_clock_here_says(url: str, world: World) -> None:
    with Ledger.open(url, env=world.far) as far, Ledger.open(url, env=world.here) as here:
        begin = now_ms()

        def hold(ms_ago: int) -> None:
            held = f"{ELSEWHERE} {begin - ms_ago}"
            far.database.write(lambda tx: tx.run("put_fact", name="sync_writer", value=held))

        hold(0)
        for _ in range(3):
            with pytest.raises(StoreBusy, match="another sync"), turnstile.alone(here):
                pass
            world.passed += 29 * MINUTE
            if far.database.dialect == "postgres":
                hold(world.passed)
        world.passed += 4 * MINUTE
        if far.database.dialect == "postgres":
            hold(world.passed)
        with turnstile.alone(here):
            pass


def test_a_sync_of_another_machine_that_takes_something_is_waited_for(url: str) -> None:
    world = World(0)
    with Ledger.open(url, env=world.far) as far, Ledger.open(url, env=world.here) as here:
        held = f"{ELSEWHERE} {now_ms()}"
        far.database.write(lambda tx: tx.run("put_fact", name="sync_writer", value=held))
        for _ in range(3):
            with pytest.raises(StoreBusy, match="another sync"), turnstile.alone(here):
                pass
            far.database.write(turnstile.take)
            world.passed += 61 * MINUTE
