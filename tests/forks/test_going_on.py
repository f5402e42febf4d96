"""A fork that its agent goes on with: one tree, the shared turns once, the original as it was."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents_ledger import Ledger
from agents_ledger.capture import resuming
from agents_ledger.capture.catalog import captures_of
from agents_ledger.capture.forking import fork_into
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.capture.sync import Sync
from agents_ledger.ledger import evidence
from agents_ledger.model.formats import Machine
from tests.capture.folders import GOLDEN, assert_sound, copy, opened
from tests.forks.going_on import go_on, import_gemini

SOURCES = {
    "claude-code": ("claude-code/chat-with-tools", "claude-code:"),
    "codex": ("codex/tools", "codex:"),
    "pi": ("pi/fork-of-a-tool-session", "pi:"),
    "agentuse": ("agentuse/resumed", "agentuse:"),
    "openclaw": ("pi/openclaw", "openclaw:"),
    "qwen": ("qwen/compression", "qwen:"),
    "gemini": ("gemini/tools-resumed-and-compressed", "gemini:"),
    "opencode": ("opencode/compaction", "opencode:"),
}
AGENTS = ("claude-code", "codex", "pi", "openclaw", "agentuse", "qwen", "gemini", "opencode")


class Home:
    """A home folder with one agent's sessions in it, captured."""

    def __init__(self, ledger: Ledger, folder: Path, source: str) -> None:
        name, prefix = SOURCES[source]
        copy(GOLDEN / name / "source", folder / "source")
        (folder / "home").mkdir()
        self.ledger = ledger
        self.machine = Machine(str(folder / "home"), {}, "linux")
        self.given = str(folder / "source")
        self.sync()
        labels = [line.session.label for line in ledger.sessions(limit=100)]
        self.label = max((one for one in labels if one.startswith(prefix)), key=lambda one: len(self.path(one)))

    def sync(self) -> int:
        """Takes in the source and all that was written; gives how many turns were new."""
        return Sync(self.ledger, self.machine).run([self.given, self.machine.home]).new_turns

    def files(self) -> dict[str, tuple[bytes, bytes]]:
        """The original's files: what they are, and what of them is in evidence."""
        captured = {capture.path: capture.id for capture in captures_of(self.ledger, self.label)}
        files = {path: path.partition(".db#")[0] + (".db" if ".db#" in path else "") for path in captured}
        return {path: (Path(files[path]).read_bytes(), self._kept(number)) for path, number in captured.items()}

    def _kept(self, capture_id: int) -> bytes:
        with self.ledger.database.read() as tx:
            return b"".join(evidence.read(tx, capture_id))

    def path(self, label: str) -> list[str]:
        head = self.ledger.head(label)
        return [] if head is None else self.ledger.ancestry(head)


@pytest.fixture(params=sorted(SOURCES))
def home(ledger: Ledger, tmp_path: Path, request: pytest.FixtureRequest) -> Home:
    return Home(ledger, tmp_path, request.param)


def test_what_agents_add_is_attached_to_the_turn(home: Home) -> None:
    """The first, a middle and the last turn, in every agent: the same one, and all others."""
    path, ledger = home.path(home.label), home.ledger
    files = home.files()
    before = {turn: (ledger.get(turn), ledger.context(turn)) for turn in path}
    turns = dict.fromkeys((path[0], path[len(path) // 2], path[-1]))
    forks = [fork_into(ledger, home.machine, turn, agent) for agent in AGENTS for turn in turns]
    assert [home.path(made.session) for made in forks] == [path[: path.index(made.turn_id) + 1] for made in forks]
    assert home.sync() == 0
    for made in forks:
        go_on(made, f"first in {made.agent_session}")
    assert home.sync() == len(forks)
    for made in forks:
        go_on(made, f"second in {made.agent_session}", tick=2)
    assert home.sync() == len(forks)
    assert home.sync() == 0
    for made in forks:
        shared = path[: path.index(made.turn_id) + 1]
        grown = home.path(made.session)
        assert grown[: len(shared)] == shared
        said = [row.content for turn in grown[len(shared) :] for row in ledger.get(turn).messages]
        first, second = (f"{word} in {made.agent_session}" for word in ("first", "second"))
        assert said == [first, f"To {first}", second, f"To {second}"]
    assert home.path(home.label) == path
    assert home.files() == files
    for turn, (record, context) in before.items():
        now = ledger.get(turn)
        assert (now.messages, now.calls, ledger.context(turn)) == (record.messages, record.calls, context)
        assert record.turn.turn_hash in (now.turn.turn_hash, b"")  # sealed at the latest when it was forked
    assert_sound(ledger)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_fork_is_found_again_however_much_was_added_at_once(tmp_path: Path, agent: str) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        home = Home(ledger, tmp_path, "claude-code")
        turn = home.path(home.label)[0]
        made = fork_into(home.ledger, home.machine, turn, agent)
        go_on(made, "one")
        go_on(made, "two")
        assert home.sync() == 2
        assert home.path(made.session)[:1] == [turn]
        assert len(home.path(made.session)) == 3


def test_a_rebuilt_ledger_has_the_same_forks(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        home = Home(ledger, tmp_path, "claude-code")
        turns = home.path(home.label)
        grown = [fork_into(ledger, home.machine, turn, agent) for turn, agent in zip(turns, AGENTS, strict=False)]
        for made in grown:
            go_on(made, "and then?")
        home.sync()
        fork_into(ledger, home.machine, turns[0], "codex")  # nobody has gone on with this one
        report = rebuild(ledger, f"sqlite:///{tmp_path}/again.db")
        assert report.same
        with Ledger.open(f"sqlite:///{tmp_path}/again.db") as again:
            assert [again.head(made.session) for made in grown] == [ledger.head(made.session) for made in grown]
            assert_sound(again)


def test_a_fork_that_gemini_takes_in_under_another_id_is_of_the_same_tree(ledger: Ledger, tmp_path: Path) -> None:
    home = Home(ledger, tmp_path, "claude-code")
    path = home.path(home.label)
    made = fork_into(ledger, home.machine, path[1], "gemini")
    taken = import_gemini(made, "0f3a0f3a-0000-4000-8000-000000000000")
    label = "gemini:0f3a0f3a-0000-4000-8000-000000000000"
    assert home.sync() == 0
    assert home.path(label) == home.path(made.session) == path[:2]
    go_on(replace(made, path=str(taken)), "one")
    assert home.sync() == 1
    go_on(replace(made, path=str(taken)), "two", tick=2)
    assert home.sync() == 1
    assert home.sync() == 0
    assert home.path(label)[:2] == path[:2]
    said = [
        row.content for turn in home.path(label)[2:] for row in ledger.get(turn).messages if row.source != "context"
    ]
    assert said == ["one", "To one", "two", "To two"]
    assert home.path(made.session) == path[:2]
    assert_sound(ledger)
    report = rebuild(ledger, f"sqlite:///{tmp_path}/again.db")
    assert report.same


@pytest.mark.parametrize("source", ["claude-code", "gemini"])
def test_whoever_goes_back_in_a_fork_goes_back_to_a_turn_of_its_origin(source: str, tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        home = Home(ledger, tmp_path, source)
        path = home.path(home.label)
        made = fork_into(ledger, home.machine, path[1], "gemini")
        assert made.is_copy == (source == "gemini")
        taken = import_gemini(made, "0f3a0f3a-0000-4000-8000-000000000000")
        lines = [json.loads(line) for line in taken.read_text(encoding="utf-8").splitlines()]
        said = [line for line in lines if line.get("type") == "user"]
        last = [line["id"] for line in said if "functionResponse" not in json.dumps(line["content"])][-1]
        asked = {"id": "instead" * 5, "timestamp": "2026-11-20T10:00:00.000Z", "type": "user", "content": "instead"}
        with taken.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in ({"$rewindTo": last}, asked))
        assert home.sync() == 1
        assert home.path("gemini:0f3a0f3a-0000-4000-8000-000000000000")[:-1] == path[:1]


@pytest.mark.parametrize("source", ["claude-code", "opencode"])
def test_what_is_taken_back_in_opencode_is_a_turn_of_the_origin(source: str, tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        home = Home(ledger, tmp_path, source)
        path = home.path(home.label)
        made = fork_into(ledger, home.machine, path[-1], "opencode")
        go_on(made, "one")
        assert home.sync() == 1
        told = json.loads(Path(made.path).read_bytes())["messages"]
        last = [message["info"]["id"] for message in told if message["info"]["role"] == "user"][-1]
        database = Path(made.path).parents[1] / "opencode.db"
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("UPDATE session SET revert = ?", (json.dumps({"messageID": last}),))
        os.utime(database, (1_795_000_900, 1_795_000_900))
        assert home.sync() == 0
        assert home.path(made.session) == path[:-1]


@pytest.mark.parametrize("agent", ["gemini", "opencode"])
def test_copies_of_every_turn_go_on_in_one_tree_and_are_rebuilt(agent: str, tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        home = Home(ledger, tmp_path, agent)
        path = home.path(home.label)
        made = [fork_into(ledger, home.machine, turn, agent) for turn in path]
        for number, each in enumerate(made, 1):
            go_on(each, f"and {number}?", tick=number)
        assert (home.sync(), home.sync()) == (len(path), 0)
        assert [home.path(each.session)[:-1] for each in made] == [path[:number] for number in range(1, len(path) + 1)]
        assert home.path(home.label) == path
        assert rebuild(ledger, f"sqlite:///{tmp_path}/again.db").same


def test_a_fork_of_a_fork_into_a_third_agent_holds_all_of_it(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        home = Home(ledger, tmp_path, "claude-code")
        first = fork_into(ledger, home.machine, home.path(home.label)[0], "codex")
        go_on(first, "asked in Codex")
        home.sync()
        head = ledger.head(first.session) or ""
        again = fork_into(ledger, home.machine, head, "codex")
        assert again.is_copy
        second = fork_into(ledger, home.machine, head, "pi")
        go_on(second, "asked in pi")
        home.sync()
        assert home.path(second.session)[:-1] == ledger.ancestry(head)
        text = Path(second.path).read_text(encoding="utf-8")
        assert text.index("hi-from-tool") < text.index("asked in Codex") < text.index("asked in pi")


@pytest.mark.parametrize(
    ("name", "label", "command"),
    [
        ("opencode/subagent", "opencode:ses_e1c3436c2ffeyAe7z4bsSrT9us", ("opencode", "--session")),
        ("opencode/tree-of-1.1", "opencode:ses_e1c2cca1effe8CMAApDDzV5y61", ("opencode", "--session")),
        ("opencode/exports", "opencode:ses_eeeeeeeeeeeeFAKEHAND000001", ("sh", "-c")),
        ("gemini/image", "gemini:bd42dbb8-a6bd-4b69-a9ef-243bec40b4de", ("gemini", "--resume")),
        ("gemini/document-of-0.10", "gemini:eb91d7f9-3023-4216-bfe4-5d0c58f98c1e", ("gemini", "--resume")),
    ],
)
def test_a_session_is_opened_where_its_agent_keeps_it(
    name: str, label: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        Sync(ledger, Machine(str(tmp_path), {}, "linux")).run([str(GOLDEN / name / "source")])
        found = resuming.opened(ledger, label)
        assert found.command[:2] == command
        assert label.partition(":")[2] in found.command[2]
        assert Path(found.path).exists()


@pytest.mark.parametrize(("agent", "command"), [("gemini", ("gemini", "--session-file")), ("opencode", ("sh", "-c"))])
def test_a_fork_is_opened_by_its_file_until_its_agent_has_it(
    agent: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        home = Home(ledger, tmp_path, "claude-code")
        made = fork_into(ledger, home.machine, home.path(home.label)[0], agent)
        assert resuming.opened(ledger, made.session).command[:2] == command
        go_on(made, "one")
        home.sync()
        found = resuming.opened(ledger, made.session).command
        assert found[:2] == (command if agent == "gemini" else ("opencode", "--session"))
