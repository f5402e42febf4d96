"""What the documents show is what the program does. `GOLDEN=write` rewrites the screens (`make golden`)."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from contextlib import chdir
from itertools import count
from pathlib import Path
from typing import NamedTuple, get_args

import apsw
import click
import pytest
from click.testing import CliRunner

import agents_ledger
from agents_ledger import Ledger
from agents_ledger.cli.main import cli
from agents_ledger.formats import formats
from agents_ledger.model import entries
from agents_ledger.model.steps import ProblemCode
from tests.support.homes import go_home, settle

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "agents_ledger"
README, ARCHITECTURE = ROOT / "README.md", ROOT / "ARCHITECTURE.md"
WORDS, DECISIONS = ROOT / "docs" / "words.md", ROOT / "docs" / "decisions.md"
FORMATS, PROBLEMS = ROOT / "docs" / "formats.md", ROOT / "docs" / "problems.md"
AGENT_OS, FORKING = ROOT / "docs" / "agent-os.md", ROOT / "docs" / "forking.md"
DOCUMENTS = [README, ARCHITECTURE, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", WORDS, DECISIONS, FORMATS, PROBLEMS]
DOCUMENTS += [AGENT_OS, FORKING, ROOT / "docs" / "exports.md", ROOT / "docs" / "compaction.md"]
DOCUMENTS += [ROOT / "docs" / "tour.md"]  # its screens are those of test_tour.py
DOCUMENTS += [ROOT / "docs" / "session-keys.md", ROOT / "docs" / "stores.md"]
READERS_HOME = "/home/ada"  # what stands for the home folder in the README

_BLOCK = re.compile(r"(?:<!-- (screen|run): (\w+) -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")
_ULID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9A-HJKMNP-TV-Z]{8}\b")
_TIMES = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3}Z)?"), "TIME"),
    (re.compile(r"\b\d+ (?:s|min|h|d) ago\b"), "AGO"),
    (re.compile(r"\b\d+(?:\.\d)? [KMG]?B/s"), "RATE"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"\b\d+(?:\.\d)? m?s\b"), "TOOK"),
]


class Block(NamedTuple):
    """A fenced block: how it is marked (`screen: agents`, `run: example`), its language and its text."""

    kind: str
    place: str
    language: str
    text: str


class Command(NamedTuple):
    """What a screen says was typed, line by line, and what it says came out."""

    typed: str
    words: list[str]
    output: str


# the screens and examples


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's home folder, in which agents have worked; nothing is captured yet."""
    folder = tmp_path / "home"
    go_home(folder, monkeypatch)
    settle(folder)
    monkeypatch.delenv("AGENTS_LEDGER_DB", raising=False)
    return folder


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_screen_and_example_is_what_happens_now(document: Path, home: Path, tmp_path: Path) -> None:
    text = document.read_text("utf-8")
    wanted = text
    for block in blocks(text):
        assert block.language != "python" or block.kind == "run", f"an example that nobody runs:\n{block.text}"
        folder = tmp_path / block.place if block.place else tmp_path
        folder.mkdir(exist_ok=True)
        with chdir(folder):
            if block.kind == "run":
                exec(compile(block.text, f"{document.name}, {block.place}", "exec"), {"__name__": "example"})  # noqa: S102 - our own example
            elif block.kind == "screen":
                now = "".join(screen(command, home) for command in commands(block.text))
                if normal(now) != normal(block.text):
                    wanted = wanted.replace(block.text, now, 1)
    if os.environ.get("GOLDEN") == "write":
        document.write_text(wanted, "utf-8")
    else:
        assert normal(text) == normal(wanted), "run `make golden`, and look at what has changed"


def test_the_examples_leave_what_is_said(tmp_path: Path) -> None:
    examples = {block.place: block.text for block in blocks(README.read_text("utf-8")) if block.kind == "run"}
    assert set(examples) == {"example", "whole", "async", "conflict"}
    for name, text in examples.items():
        (tmp_path / name).mkdir()
        with chdir(tmp_path / name):
            exec(text, {"__name__": "example"})  # noqa: S102 - our own example
            with Ledger.open("sqlite:///ledger.db", readonly=True) as ledger:
                assert ledger.verify().is_good
                SAID[name](ledger)


def said_by_the_example(ledger: Ledger) -> None:
    assert ledger.counts() == {"sessions": 2, "turns": 1, "messages": 2, "tool_calls": 1, "live": 0, "seq": 5}
    head = ledger.head("main")
    assert head is not None
    assert head == ledger.head("another-way")
    record = ledger.get(head)
    assert (record.turn.status, record.turn.total_tokens) == ("completed", 940)
    assert (record.calls[0].result_json, record.messages[1].thinking) == ('{"exit":0}', "…")
    assert [move.reason for move in ledger.history("another-way")] == ["fork"]


def said_by_the_whole_turn(ledger: Ledger) -> None:
    assert ledger.counts()["turns"] == 1
    record = ledger.get(ledger.head("main") or "")
    assert record.calls[0].message_id == record.messages[1].id


def said_by_the_async_example(ledger: Ledger) -> None:
    assert ledger.get(ledger.head("main") or "").messages[1].content == "One word at a time."


def said_by_the_conflict(ledger: Ledger) -> None:
    answers = {label: ledger.get(ledger.head(label) or "").messages[1].content for label in ("main", "mine")}
    assert answers == {"main": "Second answer", "mine": "First answer"}
    assert len(ledger.roots()) == 2


SAID: dict[str, Callable[[Ledger], None]] = {
    "example": said_by_the_example,
    "whole": said_by_the_whole_turn,
    "async": said_by_the_async_example,
    "conflict": said_by_the_conflict,
}


# the lists


def test_the_table_of_commands_is_complete_and_each_row_fits_its_command() -> None:
    rows = [re.findall(r"`([^`]+)`", line)[0].split() for line in lines_of(README, "| `ldg")]
    context = click.Context(cli)
    assert sorted(row[1] for row in rows if len(row) > 1) == sorted(cli.list_commands(context))
    for line, row in zip(lines_of(README, "| `ldg"), rows, strict=True):
        command = cli.get_command(context, row[1]) if len(row) > 1 else cli
        assert command is not None
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        assert row[2:] == [shown(each) for each in arguments], line
        options = {name for each in command.params for name in each.opts}
        assert options.issuperset(re.findall(r"`(--\w+)", line)), line


def test_the_commands_that_go_through_a_pager_are_named() -> None:
    said = re.search(r"What ([^.]*)\ssay goes through your pager", README.read_text("utf-8"))
    context = click.Context(cli)
    commands = [command for name in cli.list_commands(context) if (command := cli.get_command(context, name))]
    known = {each.name for each in commands if any("--no-pager" in option.secondary_opts for option in each.params)}
    assert set(re.findall(r"`(\w+)`", said[1] if said else "")) == known


def test_every_public_name_is_explained() -> None:
    said = {name for line in lines_of(README, "| `") for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert said.issuperset(agents_ledger.__all__)
    assert not {name for name in said if name[0].isupper() or name.isupper()} - set(agents_ledger.__all__)


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lists = [project["build-system"]["requires"], project["project"]["dependencies"]]
    lists += [*project["project"]["optional-dependencies"].values(), *project["dependency-groups"].values()]
    needed = {re.split(r"[\[<>=~! ]", each)[0] for entries_ in lists for each in entries_} - {"agents-ledger"}
    cells = [line.split("|")[1] for line in lines_of(DECISIONS, "| `")]
    assert needed <= {name for cell in cells for name in re.findall(r"`([\w.-]+)`", cell)}


def test_the_words_name_every_table_and_no_column_that_is_not_there(tmp_path: Path) -> None:
    columns = tables(tmp_path)
    lines = lines_of(WORDS, "| `", "## Tables")
    listed = [name for line in lines for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert sorted(listed) == sorted(columns)
    named = set(re.findall(r"`(\w+)\.(\w+)`", WORDS.read_text("utf-8")))
    assert len(named) > 10
    assert not {(table, column) for table, column in named if column not in columns.get(table, ())}


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("### Turn", set(get_args(entries.TurnStatus))),
        ("### Tool call", set(get_args(entries.CallStatus))),
        ("### Session", {"active", "archived", "deleted"}),
        ("### Task", {"pending", "running", "completed", "failed"}),
        ("### Capture", {"current", "replaced", "gone"}),
        ("### Move", set(get_args(entries.Reason))),
    ],
)
def test_every_status_word_is_explained(heading: str, words: set[str]) -> None:
    assert {re.findall(r"`(\w+)`", line)[0] for line in lines_of(WORDS, "| `", heading)} == words


def test_every_code_of_a_problem_is_explained_and_no_other() -> None:
    listed = [re.findall(r"`([\w-]+)`", line)[0] for line in lines_of(PROBLEMS, "| `")]
    assert sorted(listed) == sorted(get_args(ProblemCode))


def test_every_format_has_its_paragraph() -> None:
    said = FORMATS.read_text("utf-8").lower().replace(" ", "-")
    assert not [form.name for form in formats() if f"## {form.name}".replace(" ", "-") not in said]


def test_the_samples_are_small_and_of_formats_that_are_read() -> None:
    files = [path for path in (PACKAGE / "samples").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 400 * 1024
    assert {path.relative_to(PACKAGE / "samples").parts[0] for path in files} <= {form.name for form in formats()}


def test_the_architecture_names_every_folder_and_module_and_no_other() -> None:
    drawn = next(block.text for block in blocks(ARCHITECTURE.read_text("utf-8")) if "src/agents_ledger/" in block.text)
    there = {
        path.relative_to(PACKAGE).as_posix() + ("/" if path.is_dir() else "")
        for path in PACKAGE.rglob("*")
        if path.name not in ("__pycache__", "__init__.py") and (path.is_dir() or path.suffix == ".py")
        if "samples" not in path.relative_to(PACKAGE).parts[:-1]
    }
    assert sorted(drawn_paths(drawn)) == sorted(there)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere_and_make_knows_its_targets(document: Path) -> None:
    text = document.read_text("utf-8")
    for link in _LINK.findall(text):
        if not link.startswith("https://"):
            name, _, anchor = link.partition("#")
            target = (document.parent / name).resolve() if name else document
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link
    known = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    typed = re.findall(r"(?:`|^)make ((?:[a-z]+ ?)+)", text, re.MULTILINE)
    assert known.issuperset(word for words in typed for word in words.split())


def test_the_numbers_of_the_promises_are_those_of_the_tests() -> None:
    text = README.read_text("utf-8")
    campaigns = constant("tests/crash/test_kill.py", "CAMPAIGNS")
    assert isinstance(campaigns, ast.List)
    kills = [ast.literal_eval(each) for each in campaigns.elts]
    assert f"{sum(few for _, few, _ in kills)} \N{MULTIPLICATION SIGN} `kill -9`" in text
    assert f"{sum(many for _, _, many in kills):,} kills" in text
    mutants = constant("tests/machine/mutants.py", "MUTANTS")
    assert isinstance(mutants, ast.List)
    assert f"each of {len(mutants.elts)} planted faults" in text
    steps = constant("tests/machine/test_machine.py", "STEPS")
    examples = constant("tests/machine/test_machine.py", "EXAMPLES")
    assert isinstance(examples, ast.IfExp)
    many, few = ast.literal_eval(examples.body), ast.literal_eval(examples.orelse)
    assert f"{few} histories of {ast.literal_eval(steps)} steps" in text
    assert f"{many:,} histories" in text


# how they are read


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a document."""
    for found in _BLOCK.finditer(text):
        yield Block(found[1] or "", found[2] or "", found[3], found[4])


def commands(text: str) -> list[Command]:
    """The commands of a screen; lines that begin with `> ` go on with what was typed."""
    found = []
    for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = piece.splitlines(keepends=True)
        typed = 1 + next((at for at, line in enumerate(lines[1:]) if not line.startswith("> ")), len(lines) - 1)
        words = shlex.split("".join([lines[0], *(line[2:] for line in lines[1:typed])]))
        found.append(Command("$ " + "".join(lines[:typed]), words, "".join(lines[typed:])))
    return found


def screen(command: Command, home: Path) -> str:
    """A command as it was typed, and what it prints now."""
    program, *words = [os.path.expanduser(word) for word in command.words]  # noqa: PTH111 - as a shell does it
    if program == "ldg":
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output
        printed = done.stdout
    elif shutil.which(program) is None:
        printed = command.output  # the sqlite3 shell is not installed: nobody can tell
    else:
        printed = subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
    lines = [line.rstrip() for line in printed.replace(str(home), READERS_HOME).splitlines()]
    return command.typed + "".join(f"{line}\n" for line in lines)


def normal(text: str) -> str:
    """A screen without what differs from run to run: ids become numbers in the order in which they come."""
    for pattern, word in _TIMES:
        text = pattern.sub(word, text)
    numbers, known = count(1), dict[str, str]()
    return _ULID.sub(lambda found: known.setdefault(found[0][-8:], f"ID{next(numbers)}"), text)


def lines_of(document: Path, beginning: str, heading: str | None = None) -> list[str]:
    """The lines that begin like this, of the whole document or below a heading."""
    text = document.read_text("utf-8")
    if heading is not None:
        level = heading.split()[0]
        below = text[re.search(rf"^{heading}$", text, re.MULTILINE).end() :]  # type: ignore[union-attr]
        text = re.split(rf"^#{{1,{len(level)}}} ", below, maxsplit=1, flags=re.MULTILINE)[0]
    return [line for line in text.splitlines() if line.startswith(beginning)]


def shown(argument: click.Argument) -> str:
    """An argument as it stands in a usage line."""
    name = str(argument.name).upper()
    return name if argument.required else f"[{name}]"


def tables(folder: Path) -> dict[str, set[str]]:
    """The tables and views of a new ledger, with their columns (without those that FTS5 makes for itself)."""
    path = folder / "ledger.db"
    Ledger.open(f"sqlite:///{path}").close()
    file = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    names = [name for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")]
    found = {
        name: {row[1] for row in file.execute(f"PRAGMA table_info({name})")}
        for name in names
        if not name.startswith(("search_", "sqlite_")) or name in ("search_texts", "search_notes", "search_vectors")
    }
    file.close()
    return found


def drawn_paths(drawing: str) -> Iterator[str]:
    """The folders and modules of a drawn tree, by their indentation."""
    path: list[str] = []
    for line in drawing.splitlines()[1:]:
        found = re.match(r"( +)(\w+(?:/|\.py)(?: \w+\.py)*)", line)
        if not found:
            continue
        path[len(found[1]) // 2 - 1 :] = []
        for name in found[2].split():
            yield "".join([*path, name])
        if found[2].endswith("/"):
            path.append(found[2])


def anchors(document: Path) -> set[str]:
    """The names of a document's headings, as links say them."""
    titles = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def constant(file: str, name: str) -> ast.expr:
    """What a module assigns to a name at its top, unevaluated."""
    for node in ast.parse((ROOT / file).read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in node.targets):
            return node.value
    raise LookupError(name)
