"""Commands that a message names can be typed as they stand there: they lead to the same ledger."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from agents_ledger import Ledger, Message, Turn, cli
from agents_ledger.cli.door import Door
from agents_ledger.cli.main import cli as root
from tests.cli.conftest import Ldg

ROOM = Path(cli.__file__).parent
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
# a command of ours that is named without its ledger; help is the same for all of them
_NAMED = re.compile(rf"\bldg (?:{'|'.join(root.list_commands(click.Context(root)))})\b(?! (?:--db|-h|--help)\b)")


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_no_hint_forgets_the_ledger(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    documents = set(_documents(tree))
    said = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documents
    ]
    assert [text for text in said if _NAMED.search(text)] == [], "name it by `opened.ldg`"


def _documents(tree: ast.AST) -> Iterator[ast.AST]:
    """What explains and names no ledger: docstrings, the help of options."""
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value
        if isinstance(node, ast.keyword) and node.arg == "help":
            yield from ast.walk(node.value)


def test_what_was_done_names_the_next_command_for_the_same_ledger(ldg: Ldg) -> None:
    again = f"`ldg --db {ldg.url}"
    assert f"{again} tree third`" in ldg.text("fork", "fix-login", "--label", "third")
    assert f"{again} forward fix-login`" in ldg.text("rewind", "fix-login")
    assert f"{again} history fix-login`" in ldg.text("forward", "fix-login")
    assert f"{again} unarchive third`" in ldg.text("archive", "third")
    assert f"{again} compact fix-login`" in ldg.text("compact", "fix-login", "--dry-run", "--offline")
    assert f"{again} context " in ldg.text("compact", "fix-login", "--offline", "--keep", "1")
    assert f"{again} context " in ldg.text("compact", "another-way", "--summary", "It went another way.")
    assert f"{again} verify`" in ldg.text("doctor")


def test_a_turn_of_no_session_is_forked_in_the_same_ledger(empty: Ldg) -> None:
    with Ledger.open(empty.url) as ledger:
        turn_id = ledger.branch(None, Turn(messages=(Message("user", "Hi."),)))
        said = empty.run("including", turn_id).stderr
    assert f"`ldg --db {empty.url} fork {turn_id[-8:]}` makes one" in said


def test_a_live_turn_is_not_to_be_forked(empty: Ldg) -> None:
    with Ledger.open(empty.url) as ledger:
        begun = ledger.turn("main", "Hi.")
        said = empty.run("including", begun.id)
        begun.complete()
    assert said.exit_code == 1
    assert said.stderr == f"ldg: no session has had turn {begun.id}: it is still being written\n"


def test_a_label_that_looks_like_an_option_is_named_so_that_it_can_be_typed(ldg: Ldg) -> None:
    for command in (
        ["fork", "fix-login", "--label", "-x"],
        ["show", "--limit", "1", "--", "-x"],
        ["rewind", "--", "-x"],
        ["history", "--limit", "1", "--", "-x"],
        ["archive", "--", "-x"],
    ):
        hint = re.search(r"ldg (--db [^`\n]*-x)", ldg.text(*command))
        assert hint is not None
        ldg.text(*shlex.split(hint[1]))


def test_what_went_wrong_names_the_next_command_for_the_same_ledger(ldg: Ldg, tmp_path: Path) -> None:
    assert f"(`ldg --db {ldg.url} sessions` lists them)" in ldg.text("head", "nowhere", code=2)
    assert f"`ldg --db {ldg.url} tree` show" in ldg.json("show", "nowhere", code=2)["error"]["message"]
    spaced = Ldg(f"{tmp_path}/a folder/none.db")
    assert f"`ldg --db '{spaced.url}' sync` makes one" in spaced.text("show", "nowhere", code=2)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("ledger.db", "ledger.db"),
        ("sqlite:////home/a:b@c/ledger.db", "sqlite:////home/a:b@c/ledger.db"),
        ("postgresql://me@host/name", "postgresql://me@host/name"),
        ("postgresql://me:hunter2@host:5432/name", "postgresql://me:***@host:5432/name"),
        ("postgresql://me:p@ss:word@host/name?sslmode=require", "postgresql://me:***@host/name?sslmode=require"),
        ("postgresql://host/name?user=me&password=hunter2&a=b", "postgresql://host/name?user=me&password=***&a=b"),
        ("postgresql://[hunter2", "postgresql://***"),
    ],
)
def test_no_hint_tells_a_password(given: str, shown: str) -> None:
    opened = Door()
    opened.db = given
    assert shlex.split(opened.ldg) == ["ldg", "--db", shown]


def test_a_damaged_file_is_named_with_what_can_be_done(ldg: Ldg, tmp_path: Path) -> None:
    path = tmp_path / "my ledger.db"
    path.write_bytes(Path(ldg.url.removeprefix("sqlite:///")).read_bytes()[:100_000])
    damaged = Ldg(str(path))
    told = [
        damaged.text("sessions", code=2),
        damaged.json("verify", code=1)["findings"][0]["what"],
        damaged.json("doctor", code=1)["problems"][0],
    ]
    for text in told:
        assert f"restore a backup with `ldg --db {shlex.quote(str(path))} restore BACKUP`. Without one, " in text
        assert f"`sqlite3 {shlex.quote(str(path))} .recover | sqlite3 new.db`" in text
        assert "ldg backup" not in text
