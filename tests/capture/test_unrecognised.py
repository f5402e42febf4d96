"""Files that no format recognises: which of them are kept, byte for byte, and what becomes of them later."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture import unrecognised
from agents_ledger.capture.export import raw, resolve
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.capture.summary import Summary
from agents_ledger.capture.sync import Sync
from agents_ledger.ledger import evidence
from agents_ledger.model import zstd
from agents_ledger.model.formats import Machine
from tests.capture.folders import GOLDEN, SHARED, assert_sound, copy, counts, opened, rows, sync

_RUN = "from agents_ledger.cli.main import main; main()"
_OLD_S = 1_794_800_000
_SECRET = b"opaque-Zk3vQ9xT7pLw2RbN8sHd5YcM1aGf6JuE"
AIDER = b"\n# aider chat started at 2026-11-16 10:00:00\n\n#### hello\n\nHi there.\n"
COPILOT = b'{"type":"session.start","data":{"sessionId":"1","producer":"copilot-agent"},"id":"a","parentId":null}\n'
CLINE = b'[{"role":"user","content":[{"type":"text","text":"hello"}]}]'
SWE = b'{"environment": "main", "trajectory": [{"action": "ls", "observation": "a", "response": "x"}]}'
FILES = {
    "repo/.aider.chat.history.md": (AIDER, "aider"),
    "copilot/events.jsonl": (COPILOT, "Copilot CLI"),
    "tasks/1/api_conversation_history.json": (CLINE, "Cline"),
    "run/one.traj": (SWE, "SWE-agent"),
    ".factory/sessions/-w/1.jsonl": (b'{"type":"session_start","id":"1"}\n', "Factory Droid"),
    ".kiro/sessions/cli/1.jsonl": (b'{"kiro":1}\n', "Kiro"),
    "some/notes.MD": (b"# Notes\n", "unknown"),
    "some/packed.jsonl.zst": (zstd.compress(b'{"a":1}\n' * 1000), "unknown"),
    "some/data.db": (b"SQLite format 3\0" + bytes(range(256)) * 40, "unknown"),
    "some/large.jsonl": (b'{"x":"%b"}\n' % (b"y" * 300) * 6000, "unknown"),
}
NOT_KEPT = {
    "some/auth.json": b'{"x": 1}',
    "some/credentials.json": b"{}",
    "some/.env": b"A=1",
    "some/tokens.json": b'["x"]',
    "some/innocent.json": b'{"access_token": "%b"}' % _SECRET,
    "some/innocent.md": b"-----BEGIN RSA PRIVATE KEY-----\n%b\n" % _SECRET,
    "some/packed.json.zst": zstd.compress(b'{"refresh_token": "%b"}' % _SECRET),
    "some/letter.txt": b"Dear reader",
    "some/program.py": b"print()",
    "some/empty.json": b"",
}


def laid(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (_OLD_S, _OLD_S))
    return folder


def all_of_it(tmp_path: Path) -> Path:
    folder = laid(tmp_path / "all", {name: data for name, (data, _) in FILES.items()} | NOT_KEPT)
    copy(GOLDEN / "pi/v3/source", folder / "pi")
    return folder


def kept(ledger: Ledger) -> dict[str, bytes]:
    """The bytes of each file that is kept, by its path."""
    sql = "SELECT id, path FROM captures WHERE format = 'unrecognised' AND state <> 'replaced'"
    found = rows(ledger, sql)
    with ledger.database.read() as tx:
        return {str(row["path"]): b"".join(evidence.read(tx, int(str(row["id"])))) for row in found}


def problems(ledger: Ledger) -> dict[str, str]:
    sql = "SELECT path, detail FROM problems WHERE code = 'not-recognised'"
    return {str(row["path"]): str(row["detail"]) for row in rows(ledger, sql)}


def everything_in(ledger: Ledger) -> bytes:
    with ledger.database.read() as tx:
        captures = [row[0] for row in tx.rows("captures_page", after=0, format=None, limit=1000)]
        return b"\n".join(b"".join(evidence.read(tx, each)) for each in captures)


def test_transcripts_by_type_are_kept_and_credentials_are_not(tmp_path: Path) -> None:
    folder = all_of_it(tmp_path)
    with opened(tmp_path / "ledger.db") as ledger:
        done = sync(ledger, folder)
        assert kept(ledger) == {str(folder / name): data for name, (data, _) in FILES.items()}
        assert sorted(done.kept) == sorted(str(folder / name) for name in FILES)
        assert _SECRET not in everything_in(ledger)
        said = problems(ledger)
        for name, (_, agent) in FILES.items():
            likely = "" if agent == "unknown" else f", probably of {agent}"
            assert said[str(folder / name)] == f"kept as evidence{likely}"
        for name in ("some/innocent.json", "some/innocent.md", "some/packed.json.zst"):
            assert said[str(folder / name)].startswith("not kept: its content looks like credentials")
        assert said.keys() - {str(folder / name) for name in FILES | NOT_KEPT} == set()
        assert_sound(ledger)


def test_they_come_back_byte_for_byte(tmp_path: Path) -> None:
    folder = all_of_it(tmp_path)
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, folder)
        for name, (data, _) in FILES.items():
            (capture,) = resolve(ledger, str(folder / name))
            assert b"".join(raw(ledger, capture)) == data


def test_a_later_sync_adds_nothing(tmp_path: Path) -> None:
    folder = all_of_it(tmp_path)
    with opened(tmp_path / "ledger.db") as ledger:
        first = sync(ledger, folder)
        before = counts(ledger), kept(ledger), problems(ledger)
        again = sync(ledger, folder)
        assert (again.new, again.grown, again.rewritten, again.gone, again.kept) == (0, 0, 0, 0, [])
        assert again.bytes_read == 0
        assert again.unchanged >= len(first.kept)
        for name in FILES:
            (folder / name).touch()  # a time is not a change
        assert sync(ledger, folder).bytes_read == 0
        assert (counts(ledger), kept(ledger), problems(ledger)) == before


def test_what_has_grown_goes_on_and_what_was_rewritten_is_another_generation(tmp_path: Path) -> None:
    path = tmp_path / "all" / ".aider.chat.history.md"
    whole = AIDER * 20_000
    with opened(tmp_path / "ledger.db") as ledger:
        for size in (100, len(whole) // 2, len(whole)):
            laid(path.parent, {path.name: whole[:size]})
            sync(ledger, path.parent)
            assert kept(ledger) == {str(path): whole[:size]}
        assert rows(ledger, "SELECT generation FROM captures") == [{"generation": 1}]
        laid(path.parent, {path.name: b"something else"})
        assert sync(ledger, path.parent).rewritten == 1
        assert [row["state"] for row in rows(ledger, "SELECT state FROM captures ORDER BY id")] == [
            "replaced",
            "current",
        ]
        assert kept(ledger) == {str(path): b"something else"}
        assert problems(ledger) == {str(path): "kept as evidence, probably of aider"}
        path.unlink()
        assert sync(ledger, path.parent).gone == 1
        assert kept(ledger) == {str(path): b"something else"}
        assert_sound(ledger)


def test_a_rebuild_keeps_them(tmp_path: Path) -> None:
    folder = all_of_it(tmp_path)
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, folder)
        assert rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}").same
        before = kept(ledger), {path: said for path, said in problems(ledger).items() if "not kept" not in said}
    with Ledger.open(f"sqlite:///{tmp_path / 'rebuilt.db'}") as rebuilt:
        assert (kept(rebuilt), problems(rebuilt)) == before
        again = sync(rebuilt, folder)
        assert (again.new, again.grown, again.rewritten, again.bytes_read) == (0, 0, 0, 0)


def test_what_is_too_large_alone_or_together_is_named_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unrecognised, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(unrecognised, "MOST_BYTES_TOGETHER", 2 << 20)
    files = {f"{at}.md": os.urandom(900_000) for at in range(3)} | {"large.md": os.urandom(1_100_000)}
    folder = laid(tmp_path / "all", files)
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, folder)
        assert kept(ledger) == {str(folder / name): files[name] for name in ("0.md", "1.md")}
        said = problems(ledger)
        assert "unrecognised files are kept already" in said[str(folder / "2.md")]
        assert "larger than" in said[str(folder / "large.md")]


def test_a_link_to_a_device_and_a_pipe_are_not_kept(tmp_path: Path) -> None:
    folder = laid(tmp_path / "all", {"one.md": b"# One\n"})
    (folder / "zero.md").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.md")
    with opened(tmp_path / "ledger.db") as ledger:
        done = sync(ledger, folder)
        assert sorted(done.unreadable) == [str(folder / "pipe.md"), str(folder / "zero.md")]
        assert list(kept(ledger)) == [str(folder / "one.md")]


# where


def at_home(ledger: Ledger, home: Path, environ: dict[str, str] | None = None) -> Summary:
    return Sync(ledger, Machine(home=str(home), environ=environ or {}, platform="linux")).run()


def test_they_are_looked_for_below_the_agents_folders_and_not_above(tmp_path: Path) -> None:
    home = tmp_path / "home"
    inside = {
        ".codex/sessions/2026/notes.md": b"# Notes\n",
        ".claude/projects/-w/sub/odd.json": b'{"odd": 1}',
        ".config/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json": CLINE,
    }
    outside = {
        "notes.md": b"# Mine\n",
        ".claude/settings.json": b"{}",
        ".claude/notes.md": b"# Notes\n",
        ".config/other.md": b"# Other\n",
        ".codex/auth.json": b'{"tokens": {"access_token": "%b"}}' % _SECRET,
        ".codex/config.json": b"{}",
        ".codex/plugins/p/README.md": b"# Plugin\n",
        ".config/Cursor/CachedData/x/1.json": b"{}",
        ".config/Cursor/User/History/1/secret.md": b"# Mine\n",
    }
    laid(home, inside | outside)
    with opened(tmp_path / "ledger.db") as ledger:
        done = at_home(ledger, home)
        assert kept(ledger) == {str(home / name): data for name, data in inside.items()}
        assert sorted(done.kept) == sorted(str(home / name) for name in inside)
        assert done.unrecognised == []
        pulse = ledger.database.pulse()
        again = at_home(ledger, home)
        assert (again.new, again.kept, again.unchanged) == (0, [], len(inside))
        assert ledger.database.pulse() == pulse, "a sync that finds nothing new writes nothing"


def test_a_database_that_the_environment_names_makes_no_folder_of_sessions(tmp_path: Path) -> None:
    home = laid(tmp_path / "home", {"work/notes.md": b"# Mine\n"})
    for place in (home, home / "work"):
        with opened(tmp_path / f"{place.name}.db") as ledger:
            at_home(ledger, home, {"OPENCODE_DB": str(place / "opencode.db")})
            assert kept(ledger) == {}


def test_an_agents_folder_that_is_the_home_makes_no_folder_of_sessions(tmp_path: Path) -> None:
    home = laid(tmp_path / "home", {"notes.md": b"# Mine\n"})
    for place in (home, tmp_path):
        with opened(tmp_path / f"{place.name}.db") as ledger:
            at_home(ledger, home, {"CODEX_HOME": str(place), "PI_CODING_AGENT_SESSION_DIR": str(place)})
            assert kept(ledger) == {}


def test_what_looks_like_credentials_is_not_read_every_time(tmp_path: Path) -> None:
    home = laid(tmp_path / "home", {".codex/odd.json": NOT_KEPT["some/innocent.json"]})
    path = home / ".codex/odd.json"
    with opened(tmp_path / "ledger.db") as ledger:
        at_home(ledger, home)
        past = path.stat().st_ctime_ns // 1_000_000 + 10_000
        with ledger.database.read() as tx:
            assert tx.rows("refused_paths")
        later = f"UPDATE problems SET seen_at = {past}"  # noqa: S608 - as if it had been looked at later
        ledger.database.ask(later)
        pulse = ledger.database.pulse()
        again = at_home(ledger, home)
        assert (again.unchanged, ledger.database.pulse()) == (1, pulse)
        assert list(problems(ledger)) == [str(path)]
        path.unlink()
        at_home(ledger, home)
        assert problems(ledger) == {}


def test_the_ledger_is_not_a_source_of_itself_and_is_not_touched(tmp_path: Path) -> None:
    """Closing any descriptor of its file would drop the locks that SQLite has on it in this process."""
    touched: list[str] = []
    is_on = False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if is_on and event == "open" and str(args[0]).startswith(str(tmp_path / "ledger.db")):
            touched.append(str(args[0]))

    sys.addaudithook(hook)
    with opened(tmp_path / "ledger.db") as ledger:
        copy(GOLDEN / "pi/v3/source", tmp_path / "pi")
        sync(ledger, tmp_path / "pi")
        ledger.database.backup(str(tmp_path / "backup.db"))
        is_on = True
        sync(ledger, tmp_path)
        is_on = False
        assert touched == []
        assert kept(ledger) == {}


# a later version

_LATER = """
import msgspec
from agents_ledger.model.formats import Format, Kind, Tables
from agents_ledger.model.steps import Said


class Reader(msgspec.Struct):
    session: str
    at: int = 0

    def read(self, record, name):
        lines = [line for line in record.decode().splitlines() if line and not line.startswith("# aider")]
        for line in lines:
            self.at += 1
            asks = line.startswith("#### ")
            yield Said(
                session=self.session,
                native_id=f"{self.session}-{self.at:026}",
                role="user" if asks else "assistant",
                content=line,
                starts_turn=asks,
            )

    def end(self):
        return ()


def recognise(path, head):
    return Kind("history", SHAPE) if b"# aider chat started at" in head else None


FORMAT = Format(
    name="aider",
    recognise=recognise,
    reader=lambda source: Reader("aider-one"),
    roots=lambda machine: (),
    tables=lambda: Tables(columns={"talk": ("key", "value")}, group=lambda table, key: "all"),
)
"""


def later_version(folder: Path, shape: str) -> dict[str, str]:
    """An environment in which another format is installed."""
    info = folder / "later_aider-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: later-aider\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[agents_ledger.formats]\naider = later_aider:FORMAT\n")
    (folder / "later_aider.py").write_text(_LATER.replace("SHAPE", repr(shape)))
    paths = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": paths}


def ldg(ledger: Path, environ: dict[str, str], *args: str) -> Any:
    command = [sys.executable, "-c", _RUN, "--db", str(ledger), "--json", *args]
    done = subprocess.run(command, env=environ, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def history(folder: Path, shape: str) -> Path:
    """A conversation that no format recognises yet."""
    if shape != "database":
        return laid(folder, {"history.md": AIDER}) / "history.md"
    folder.mkdir()
    path = folder / "history.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE talk (key TEXT PRIMARY KEY, value TEXT)")
        connection.execute("INSERT INTO talk VALUES ('1', ?)", (AIDER.decode(),))
        connection.commit()
    os.utime(path, (_OLD_S, _OLD_S))
    return path


@pytest.mark.parametrize("shape", ["lines", "document", "database"])
@pytest.mark.parametrize("is_gone", [False, True], ids=["there", "gone"])
def test_they_are_read_as_soon_as_a_format_recognises_them(shape: str, is_gone: bool, tmp_path: Path) -> None:
    path, ledger, now = history(tmp_path / "all", shape), tmp_path / "ledger.db", dict(os.environ)
    folder = laid(path.parent, {"notes.md": b"# Notes\n"})
    before = path.read_bytes()
    first = ldg(ledger, now, "sync", "--path", str(folder))
    assert (first["sessions"], len(first["kept"])) == (0, 2)
    if is_gone:
        path.unlink()
    later = later_version(tmp_path / "later", shape)
    asked = ldg(ledger, later, "sync") if is_gone else ldg(ledger, later, "sync", "--path", str(folder))
    assert (asked["sessions"], asked["new_turns"]) == (1, 1)
    again = ldg(ledger, later, "sync", "--path", str(folder))
    assert (again["new"], again["grown"], again["rewritten"], again["new_turns"]) == (0, 0, 0, 0)
    found = ldg(ledger, later, "problems")["problems"]
    assert [each["path"] for each in found if each["code"] == "not-recognised"] == [str(folder / "notes.md")]
    assert ldg(ledger, later, "rebuild", str(tmp_path / "rebuilt.db"))["same"]
    with Ledger.open(f"sqlite:///{ledger}") as kept_ledger:
        first_kept, *_ = rows(kept_ledger, f"SELECT id, state FROM captures WHERE path = '{path}' ORDER BY id")  # noqa: S608
        assert first_kept["state"] == "replaced"
        with kept_ledger.database.read() as tx:
            assert b"".join(evidence.read(tx, int(str(first_kept["id"])))) == before
        if is_gone:
            states = rows(kept_ledger, "SELECT DISTINCT state FROM captures WHERE format = 'aider'")
            assert states == [{"state": "gone"}]
        assert_sound(kept_ledger)


# real ones


def corpora() -> list[Path]:
    return [each for name in ("aider", "copilot-cli", "swe-agent") if (each := SHARED / "corpus" / name).is_dir()]


@pytest.mark.skipif(not corpora(), reason="the sessions of real people are not on this machine")
@pytest.mark.parametrize("folder", corpora(), ids=lambda folder: folder.name)
def test_sessions_of_real_people_are_kept_with_their_agent(folder: Path, tmp_path: Path) -> None:
    agents = {"aider": "aider", "copilot-cli": "Copilot CLI", "swe-agent": "SWE-agent"}
    files = [path for path in folder.rglob("*") if path.is_file()]
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, folder)
        assert kept(ledger) == {str(path): path.read_bytes() for path in files}
        assert set(problems(ledger).values()) == {f"kept as evidence, probably of {agents[folder.name]}"}
        assert sync(ledger, folder).unchanged == len(files)


def test_they_are_kept_on_both_databases(ledger: Ledger, tmp_path: Path) -> None:
    folder = all_of_it(tmp_path)
    sync(ledger, folder)
    assert kept(ledger) == {str(folder / name): data for name, (data, _) in FILES.items()}
    before = counts(ledger)
    assert sync(ledger, folder).bytes_read == 0
    assert counts(ledger) == before
    assert_sound(ledger)
