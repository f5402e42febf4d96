"""A fork of any turn in an agent's own files, and in the ledger: what the real program resumes.

The same agent gets its own records back, cut behind the turn; any other one is told the story in its own words.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from agents_ledger.capture.details import Details
from agents_ledger.capture.draft import WHOLE, label_for
from agents_ledger.capture.key_index import Index
from agents_ledger.capture.origin import Evidence, folder_of, origin_of, whole_of
from agents_ledger.capture.place import Draft, drafted, drafted_folder, root_of
from agents_ledger.capture.writer import step_key
from agents_ledger.errors import BadInput, TurnIsLive
from agents_ledger.exports.agents.table import NATIVES
from agents_ledger.formats import formats
from agents_ledger.ledger import Ledger, sealing, written
from agents_ledger.ledger.captured import StepRow
from agents_ledger.ledger.records import read_record, read_turn
from agents_ledger.ledger.story import tell
from agents_ledger.ledger.threads import ancestry
from agents_ledger.model.formats import Format, Machine
from agents_ledger.model.rows import Record, WrittenRow
from agents_ledger.model.story import Held, Loss, Story
from agents_ledger.model.writing import Fork, Line, Losses, Native
from agents_ledger.store import Tx

_RANDOM_BYTES = 16


class Made(Struct, frozen=True):
    """A fork that was written."""

    session: str  # its label in the ledger
    agent: str
    agent_session: str  # its id there
    turn_id: str
    path: str
    folder: str  # where the agent is to be started
    command: tuple[str, ...]  # what resumes it
    is_in_place: bool  # it is where the program looks
    is_copy: bool  # made of the agent's own records
    lines: int  # or files, if it is a folder
    is_folder: bool
    size_bytes: int
    losses: list[Loss]


def agents() -> dict[str, tuple[Format | None, Native]]:
    """The agents that a fork can be written for, with the format that reads their files, if there is one."""
    known = {form.name: form for form in formats()}
    read: dict[str, tuple[Format | None, Native]] = {
        name: (form, native) for form in known.values() for name, native in form.natives().items()
    }
    return {name: (known.get(name), native) for name, native in NATIVES.items()} | read


def reveal() -> "Revealing":
    """What gives a story what only the evidence holds."""
    return Revealing({form.name: form for form in formats()})


class Revealing:
    """Asks the formats what their records hold."""

    def __init__(self, known: dict[str, Format]) -> None:
        self._known = known

    def __call__(self, name: str, record: bytes) -> Held:
        """The seals and pictures of a record; nothing, if its format is not here."""
        form = self._known.get(name)
        return Held() if form is None else form.held(record)


def fork_into(ledger: Ledger, machine: Machine, turn_id: str, agent: str, to: str | None = None) -> Made:
    """Writes a session that an agent resumes with exactly the history up to a turn; nothing else changes."""
    known = agents()
    if agent not in known:
        raise BadInput(f"no agent {agent!r} to fork into: there are {', '.join(sorted(known))}")
    form, native = known[agent]
    _settle(ledger, turn_id)
    now, losses = ledger.env.now(), Losses()
    with ledger.database.read() as tx:
        telling = _Telling(tx, turn_id, agent, form, native, now)
        place = native.place(machine.environ, machine.home)
        whole = Path(place, native.file(telling.fork))
        path = whole if to is None else Path(os.path.abspath(to), whole.name)  # noqa: PTH100 - links stay
        with _draft(telling, path, losses) as draft, _listing(telling, path, is_in_place=path == whole):
            _register(ledger, telling, draft)
            draft.publish()
    return _made(telling, draft, losses, is_in_place=path == whole)


def _draft(telling: "_Telling", path: Path, losses: Losses) -> AbstractContextManager[Draft]:
    lines = telling.lines(losses)
    if not telling.native.is_folder:
        return drafted(path, (line.data for line in lines))
    return drafted_folder(path, telling.label, ((line.file, line.data) for line in lines))


class _Telling:
    """One fork on its way: from which records or story, and what of it goes into the ledger."""

    def __init__(self, tx: Tx, turn_id: str, agent: str, form: Format | None, native: Native, now: int) -> None:
        record = read_record(tx, turn_id)
        self.turn_id, self.agent, self.native = turn_id, agent, native
        self.story: Story = tell(tx, turn_id, reveal())
        cwd = self.story.project or os.getcwd()  # noqa: PTH109 - as text
        self.fork = Fork(
            session=native.new_session(now, os.urandom(_RANDOM_BYTES)),
            at=now,
            cwd=cwd,
            git_branch=self.story.git_branch,
            root=root_of(cwd),
            persona=self.story.persona if self.story.origin == agent else None,
        )
        self.label = label_for(agent, self.fork.session)
        self._copied = self._copy(tx, record, form)
        if self._copied is None:
            self.story = _not_empty(self.story)
        self._tx = tx
        self._thread: frozenset[str] = frozenset()
        self.count = 0  # lines
        self.ends: dict[str, str] = {}  # of each turn the last step that was written: what follows it goes there

    @property
    def is_copy(self) -> bool:
        """Whether it is made of the agent's own records."""
        return self._copied is not None

    def lines(self, losses: Losses) -> Iterator[Line]:
        """The lines of the file, or the files of the folder."""
        told = self._copied if self._copied is not None else self.native.anew(self.story, self.fork, losses)
        for line in told:
            turn_id = line.turn_id if line.copy_of is None else self._turn_of(line.copy_of)
            if turn_id is not None and line.native_id is not None:
                self.ends[turn_id] = line.native_id
            self.count += line.count
            yield line

    def _turn_of(self, native_id: str) -> str | None:
        """The turn of the thread in which a step is."""
        self._thread = self._thread or frozenset(ancestry(self._tx, self.turn_id))
        found = self._tx.rows("steps_by_key", step_key=step_key(self.agent, self.fork.session, native_id))
        return next((turn_id for turn_id, _ in found if turn_id in self._thread), None)

    def _copy(self, tx: Tx, record: Record, form: Format | None) -> Iterator[Line] | None:
        if form is not None and self.native.again_folder is not None:
            found = folder_of(tx, record)
            is_own = found is not None and found[1].format == form.name
            return self.native.again_folder(found[0], self.fork) if found is not None and is_own else None
        origin: Evidence | None = None if form is None else origin_of(tx, record, form)
        if form is None or origin is None:
            return None if form is None else self._copy_whole(tx, record, form)
        self.fork = replace(self.fork, forked_path=origin.capture.path)
        return self.native.again(origin, self.fork)

    def _copy_whole(self, tx: Tx, record: Record, form: Format) -> Iterator[Line] | None:
        again = self.native.again_whole
        found = None if again is None else whole_of(tx, record, form)
        return None if again is None or found is None else again(found, self.fork)


def _not_empty(story: Story) -> Story:
    """A story that says something: no agent resumes a session without a message."""
    entries = iter(story.entries)
    first = next(entries, None)
    if first is None and story.summary is None:
        raise BadInput(
            f"turn {story.turn_id} leaves nothing to continue from: its compaction has no summary and keeps no message;"
            " fork an earlier turn (`ldg tree` shows them)"
        )
    return replace(story, entries=entries if first is None else chain((first,), entries))


def _settle(ledger: Ledger, turn_id: str) -> None:
    """What is forked never changes, whatever its source says later."""
    with ledger.database.read() as tx:
        if read_turn(tx, turn_id).seal_seq:
            return

    def body(tx: Tx) -> None:
        turn = read_turn(tx, turn_id)
        if turn.seal_seq is None:
            raise TurnIsLive(f"turn {turn_id} is still being written: wait until it is finished, or fork its parent")
        if turn.seal_seq == sealing.OPEN:
            sealing.seal_open(tx, ledger.env, turn_id)

    ledger.database.write(body)


def _register(ledger: Ledger, telling: _Telling, draft: Draft) -> None:
    """The new session, before its file can be seen: no sync takes it for a stranger."""
    session, label = telling.fork.session, telling.label
    row = WrittenRow(
        label, telling.turn_id, str(draft.path), draft.head, draft.size_bytes, draft.digest, telling.fork.at
    )
    steps = [
        StepRow(step_key(telling.agent, session, native_id), turn_id, WHOLE)
        for turn_id, native_id in telling.ends.items()
    ]
    known = Details(label, title=telling.story.title, project=telling.fork.cwd, forked_from=telling.story.session)

    def body(tx: Tx) -> None:
        written.register(tx, ledger.env, row, telling.agent, session)
        tx.run_all("insert_step", steps)
        tx.run_all("put_details", [known])

    ledger.database.write(body)


@contextmanager
def _listing(telling: _Telling, path: Path, *, is_in_place: bool) -> Iterator[None]:
    """Puts the session into the program's own list, if it has one: that is read before, and written behind the file."""
    if telling.native.listed is None or not is_in_place:
        yield
        return
    key, entry = telling.native.listed(telling.fork, str(path))
    with Index(str(path.parent)).changing() as entries:
        yield
        entries[key] = entry


def _made(telling: _Telling, draft: Draft, losses: Losses, *, is_in_place: bool) -> Made:
    fork = telling.fork
    command = telling.native.resume(fork.session, str(draft.path))
    is_named = any(str(draft.path) in word for word in command)  # the program is told where it is
    return Made(
        session=telling.label,
        agent=telling.agent,
        agent_session=fork.session,
        turn_id=telling.turn_id,
        path=str(draft.path),
        folder=fork.cwd,
        command=command,
        is_in_place=is_in_place or is_named,
        is_copy=telling.is_copy,
        lines=telling.count,
        is_folder=telling.native.is_folder,
        size_bytes=draft.size_bytes,
        losses=losses.listed(),
    )
