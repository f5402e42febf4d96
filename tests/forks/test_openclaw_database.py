"""Forks of sessions in openclaw's database, and forks that it has taken into it: one tree, the original as it was."""

import json
import os
from pathlib import Path

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.forking import Made, fork_into
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.capture.resuming import opened
from agents_ledger.capture.sync import Sync
from agents_ledger.model.formats import Machine
from tests.capture.folders import GOLDEN, assert_sound, copy
from tests.forks.going_on import pi_exchange
from tests.formats import openclaw_rows as db

_LARGEST = 1 << 20  # of a row that is not packed: what openclaw notes beside packed ones is left out here
OWN = "openclaw:86b38f22-4594-4c0b-8144-76c0b2454003"


class Home:
    """A home with sessions of openclaw, and of Claude Code, captured."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        copy(GOLDEN / "pi" / "openclaw-database" / "source", folder / "home")
        copy(GOLDEN / "claude-code" / "chat-with-tools" / "source", folder / "home" / ".claude" / "projects")
        self.ledger, self.path = ledger, folder / "home"
        self.machine = Machine(str(self.path), {}, "linux")
        self.tick = 2_000_000_000
        self.sync()

    def sync(self) -> int:
        """What is new; how many turns that are."""
        return Sync(self.ledger, self.machine).run().new_turns

    def turns(self, label: str) -> list[str]:
        return [turn.id for turn in self.ledger.path(self.ledger.head(label) or "")]

    def take_in(self, made: Made) -> None:
        """What `openclaw doctor --session-sqlite import` does: lines become rows, the file is put aside."""
        path, file = db.database(self.path), Path(made.path)
        lines = [
            json.dumps(json.loads(line), separators=(",", ":")).encode() for line in file.read_bytes().splitlines()
        ]
        db.append(path, made.agent_session, lines, largest=_LARGEST)
        archive = self.path / db.AGENT / "session-sqlite-import-archive" / f"x.{made.agent_session}.jsonl.imported-1"
        archive.parent.mkdir(exist_ok=True)
        file.rename(archive)
        self._touch(path)

    def go_on(self, made: Made, question: str) -> None:
        """Another exchange behind the last row."""
        path = db.database(self.path)
        lines = [json.loads(line) for line in db.lines_of(path, made.agent_session)]
        added = [json.dumps(line).encode() for line in pi_exchange(made, lines, question)]
        db.append(path, made.agent_session, added)
        self._touch(path)

    def _touch(self, path: Path) -> None:
        self.tick += 1
        os.utime(path, (self.tick, self.tick))


@pytest.fixture
def home(tmp_path: Path, ledger: Ledger) -> Home:
    return Home(ledger, tmp_path)


def claude(home: Home) -> str:
    return next(
        line.session.label
        for line in home.ledger.sessions(limit=100)
        if line.session.origin == "claude-code"
        and not line.session.is_subagent
        and home.ledger.head(line.session.label)
    )


def test_a_fork_is_made_of_the_rows_themselves(home: Home) -> None:
    turns = home.turns(OWN)
    for at in (0, 4, len(turns) - 1):
        made = fork_into(home.ledger, home.machine, turns[at], "openclaw")
        lines = Path(made.path).read_bytes().splitlines()
        header = json.loads(lines[0])
        assert (made.is_copy, made.losses, header["version"]) == (True, [], 4)
        assert header["parentSession"].startswith(f"sqlite:main:{OWN.partition(':')[2]}:")
        kept = set(db.lines_of(home.path / db.DATABASE, OWN.partition(":")[2]))
        assert set(lines[1:]) <= kept
        assert made.command[-1].startswith("openclaw doctor --session-sqlite import && openclaw agent --session-id ")


@pytest.mark.parametrize("source", ["openclaw", "claude-code"])
def test_what_openclaw_adds_to_a_fork_is_attached(home: Home, source: str, tmp_path: Path) -> None:
    label = OWN if source == "openclaw" else claude(home)
    turns = home.turns(label)
    cut = turns[: max(1, len(turns) // 2)]
    hashes = [home.ledger.get(turn).turn.turn_hash for turn in turns[:-1]]
    made = fork_into(home.ledger, home.machine, cut[-1], "openclaw")
    assert home.sync() == 0
    home.take_in(made)
    assert home.sync() == 0
    for count, question in enumerate(("And now?", "And then?"), 1):
        home.go_on(made, question)
        assert home.sync() == 1
        path = home.turns(made.session)
        assert (path[: len(cut)], len(path)) == (cut, len(cut) + count)
    assert home.turns(label) == turns
    assert [home.ledger.get(turn).turn.turn_hash for turn in turns[:-1]] == hashes
    assert_sound(home.ledger)
    assert rebuild(home.ledger, f"sqlite:///{tmp_path}/rebuilt.db").same


def test_a_fork_is_opened_where_it_is(home: Home) -> None:
    made = fork_into(home.ledger, home.machine, home.turns(OWN)[0], "openclaw")
    assert opened(home.ledger, made.session).command == made.command  # it is not taken in yet
    home.take_in(made)
    home.go_on(made, "And now?")
    home.sync()
    found = opened(home.ledger, made.session)
    assert (found.path, found.command) == (
        str(home.path / db.DATABASE),
        ("openclaw", "agent", "--session-id", made.agent_session),
    )


def test_a_session_of_another_agent_in_openclaw_is_forked_beside_it(tmp_path: Path, ledger: Ledger) -> None:
    path = db.database(tmp_path)
    target = tmp_path / ".openclaw" / "agents" / "work" / "agent" / path.name
    target.parent.mkdir(parents=True)
    db.session(path, "s1", "agent:work:main", db.chat("s1", "one"))
    path.rename(target)
    machine = Machine(str(tmp_path), {}, "linux")
    Sync(ledger, machine).run()
    made = fork_into(ledger, machine, ledger.head("openclaw:s1") or "", "openclaw")
    assert Path(made.path).parent == target.parents[1] / "sessions"
    assert "import --session-sqlite-agent work && openclaw agent --agent work --session-id" in made.command[-1]
    (key,) = json.loads((Path(made.path).parent / "sessions.json").read_text())
    assert key == f"agent:work:explicit:{made.agent_session}"
