"""How the command ends: exit codes, messages, and what it does not load."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import agents_ledger
from agents_ledger.cli.main import cli
from agents_ledger.config import ledger_url
from tests.cli.conftest import Ldg

_MAIN = "from agents_ledger.cli.main import main; main()"


@pytest.mark.parametrize(
    ("args", "kind", "words"),
    [
        (("show", "nowhere"), "NotFound", "no turn or session 'nowhere'"),
        (("head", "nowhere"), "NotFound", "`LDG sessions` lists them"),
        (("fork", "zzzzzzzz"), "NotFound", "`LDG tree` show what there is"),
        (("fork", "fix-login", "--label", "another-way"), "LabelTaken", "choose another label"),
        (("forward", "another-way"), "NotAllowed", "nothing ahead of it"),
        (("rewind", "fix-login", "--turns", "99"), "BadInput", "has 7 turns"),
        (("head", "fix-login", "--at", "teatime"), "BadInput", "is not a time"),
        (("frok",), "Usage", "No such command"),
        (("show",), "Usage", "Missing argument"),
        (("sessions", "--limit", "0"), "Usage", "--limit"),
        (("sessions", "--cursor", "nonsense"), "Usage", "is not a cursor"),
        (("timeline", "--cursor", "nonsense"), "BadInput", "is not a cursor"),
        (("tree", "--cursor", "zz"), "BadInput", "is not a cursor"),
        (("including", "fix-login", "--cursor", "zz"), "BadInput", "is not a cursor"),
        (("face", "agent_sessions", "--after", "zz"), "BadInput", "is not a cursor"),
        (("face", "event_threads", "--after", "zz"), "BadInput", "is not a cursor"),
        (("face", "aix_sessions", "--after", "zz"), "BadInput", "is not a cursor"),
        (("face", "agent_turns", "--session", "fix-login", "--after", "zz"), "BadInput", "is not a cursor"),
        (("face", "aix_turns", "--session", "fix-login", "--after", "zz"), "BadInput", "is not a cursor"),
        (("rewind", "fix-login", "abcd", "--turns", "2"), "Usage", "not both"),
        (("completion", "csh"), "Usage", "csh"),
    ],
)
def test_what_can_not_be_done_is_said(ldg: Ldg, args: tuple[str, ...], kind: str, words: str) -> None:
    said, words = ldg.text(*args, code=2), words.replace("LDG", f"ldg --db {ldg.url}")
    assert said.startswith("ldg: ")
    assert words in said
    assert "Traceback" not in said
    error = ldg.json(*args, code=2)["error"]
    assert error["kind"] == kind
    assert words in error["message"]


def test_a_missing_ledger_is_not_made_by_looking_or_moving(tmp_path: Path) -> None:
    nowhere = Ldg(str(tmp_path / "none.db"))
    moving = (("fork", "abcd"), ("archive", "x"), ("migrate",), ("migrate", "--check"))
    for args in (("sessions",), ("tree",), ("verify",), ("doctor",), *moving):
        said = nowhere.text(*args, code=2)
        assert "there is no ledger at" in said
        ldg = f"ldg --db {tmp_path}/none.db"
        assert f"`{ldg} sync` makes one of the agents' sessions, `{ldg} demo` one to look at" in said
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader, " * 200)
    assert "not an SQLite file" in Ldg(str(tmp_path / "letter.txt")).text("sessions", code=2)
    said = f"ldg: {tmp_path} is a folder, a ledger is a file: name one in it, as with --db {tmp_path}/ledger.db\n"
    for command in ("sessions", "sync", "demo"):
        assert Ldg(str(tmp_path)).text(command, code=2) == said
    assert "is not a folder" in Ldg(str(tmp_path / "no" / "x.db")).text("demo", code=2)


def test_db_is_taken_before_and_after_the_command_and_from_the_environment(ldg: Ldg) -> None:
    before = CliRunner().invoke(cli, ["--db", ldg.url, "--json", "sessions"])
    after = CliRunner().invoke(cli, ["sessions", "--json", "--db", ldg.url], env={"AGENTS_LEDGER_DB": "/nowhere/x.db"})
    named = CliRunner().invoke(cli, ["sessions", "--json"], env={"AGENTS_LEDGER_DB": ldg.url})
    assert before.stdout == after.stdout == named.stdout
    assert len(json.loads(named.stdout)["sessions"]) == 3


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_db_is_bad_usage_and_not_the_usual_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTS_LEDGER_DB", str(tmp_path / "other.db"))
    for args in (["--db", name, "demo"], ["demo", "--db", name], ["demo", f"--db={name}"], ["--db", name]):
        done = CliRunner().invoke(cli, args)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "--db is empty: name the ledger, or leave out --db" in done.stderr
    asked = CliRunner().invoke(cli, ["--db", name, "demo", "--json"])
    assert (asked.exit_code, json.loads(asked.stdout)["error"]["kind"]) == (2, "Usage")
    assert list(tmp_path.iterdir()) == []


def test_without_any_name_the_ledger_is_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTS_LEDGER_DB", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert ledger_url() == f"sqlite:///{tmp_path}/data/agents-ledger/ledger.db"
    assert CliRunner().invoke(cli, ["demo", "--if-empty"]).exit_code == 0
    assert (tmp_path / "data/agents-ledger/ledger.db").exists()


def test_importing_the_command_loads_nothing_heavy() -> None:
    code = "import sys, agents_ledger.cli.main; print(*(set(sys.modules) & {heavy!r}))".replace(
        "{heavy!r}", "{'msgspec', 'apsw', 'rich', 'pathlib', 'psycopg', 'json', 'agents_ledger.ledger'}"
    )
    assert _python(code).stdout.split() == []


def test_a_sync_that_finds_nothing_new_loads_nothing_that_writes(tmp_path: Path) -> None:
    heavy = {
        "agents_ledger.ledger.bulk",
        "agents_ledger.capture.taking",
        "hashlib",
        "backports.zstd",
        "rich",
        "pathlib",
    }
    source = Path(agents_ledger.__file__).parent / "samples" / "claude-code"
    args = f"sys.argv[1:] = ['--db', '{tmp_path}/ledger.db', 'sync', '--path', '{source}']"
    code = f"import sys; {args}\ntry: {_MAIN}\nfinally: print('loaded:', *(set(sys.modules) & {heavy}))"
    assert len(_python(code).stdout.splitlines()[-1].split()) > 1
    assert _python(code).stdout.splitlines()[-1].split() == ["loaded:"]


def test_help_lists_every_command_without_loading_one() -> None:
    done = _python(f"import sys; sys.argv[1:] = ['--help']\ntry: {_MAIN}\nfinally: print('msgspec' in sys.modules)")
    assert done.stdout.endswith("False\n")
    for name in cli.list_commands(None):  # type: ignore[arg-type]
        assert f"  {name} " in done.stdout


@pytest.mark.parametrize("name", cli.list_commands(None))  # type: ignore[arg-type]
def test_every_command_explains_itself_and_has_json_and_db(name: str) -> None:
    said = CliRunner().invoke(cli, [name, "--help"]).stdout
    assert said.startswith(f"Usage: ldg {name} ")
    assert "--json" in said
    assert "--db URL" in said


def test_version() -> None:
    assert CliRunner().invoke(cli, ["--version"]).stdout.startswith("ldg 0.")


def test_an_interrupt_ends_with_130(ldg: Ldg) -> None:
    code = (
        "import signal; signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT)); "
        f"signal.setitimer(signal.ITIMER_REAL, 0.4); {_MAIN}"
    )
    command = [sys.executable, "-c", code, "--db", ldg.url, "sql", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.read().strip() == ""
        assert process.wait() == 130


_LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n"


@pytest.mark.parametrize(
    "args",
    [
        ("head", "fix-login"),
        ("show", "fix-login", "--full"),
        ("nothing", "--json"),
        ("--help",),
        ("show", "--help"),
        ("sql", _LONG, "--limit", "20000"),  # more than any buffer: the pipe breaks while it is written
    ],
    ids=lambda args: args[0],
)
def test_a_reader_that_goes_away_is_no_error_and_no_answer(ldg: Ldg, args: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-c", _MAIN, "--db", ldg.url, *args]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    assert (done.stderr, done.returncode) == ("", 141)


def _python(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
