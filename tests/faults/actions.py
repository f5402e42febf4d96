"""The actions that are put under faults. A new one is a class here and a place in `ACTIONS`.

Each says what it begins with (`prepare`), what it does (`run`: it reports each thing that the product acknowledges),
what must hold of its own files afterwards (`look`), and how it is tried once more (`repeat`).
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec import Struct

from agents_ledger import Call, Ledger, Message, Turn, Usage
from agents_ledger.capture.forking import fork_into
from agents_ledger.capture.sync import Sync
from agents_ledger.ledger.digest import digest
from agents_ledger.ledger.restore import restore
from agents_ledger.model.formats import Machine
from agents_ledger.model.rows import Record
from agents_ledger.store import open_database
from agents_ledger.store.migrate import apply, pending
from tests.crash.processes import run_all
from tests.faults.operations import Ack
from tests.faults.places import Place
from tests.faults.steady import BEFORE, LATER, open_ledger

TESTS = Path(__file__).parents[1]
_LARGE = "overflow pages " * 600  # 9 KB: more than two pages
_BESIDE = re.compile(r"-(?:wal|shm|journal)$")  # what SQLite puts beside a file
_PARTIAL = (".new", ".partial", ".tmp", ".lock")  # names of files that nobody takes for complete ones


class Said(Struct, frozen=True):
    """How an action reports."""

    tell: Callable[[Ack], None]
    unwatched: Callable[[], AbstractContextManager[None]]  # what happens in it is not the product's doing

    def turn(self, ledger_turn: str, texts: Sequence[str]) -> None:
        """A finished turn, with the texts of its messages."""
        self.tell(Ack("turn", ledger_turn, list(texts)))

    def step(self, ledger_turn: str, text: str) -> None:
        """A text of a live turn: a message's, or a result."""
        self.tell(Ack("step", ledger_turn, text))

    def file(self, place: Place, path: Path) -> None:
        """A complete file."""
        with self.unwatched():
            self.tell(Ack("file", os.path.relpath(path, place.disk), hashlib.sha256(path.read_bytes()).hexdigest()))

    def done(self, name: str) -> None:
        """Anything else."""
        self.tell(Ack("done", name))


class Action:
    """One action of the product."""

    name = ""
    has_ledger = True  # from the beginning

    def prepare(self, place: Place) -> None:
        """What is there before it: by default a ledger with four turns."""
        with open_ledger(place, BEFORE) as ledger:
            for number in range(4):
                ledger.append("main", said(f"before {number}"))

    def prepare_small(self, place: Place) -> None:
        """The same with as few operations as possible: each of them is failed in up to four ways."""
        self.prepare(place)

    def run(self, place: Place, report: Said, rounds: int) -> None:
        """Does it; `rounds` times what can be done several times."""
        raise NotImplementedError

    def look(self, place: Place, ledger: Ledger, acks: Sequence[Ack]) -> Iterator[str]:
        """What is wrong beside the ledger itself."""
        yield from (f"{path} is visible" for path in visible(place))

    def repeat(self, place: Place, ledger: Ledger, expected: str) -> Iterator[str]:
        """Does it again, where nothing fails; gives what is wrong. `expected`: the digest of a run without faults."""
        head = ledger.append("main", said("afterwards"))
        if ledger.head("main") != head:
            yield "the next append has not moved the head"


class Create(Action):
    """A new ledger, and its first turn."""

    name = "create"
    has_ledger = False

    def prepare(self, place: Place) -> None:
        """Nothing is there."""

    def run(self, place: Place, report: Said, rounds: int) -> None:
        with open_ledger(place) as ledger:
            report.done("opened")
            append(ledger, report, "first")


class Append(Action):
    """Finished turns, appended to a ledger whose last writer was killed; the log is brought into the file often."""

    name = "append"

    def prepare(self, place: Place) -> None:
        super().prepare(place)
        run_all([lambda _: _leave_a_log(place)])

    def run(self, place: Place, report: Said, rounds: int) -> None:
        with open_ledger(place) as ledger:
            for number in range(rounds):
                if number == rounds // 2:
                    checkpoint_often(ledger)
                append(ledger, report, f"new {number}")


class Live(Action):
    """A live turn: messages, a call, streamed words."""

    name = "live turn"

    def run(self, place: Place, report: Said, rounds: int) -> None:
        with open_ledger(place) as ledger:
            for number in range(rounds):
                if number == rounds // 2:
                    checkpoint_often(ledger)
                self._turn(ledger, report, str(number))

    def repeat(self, place: Place, ledger: Ledger, expected: str) -> Iterator[str]:
        yield from super().repeat(place, ledger, expected)
        with ledger.turn("live", "afterwards") as turn:
            turn.reply("an answer")
        if ledger.head("live") != turn.id:
            yield "the next live turn has not moved the head"

    def _turn(self, ledger: Ledger, report: Said, name: str) -> None:
        question, words, answer = f"question {name}", f"streamed {name} {_LARGE}", f"answer {name}"
        with ledger.turn("live", question, model="m", tools=["Shell"]) as turn:
            report.step(turn.id, question)
            call = turn.call("Shell", {"command": f"make {name}"})
            call.complete(f"made {name}")
            report.step(turn.id, f"made {name}")
            turn.stream(words)
            turn.reply()
            report.step(turn.id, words)
            turn.reply(answer, usage=Usage(input=7, output=3))
            report.step(turn.id, answer)
        report.turn(turn.id, [question, words, answer])


class Fork(Action):
    """A session at an earlier turn, then sessions in the files of agents: one file, a folder, a file with an index."""

    name = "fork"
    agents = ("claude-code", "agentuse", "openclaw")

    def run(self, place: Place, report: Said, rounds: int) -> None:
        with open_ledger(place) as ledger:
            head = ledger.head("main")
            assert head is not None
            label = ledger.fork(ledger.ancestry(head)[1], "a fork").label
            report.tell(Ack("session", label))
            for agent in self.agents[:rounds]:
                made = fork_into(ledger, machine_of(place), head, agent)
                for path in [Path(made.path)] if not made.is_folder else files_in(Path(made.path)):
                    report.file(place, path)
                report.tell(Ack("session", made.session))

    def look(self, place: Place, ledger: Ledger, acks: Sequence[Ack]) -> Iterator[str]:
        registered = {Path(row[0]).name for row in ledger.database.ask("SELECT path FROM written_sessions")}
        for path in visible(place):
            below = path.relative_to(place.disk)
            if not any(part in registered for part in below.parts) and path.name != "sessions.json":
                yield f"{below} is visible, and its session is not in the ledger"
            if problem := not_whole(path):
                yield f"{below} {problem}"

    def repeat(self, place: Place, ledger: Ledger, expected: str) -> Iterator[str]:
        yield from super().repeat(place, ledger, expected)
        head = ledger.head("main")
        assert head is not None
        made = Path(fork_into(ledger, machine_of(place), head, "openclaw").path)
        if problem := not_whole(made):
            yield f"forked once more, {made.name} {problem}"


class Compact(Action):
    """A compaction, a turn, another compaction."""

    name = "compact"

    def run(self, place: Place, report: Said, rounds: int) -> None:
        with open_ledger(place) as ledger:
            for number in range(rounds):
                if number == rounds // 2:
                    checkpoint_often(ledger)
                summary = f"summary {number} {_LARGE}"
                turn_id = ledger.compact("main", summary, keep=1)
                report.tell(Ack("compaction", turn_id, summary))
                append(ledger, report, f"after compaction {number}")

    def repeat(self, place: Place, ledger: Ledger, expected: str) -> Iterator[str]:
        yield from super().repeat(place, ledger, expected)
        made = ledger.compact("main", "once more", keep=1)
        if ledger.head("main") != made or ledger.context(made).summary != "once more":
            yield "the next compaction is not in effect"


class Capture(Action):
    """Two syncs of agents' files: lines, a document's rows in a database; between them a file grows."""

    name = "sync"
    _growing = "claude-code/00000000-1111-4222-8333-000000000001.jsonl"

    def prepare(self, place: Place) -> None:
        self.prepare_small(place)
        shutil.copytree(TESTS / "golden/pi/v3/source", place.sources / "pi")
        growing = place.sources / self._growing
        lines = growing.read_bytes().splitlines(keepends=True)
        growing.write_bytes(b"".join(lines[: len(lines) // 2]))

    def prepare_small(self, place: Place) -> None:
        """Two sources, which are whole from the beginning."""
        open_ledger(place, BEFORE).close()
        for case, name in (("claude-code/rewind", "claude-code"), ("cursor/cli-store", "cursor")):
            shutil.copytree(TESTS / "golden" / case / "source", place.sources / name)
        shutil.copy(place.sources / self._growing, place.sources / "whole.txt")

    def run(self, place: Place, report: Said, rounds: int) -> None:
        with open_ledger(place) as ledger:
            for name in ("first", "second")[:rounds]:
                self._sync(place, ledger)
                with report.unwatched():
                    for row in ledger.database.query("SELECT id FROM turns WHERE seal_seq > 0")[1]:
                        report.turn(row[0], texts_of(ledger.get(row[0])))
                    if ledger.database.query("SELECT count(*) FROM problems")[1] == [(0,)]:
                        report.done(name)
                    self._grow(place)

    def repeat(self, place: Place, ledger: Ledger, expected: str) -> Iterator[str]:
        self._grow(place)
        self._sync(place, ledger)
        if digest(ledger.database) != expected:
            yield "the next sync does not lead to what a sync without faults leads to"
        yield from super().repeat(place, ledger, expected)

    def _grow(self, place: Place) -> None:
        shutil.copyfile(place.sources / "whole.txt", place.sources / self._growing)

    def _sync(self, place: Place, ledger: Ledger) -> None:
        Sync(ledger, machine_of(place)).run([str(place.sources)])


class Backup(Action):
    """A copy of the ledger."""

    name = "backup"
    target = "copy.db"

    def run(self, place: Place, report: Said, rounds: int) -> None:
        with open_ledger(place) as ledger:
            ledger.database.backup(f"{place.disk}/{self.target}")
            report.file(place, Path(place.disk, self.target))

    def look(self, place: Place, ledger: Ledger, acks: Sequence[Ack]) -> Iterator[str]:
        for path in visible(place):
            if path.name != self.target:
                yield f"{path} is visible"
                continue
            yield from not_a_copy(path, ledger)

    def repeat(self, place: Place, ledger: Ledger, expected: str) -> Iterator[str]:
        target = Path(place.disk, self.target)
        if target.exists():  # complete, as `look` has found
            target = target.with_name("another.db")
        ledger.database.backup(str(target))
        yield from not_a_copy(target, ledger)
        yield from super().repeat(place, ledger, expected)


class Migrate(Action):
    """A ledger of an earlier version is brought up to date."""

    name = "migrate"

    def prepare(self, place: Place) -> None:
        shutil.copy(max((TESTS / "old").glob("*.db")), place.ledger)

    def prepare_small(self, place: Place) -> None:
        """All steps but the last three were taken."""
        self.prepare(place)
        database = open_database(place.url, readonly=False)
        try:
            for step in pending(database)[:-3]:
                apply(database, step)
        finally:
            database.close()

    def run(self, place: Place, report: Said, rounds: int) -> None:
        with open_ledger(place) as ledger:
            report.done("migrated")
            append(ledger, report, "after the migration")


class Restore(Action):
    """A backup takes the place of a ledger that has gone on since."""

    name = "restore"
    backup = "copy.db"

    def prepare(self, place: Place) -> None:
        super().prepare(place)
        with open_ledger(place, LATER) as ledger:
            ledger.database.backup(f"{place.disk}/{self.backup}")
            for number in range(2):
                ledger.append("main", said(f"later {number}"))

    def run(self, place: Place, report: Said, rounds: int) -> None:
        restore(f"{place.disk}/{self.backup}", str(place.ledger))
        report.done("restored")
        with open_ledger(place) as ledger:
            append(ledger, report, "after the restore")

    def look(self, place: Place, ledger: Ledger, acks: Sequence[Ack]) -> Iterator[str]:
        """The ledger is the one before or the backup, whole; the backup is as it was, the replaced file beside."""
        asked = {text for (text,) in ledger.database.ask("SELECT content FROM messages WHERE role = 'user'")}
        later = {text for text in asked if text.startswith("later")}
        if not {f"before {number}" for number in range(4)} <= asked or len(later) not in (0, 2):
            yield f"the ledger is neither the one before nor the backup: {sorted(asked)}"
        if acks and later:
            yield "acknowledged, but the ledger is the one before"
        for path in visible(place):
            if path.name == self.backup:
                yield from _lacks(path, 4)
            elif not path.name.startswith(f"{place.ledger.name}.replaced"):
                yield f"{path} is visible"
            elif not later and not path.name.endswith(("-wal", "-shm", "-journal")):
                yield from _lacks(path, 6)

    def repeat(self, place: Place, ledger: Ledger, expected: str) -> Iterator[str]:
        ledger.close()
        restore(f"{place.disk}/{self.backup}", str(place.ledger))
        yield from _lacks(place.ledger, 4)


def _lacks(path: Path, turns: int) -> Iterator[str]:
    """What is wrong with a copy of a ledger that has so many turns."""
    with Ledger.open(f"sqlite:///{path}", readonly=True) as copy:
        yield from (f"{path.name}: {finding}" for finding in copy.verify().findings)
        if copy.counts()["turns"] != turns:
            yield f"{path.name} has {copy.counts()['turns']} turns, not {turns}"


ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (Create(), Append(), Live(), Fork(), Compact(), Capture(), Backup(), Migrate(), Restore())
}


def said(text: str) -> Turn:
    """A finished turn; its texts say which one it is."""
    return Turn(
        messages=(Message("user", text), Message("assistant", f"{text} {_LARGE}", thinking=f"{text}?")),
        calls=(Call("Read", {"path": text}, result=f"content of {text}"),),
        usage=Usage(input=3, output=2),
    )


def append(ledger: Ledger, report: Said, text: str) -> None:
    """Appends such a turn."""
    report.turn(ledger.append("main", said(text)), [text, f"{text} {_LARGE}"])


def texts_of(record: Record) -> list[str]:
    """The texts of a turn's messages."""
    return [row.content or "" for row in record.messages]


def checkpoint_often(ledger: Ledger) -> None:
    """From now on SQLite brings its log into the file after nearly every commit, and begins the log again."""
    ledger.database.ask("PRAGMA wal_autocheckpoint=8")


def machine_of(place: Place) -> Machine:
    """A computer whose home folder is on the disk."""
    return Machine(place.disk, {}, "linux")


def visible(place: Place) -> list[Path]:
    """Files on the disk that somebody could take for complete ones."""
    parts = [(path, path.relative_to(place.disk).parts) for path in place.files()]
    return [path for path, names in parts if not any(_BESIDE.sub("", name).endswith(_PARTIAL) for name in names)]


def files_in(folder: Path) -> list[Path]:
    """All files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def not_whole(path: Path) -> str | None:
    """What is wrong with a file of JSON or of JSON lines."""
    data = path.read_bytes()
    lines = data.splitlines() if path.suffix == ".jsonl" else [data]
    if path.suffix == ".jsonl" and not data.endswith(b"\n"):
        return "ends in the middle of a line"
    try:
        for line in lines:
            json.loads(line)
    except ValueError:
        return f"is not JSON: {data[:80]!r}"
    if path.suffix == ".jsonl" and sum(b"before 3" in line for line in lines) < 1:
        return "lacks its last turn"
    return None


def not_a_copy(path: Path, ledger: Ledger) -> Iterator[str]:
    """What is wrong with a backup of a ledger that has no more turns than it."""
    with Ledger.open(f"sqlite:///{path}", readonly=True) as copy:
        yield from (f"{path.name}: {finding}" for finding in copy.verify().findings)
        turns = "SELECT id, turn_hash FROM turns ORDER BY id"
        if copy.database.ask(turns) != ledger.database.ask(turns):
            yield f"{path.name} has other turns than the ledger"


def _leave_a_log(place: Place) -> None:
    """Writes, and ends without closing (in a child)."""
    ledger = open_ledger(place, LATER)
    for number in range(3):
        ledger.append("main", said(f"in the log {number}"))
    os._exit(0)
