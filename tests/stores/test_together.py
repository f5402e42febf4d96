"""Several at once: two processes with one store, syncs and watches beside it, and what a kill leaves behind."""

import multiprocessing
import os
import random
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from agents_ledger import Ledger
from agents_ledger.capture import turnstile
from agents_ledger.capture.intake import Intake
from agents_ledger.capture.locks import locked
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.capture.sync import Sync
from agents_ledger.errors import LedgerBehind, StoreBusy
from agents_ledger.formats.pi import bodies
from agents_ledger.model.formats import Machine
from agents_ledger.stores.pi import PiFolder, PiStore
from tests.stores.talk import AT, ask, problems, seen_by_ledger, seen_by_store

MACHINE = Machine("/", {}, "linux")


def speak(url: str, folder: str, name: str, times: int, keep: int = 0) -> None:
    """A process that speaks in the main session, counts in the index, and cuts the transcript down to some lines."""
    with Ledger.open(url) as ledger:
        store = PiStore(ledger, folder)
        for number in range(times):
            print(number, flush=True)  # noqa: T201 - whoever started this process may want to end it now
            session = store.session("main")
            session.say(
                bodies.user(f"{name} asks {number}", AT),
                bodies.assistant(f"{name} {number}", AT, provider="p", model="m"),
            )
            if keep:
                store.cut("main", keep)
            with store.index.changing() as found:
                found["agent:main:main"]["spoken"] = found["agent:main:main"].get("spoken", 0) + 1


def test_two_processes_write_one_store(url: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "agents" / "main" / "sessions")
    Ledger.open(url).close()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=speak, args=(url, folder, name, 5)) for name in ("ada", "bob")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    with Ledger.open(url) as ledger:
        store = PiStore(ledger, folder)
        session = store.session("main")
        told = seen_by_store(session)
        assert sorted(told) == sorted(
            text for name in ("ada", "bob") for n in range(5) for text in (f"{name} asks {n}", f"{name} {n}")
        )
        assert seen_by_ledger(ledger, session.label) == told
        assert store.entry("main")["spoken"] == 10
        assert (len(ledger.roots()), problems(ledger), ledger.verify().is_good) == (1, [], True)


def test_what_a_crash_kept_from_the_ledger_comes_with_the_next_sync_or_the_next_word(
    ledger: Ledger, tmp_path: Path
) -> None:
    folder = PiFolder(ledger, str(tmp_path / "sessions"))
    session = folder.begin("/")
    ask(session, "one")
    lost = PiFolder(ledger, folder.path).open(session.path)
    lost._take = lambda _paths: None  # noqa: SLF001 - as if it were killed between file and ledger
    ask(lost, "two")
    assert len(ledger.thread(ledger.head(session.label) or "")) == 1
    Sync(ledger, MACHINE).run([folder.path])
    assert seen_by_ledger(ledger, session.label) == seen_by_store(session)
    ask(lost, "three")
    ask(session, "four")
    assert len(ledger.thread(ledger.head(session.label) or "")) == 4
    assert seen_by_ledger(ledger, session.label) == seen_by_store(session)
    assert problems(ledger) == []


def test_a_sync_at_work_is_waited_for_and_told_of_if_it_takes_too_long(url: str, tmp_path: Path) -> None:
    with Ledger.open(url) as ledger, Ledger.open(url) as other, ExitStack() as held:
        folder = PiFolder(ledger, str(tmp_path / "sessions"))
        session = folder.begin("/")
        held.enter_context(turnstile.alone(other))
        folder._intake = Intake(ledger, "pi", patience_ms=50)  # noqa: SLF001 - not half a minute, here
        with pytest.raises(LedgerBehind, match="the next `ldg sync` takes it"):
            session.say(bodies.user("is written", AT))
        assert seen_by_store(session) == ["is written"]
        assert ledger.counts()["turns"] == 0
        folder._intake = Intake(ledger, "pi")  # noqa: SLF001
        threading.Timer(0.2, held.close).start()
        session.say(bodies.assistant("so is this", AT, provider="p", model="m"))
        assert seen_by_ledger(ledger, session.label) == ["is written", "so is this"]


def test_a_watch_lets_others_write_between_its_rounds(url: str, tmp_path: Path) -> None:
    with Ledger.open(url) as ledger, Ledger.open(url) as watching:
        folder = PiFolder(ledger, str(tmp_path / "sessions"))
        session = folder.begin("/")
        sync = Sync(watching, MACHINE)
        with sync.alone():
            for number in range(3):
                assert sync.run([folder.path]).new_turns == 0
                ask(session, str(number))
                ask(folder.begin("/"), f"other {number}")
            assert sync.run([folder.path]).unchanged == 4
            assert Sync(ledger, MACHINE).run([folder.path]).unchanged == 4
            (tmp_path / "sessions" / "new.jsonl").write_text("{}\n")
            with pytest.raises(StoreBusy, match="another sync"):
                Sync(ledger, MACHINE).run([folder.path])
        assert seen_by_ledger(ledger, session.label) == seen_by_store(session)
        assert (ledger.counts()["turns"], ledger.verify().is_good, problems(ledger)) == (6, True, [])
        captures = ledger.database.ask("SELECT path FROM captures")
        assert len(captures) == len(set(captures)) == 4


def test_a_lock_of_the_living_is_waited_for_and_one_of_the_dead_is_nobodys(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    lock = Path(f"{path}.lock")
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    for said in (f'{{"pid": {int(dead.stdout)}}}', f'{{"pid": {os.getpid()}, "starttime": "1"}}', '{"pid": -1}'):
        lock.write_text(said)
        with locked(path, 1000):
            assert str(os.getpid()) in lock.read_text()
        assert not lock.exists()
    lock.write_text("")
    os.utime(lock, (1, 1))
    with locked(path, 1000):
        pass
    lock.write_text(f'{{"pid": {os.getppid()}}}')
    with pytest.raises(StoreBusy, match=str(os.getppid())), locked(path, 50):
        pass
    assert lock.exists()


# kills

WRITER = """
import sys
from tests.stores.test_together import speak
speak(sys.argv[1], sys.argv[2], sys.argv[3], 10_000, int(sys.argv[4]))
"""


@pytest.mark.parametrize(("seed", "keep"), [(1, 0), (2, 3)])
def test_a_kill_at_any_point_leaves_files_that_open_and_a_ledger_that_the_next_sync_completes(
    tmp_path: Path, seed: int, keep: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - reproducible
    url, folder = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "agents" / "main" / "sessions"
    Ledger.open(url).close()
    for life in range(3):
        command = [sys.executable, "-c", WRITER, url, str(folder), f"life {life}", str(keep)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(chance.randrange(2, 6)):
                assert process.stdout.readline()
            process.kill()
        (path,) = list(folder.glob("*.jsonl"))
        lines = path.read_bytes().split(b"\n")
        assert msgspec.json.decode(lines[0])["type"] == "session"
        assert len([line for line in lines[:-1] if not is_json(line)]) <= life  # half a line for each that was killed
        msgspec.json.decode((folder / "sessions.json").read_bytes())
    with Ledger.open(url) as ledger, Ledger.open(f"sqlite:///{tmp_path}/new.db") as new:
        Sync(ledger, MACHINE).run([str(folder)])
        Sync(new, MACHINE).run([str(folder)])
        session = PiStore(ledger, str(folder)).session("main")
        told = seen_by_store(session)
        assert told
        assert seen_by_ledger(ledger, session.label)[-len(told) :] == told
        assert seen_by_ledger(new, session.label) == seen_by_ledger(ledger, session.label)
        assert keep or len(seen_by_ledger(ledger, session.label)) == len(told)
        parents = session.transcript.parents()
        assert set(parents.values()) <= {None, *parents}
        assert (ledger.verify().is_good, len(ledger.roots())) == (True, 1)


def is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return True


def test_a_ledger_of_stores_can_be_built_again_from_its_evidence(tmp_path: Path) -> None:
    with Ledger.open(f"sqlite:///{tmp_path}/a.db") as ledger:
        store = PiStore(ledger, str(tmp_path / "agents" / "main" / "sessions"))
        for key in ("main", "cron:x"):
            for number in range(4):
                ask(store.session(key), str(number))
        first = ask(store.session("main"), "last")
        ask(store.fork("main", "explicit:fork", first), "fork")
        store.cut("cron:x", keep=5)
        ask(store.session("cron:x"), "after")
        report = rebuild(ledger, f"sqlite:///{tmp_path}/b.db")
        assert (report.same, report.not_rebuilt, report.turns) == (True, 0, 11)
