"""Capturing by the command: what it takes, what it says, and that every byte comes back."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Ldg
from tests.cli.test_terminal import FORBIDDEN, HOSTILE, LINK
from tests.support.homes import SAMPLES, go_home

GOLDEN = Path(__file__).parents[1] / "golden"
FORMATS = ["agentuse", "claude-code", "codex", "cursor", "pi"]  # of which there are samples
FORK, MAIN = "4e65a7eb-2593-43a3-a404-86e8e2737229", "855a88d0-5061-4f6a-91ac-6450ca14565b"


@pytest.fixture
def new(tmp_path: Path) -> Ldg:
    """A ledger that is not there yet."""
    return Ldg(f"sqlite:///{tmp_path / 'new.db'}")


@pytest.fixture
def full(home: Path, new: Ldg) -> Ldg:
    """The sessions of that home, captured."""
    new.text("sync")
    return new


# sync


def test_a_session_without_turns_and_without_a_time_was_not_used_when_its_file_was_written(new: Ldg) -> None:
    new.text("sync", "--path", str(GOLDEN / "agentuse" / "every-part" / "source"))
    [idle] = [line for line in new.json("sessions")["sessions"] if line["thread_id"] is None]
    assert idle["used_at"] is None
    [row] = [row for row in new.text("sessions").splitlines() if row.startswith(idle["label"])]
    assert row.split()[1:6] == ["0", "-", "-", "-", "active,"]
    assert "used" not in new.text("show", idle["label"]).splitlines()[1]


def test_sync_makes_a_ledger_of_every_agents_sessions(home: Path, new: Ldg) -> None:
    done = new.json("sync")
    assert sorted(done["sources"]) == FORMATS
    assert done["found"] == done["new"] == sum(path.is_file() for path in home.rglob("*"))
    assert (done["problems"], done["unrecognised"], done["samples"]) == (0, [], False)
    assert sorted(new.json()["origins"]) == FORMATS
    assert new.json("verify")["good"]


def test_a_second_sync_adds_nothing(full: Ldg) -> None:
    again = full.json("sync")
    assert again["unchanged"] == again["found"]
    assert (again["new_turns"], again["new_sessions"], again["bytes_read"]) == (0, 0, 0)
    assert f"{again['found']} files: {again['found']} unchanged" in full.text("sync")


def test_verify_says_how_many_turns_have_no_seal_to_check(full: Ldg) -> None:
    done = full.json("verify")
    ((count, total),) = full.json("sql", "SELECT sum(seal_seq = 0), count(*) FROM turns")["rows"]
    assert done["open_turns"] == count > 1
    assert done["turns"] == total - count
    assert full.text("verify").splitlines()[1].startswith(f"{count} turns are not sealed yet and could not be checked")


def test_verify_says_nothing_of_seals_where_everything_is_sealed(new: Ldg) -> None:
    new.text("demo")
    assert new.json("verify")["open_turns"] == 0
    assert len(new.text("verify").splitlines()) == 1


def test_sync_says_what_it_has_done(home: Path, new: Ldg) -> None:
    said = new.text("sync").splitlines()
    done = new.json("sync")
    assert (
        said[0] == f"{done['sessions']} sessions ({done['sessions']} new), {done['turns']} turns ({done['turns']} new)"
    )
    assert said[1].startswith(f"{done['found']} files: {done['found']} new (")
    assert "6 claude-code" in said[1]
    assert said[2].startswith("read ")
    assert said[2].endswith("B/s)")
    assert len(said) == 3


def test_sync_reads_one_agent_or_one_path_if_told_so(home: Path, new: Ldg) -> None:
    assert list(new.json("sync", "--source", "codex")["sources"]) == ["codex"]
    one = new.json("sync", "--path", str(home / ".pi"))
    assert one["sources"] == {"pi": 3}
    assert new.json()["origins"] == {"codex": 3, "pi": 3}


def test_what_can_not_be_read_makes_no_ledger(home: Path, new: Ldg, tmp_path: Path) -> None:
    assert "there are agentuse, claude-code" in new.text("sync", "--source", "nobody", code=2)
    assert "does not exist" in new.text("sync", "--path", str(tmp_path / "nowhere"), code=2)
    assert not (tmp_path / "new.db").exists()


def test_a_session_that_grows_is_read_on(home: Path, full: Ldg) -> None:
    path = home / f".claude/projects/-home-dev-weather/{MAIN}.jsonl"
    before = full.json("show", f"claude-code:{MAIN}")
    asked(path, "And the day after?")
    done = full.json("sync")
    assert (done["grown"], done["new_turns"], done["rewritten"]) == (1, 1, 0)
    shown = full.json("show", f"claude-code:{MAIN}")
    assert shown["depth"] == before["depth"] + 1
    assert shown["turns"][-1]["messages"][0]["content"] == "And the day after?"
    assert full.json("verify")["good"]


def test_what_is_gone_at_the_source_is_kept(home: Path, full: Ldg) -> None:
    path = home / f".claude/projects/-home-dev-weather/{FORK}.jsonl"
    bytes_before = path.read_bytes()
    path.unlink()
    assert "1 gone" in full.text("sync")
    claude = next(line for line in full.json("sources")["sources"] if line["format"] == "claude-code")
    assert claude["missing"] == [str(path)]
    assert str(path) in full.text("sources")
    assert "(no longer there)" in full.text("show", f"claude-code:{FORK}")
    assert full.run("export", str(path)).stdout_bytes == bytes_before


def test_a_source_that_was_rewritten_is_another_generation(home: Path, full: Ldg) -> None:
    path = home / f".claude/projects/-home-dev-weather/{FORK}.jsonl"
    first = path.read_bytes()
    path.write_bytes(first.replace(b"And without Bergen?", b"And without Tromso?"))
    assert full.json("sync")["rewritten"] == 1
    kept = [each for each in full.json("captures")["captures"] if each["path"] == str(path)]
    assert [(each["generation"], each["state"]) for each in kept] == [(1, "replaced"), (2, "current")]
    assert full.run("export", str(kept[0]["id"])).stdout_bytes == first


def test_files_of_nobody_are_counted_and_named_if_asked(new: Ldg, tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    for number in range(7):
        (tmp_path / "some" / f"letter{number}\x1b[31m.txt").write_text("Dear reader")
    said = new.text("sync", "--path", str(tmp_path / "some"))
    assert "7 files not recognised: -v names them" in said
    named = new.text("sync", "-v", "--path", str(tmp_path / "some"))
    assert "letter0␛[31m.txt" in named
    assert "and 2 more" in named
    assert len(new.json("sync", "--path", str(tmp_path / "some"))["unrecognised"]) == 7


def test_transcripts_of_nobody_are_kept_listed_and_given_back(new: Ldg, tmp_path: Path) -> None:
    path = tmp_path / "some" / ".aider.chat.history.md"
    path.parent.mkdir()
    path.write_bytes(b"# aider chat started at 2026-11-16 10:00:00\n\n#### hello\n")
    said = new.text("sync", "--path", str(path.parent))
    assert "1 file not recognised, and kept as evidence: `ldg" in said
    (problem,) = new.json("problems", "--code", "not-recognised")["problems"]
    assert (problem["path"], problem["detail"]) == (str(path), "kept as evidence, probably of aider")
    assert new.run("export", str(path), "--format", "raw").stdout_bytes == path.read_bytes()
    (capture,) = new.json("captures", "--format", "unrecognised")["captures"]
    assert (capture["kind"], capture["size_bytes"]) == ("aider", path.stat().st_size)
    assert {line["format"]: line["captured"] for line in new.json("sources")["sources"]}["unrecognised"] == 1
    assert "kept as evidence" in new.text("sources")


def test_files_of_agents_that_were_not_asked_for_are_not_called_unknown(home: Path, new: Ldg) -> None:
    (home / "letter.txt").write_text("Dear reader")
    done = new.json("sync", "--source", "codex", "--path", str(home))
    assert list(done["sources"]) == ["codex"]
    assert done["unrecognised"] == [str(home / "letter.txt")]


def test_without_sessions_it_says_where_it_looked_or_takes_the_samples(
    new: Ldg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_home(tmp_path / "bare", monkeypatch)
    assert "No agents' sessions were found" in new.text("sync")
    assert f"ldg --db {new.url} sources" in new.text("sync")
    assert "There are no files below" in new.text("sync", "--path", str(tmp_path / "bare"))
    said = new.text("sync", "--or-samples")
    assert said.startswith("There are no agents' sessions on this machine: these are the samples")
    assert new.json("sync", "--or-samples")["samples"] is True
    assert sorted(new.json()["origins"]) == FORMATS


def test_samples_are_left_alone_where_there_are_sessions(home: Path, new: Ldg) -> None:
    assert new.json("sync", "--or-samples")["samples"] is False
    assert not [each for each in new.json("captures")["captures"] if each["path"].startswith(str(SAMPLES))]


def test_hostile_names_and_titles_reach_no_terminal(new: Ldg, tmp_path: Path) -> None:
    folder = tmp_path / f"some{HOSTILE}".replace("\x00", "").replace("/", "")[:80]
    folder.mkdir()
    sample = (SAMPLES / f"claude-code/{MAIN}.jsonl").read_text()
    titled = json.dumps({"type": "custom-title", "customTitle": HOSTILE, "sessionId": MAIN})
    (folder / f"{MAIN}.jsonl").write_text(f"{sample}{titled}\n{{broken {LINK}\n")
    assert new.json("sync", "--path", str(folder))["problems"] == 1
    assert "␛" in new.text("sessions")
    label = f"claude-code:{MAIN}"
    for args in (
        ("sessions",),
        ("show", label),
        ("captures",),
        ("problems",),
        ("sources",),
        ("sync", "--path", str(folder)),
    ):
        assert FORBIDDEN.search(new.text(*args)) is None
        assert FORBIDDEN.search(new.text(*args, "--json")) is None


# what is there


def test_sources_names_the_places_with_and_without_a_ledger(home: Path, new: Ldg) -> None:
    before = {line["format"]: line for line in new.json("sources")["sources"]}
    assert sorted(before) == sorted([*FORMATS, "gemini", "opencode", "qwen"])
    places = {place["path"]: place for place in before["claude-code"]["places"]}
    assert places[str(home / ".claude/projects")]["files"] == 6
    assert places[str(home / ".config/claude/projects")]["exists"] is False
    assert before["claude-code"]["captured"] == 0
    new.text("sync")
    after = {line["format"]: line for line in new.json("sources")["sources"]}
    assert after["claude-code"]["captured"] == 6
    assert after["claude-code"]["captured_bytes"] == places[str(home / ".claude/projects")]["size_bytes"]
    assert ".config/claude/projects" not in new.text("sources")
    assert ".config/claude/projects" in new.text("sources", "-v")


def test_captures_page_by_page(full: Ldg) -> None:
    every = full.json("captures")
    assert every["next"] is None
    pages: list[object] = []
    after: int | None = 0
    while after is not None:
        page = full.json("captures", "--limit", "20", "--cursor", str(after))
        pages += page["captures"]
        after = page["next"]
    assert pages == every["captures"]
    assert {each["format"] for each in full.json("captures", "--format", "pi")["captures"]} == {"pi"}
    said = full.text("captures", "--limit", "2")
    assert said.splitlines()[0].split() == ["ID", "FORMAT", "KIND", "GEN", "STATE", "SIZE", "DIGEST", "SEEN", "PATH"]
    assert said.endswith(" captures --cursor 2\n")
    assert every["captures"][0]["digest"][:12] in said


def test_problems_are_listed_counted_and_chosen(new: Ldg) -> None:
    assert new.json("sync", "--path", str(GOLDEN / "claude-code/broken-lines"))["problems"] > 0
    every = new.json("problems")
    assert sum(every["counts"].values()) == len(every["problems"]) > 2
    first = new.json("problems", "--limit", "1")
    assert new.json("problems", "--cursor", first["next"])["problems"] == every["problems"][1:]
    assert "is not a cursor" in new.text("problems", "--cursor", "nonsense", code=2)
    code = every["problems"][0]["code"]
    assert {each["code"] for each in new.json("problems", "--code", code)["problems"]} == {code}
    said = new.text("problems", "--limit", "1")
    assert every["problems"][0]["path"] in said
    assert f" problems --cursor {first['next']}\n" in said
    assert "broken-line" in new.text("problems", "--code", "no-such-code", code=2)


def test_without_problems_it_says_so(full: Ldg) -> None:
    assert full.text("problems") == "There are no problems.\n"
    assert full.json("problems") == {"problems": [], "counts": {}, "next": None}


def test_sessions_have_title_and_project_and_are_chosen_by_them(full: Ldg) -> None:
    said = full.text("sessions").splitlines()[0].split()
    assert said[-2:] == ["TITLE", "PROJECT"]
    lines = full.json("sessions", "--origin", "cursor")["sessions"]
    assert [(line["title"], line["project"]) for line in lines] == [("Files", "/home/ada/My Proj")]
    assert full.json("sessions", "--project", "/home/ada/My Proj")["sessions"] == lines
    assert full.json("sessions", "--project", "My Proj")["sessions"] == lines
    assert full.json("sessions", "--project", "My_Proj")["sessions"] == []
    assert full.json("sessions", "--origin", "nobody")["sessions"] == []


def test_show_begins_with_what_the_source_says(home: Path, full: Ldg) -> None:
    label = full.json("sessions", "--origin", "cursor")["sessions"][0]["label"]
    said = full.text("show", label)
    assert "title Files" in said
    assert "project /home/ada/My Proj" in said
    assert "agent cursor" in said
    assert f"source {home}/.cursor/chats/" in said
    shown = full.json("show", label)
    assert shown["details"]["title"] == "Files"
    assert shown["captures"][0]["path"].startswith(str(home))
    assert full.json("show", full.json("head", label)["turn_id"])["record"]["turn"]["evidence"]


def test_the_overview_counts_by_origin_and_the_doctor_weighs_the_evidence(full: Ldg, tmp_path: Path) -> None:
    assert "from claude-code 5, codex 3, pi 3, agentuse 2, cursor 1" in full.text()
    evidence = full.json("doctor")["evidence"]
    assert evidence["captures"] == len(full.json("captures")["captures"])
    assert 0 < evidence["packed_bytes"] < evidence["source_bytes"]
    assert f"evidence       {evidence['captures']} captures" in full.text("doctor")
    assert " sync " in Ldg(str(tmp_path / "none.db")).text()


# bytes


def test_every_byte_comes_back(home: Path, full: Ldg) -> None:
    files = [path for path in home.rglob("*") if path.is_file() and path.name != "store.db"]
    assert len(files) > 40
    for path in files:
        assert full.run("export", str(path)).stdout_bytes == path.read_bytes(), path


def test_export_into_a_file_never_overwrites(full: Ldg, tmp_path: Path) -> None:
    capture = full.json("captures", "--format", "pi")["captures"][0]
    target = tmp_path / "copy.jsonl"
    assert str(target) in full.text("export", str(capture["id"]), "--output", str(target))
    assert target.read_bytes() == Path(capture["path"]).read_bytes()
    assert "never overwrites" in full.text("export", str(capture["id"]), "--output", str(target), code=2)
    (tmp_path / "folder").mkdir()
    written = full.json("export", str(capture["id"]), "--output", str(tmp_path / "folder"))["exported"]
    assert Path(written[0]["output"]).read_bytes() == target.read_bytes()
    assert "name a file" in full.json("export", str(capture["id"]), code=2)["error"]["message"]


def test_export_of_a_turn_gives_the_records_it_was_read_from(home: Path, full: Ldg, tmp_path: Path) -> None:
    source = (home / f".claude/projects/-home-dev-weather/{MAIN}.jsonl").read_bytes()
    head = full.json("head", f"claude-code:{MAIN}")["turn_id"]
    found = full.run("export", head[-8:]).stdout_bytes
    assert b"And tomorrow?" in found
    assert all(line in source for line in found.splitlines())
    assert full.run("show", head, "--raw").stdout_bytes == found
    message = full.json("show", head)["record"]["messages"][0]
    assert full.run("export", message["id"]).stdout_bytes in found
    full.text("export", head, "--output", str(tmp_path / "turn.jsonl"))
    assert (tmp_path / "turn.jsonl").read_bytes() == found
    assert "never overwrites" in full.text("export", head, "--output", str(tmp_path / "turn.jsonl"), code=2)


def test_export_of_a_database_gives_all_of_its_rows(new: Ldg, tmp_path: Path) -> None:
    """They were captured group by group, and nothing under the path of the database itself."""
    shutil.copytree(GOLDEN / "cursor" / "new-composers" / "source", tmp_path / "source")
    (path,) = (tmp_path / "source").rglob("state.vscdb")
    new.text("sync", "--path", str(path))
    groups = sorted(each["path"] for each in new.json("captures")["captures"] if "#" in each["path"])
    framed = new.run("export", str(path)).stdout_bytes
    assert framed == b"".join(new.run("export", group).stdout_bytes for group in groups) != b""
    (written,) = new.json("export", str(path), "--output", str(tmp_path / "again.db"))["exported"]
    assert written["size_bytes"] == len(framed)
    with closing(sqlite3.connect(path)) as was, closing(sqlite3.connect(tmp_path / "again.db")) as again:
        before, after = (set(each.execute("SELECT key FROM cursorDiskKV")) for each in (was, again))
    assert len(after) > len(groups)
    assert after <= before


def test_export_of_a_session_with_several_files_asks_for_a_folder(full: Ldg, tmp_path: Path) -> None:
    label = full.json("sessions", "--origin", "agentuse")["sessions"][0]["label"]
    sources = full.json("show", label)["captures"]
    assert len(sources) > 1
    assert f"--output FOLDER` writes all of them\n  {sources[0]['id']}  " in full.text("export", label, code=2)
    written = full.json("export", label, "--output", str(tmp_path / "all"))["exported"]
    assert [Path(each["output"]).read_bytes() for each in written] == [
        Path(each["path"]).read_bytes() for each in sources
    ]


def test_export_says_what_it_can_not_do(full: Ldg) -> None:
    assert "`--format raw`" in full.text("export", "1", "--format", "markdown", code=2)
    assert "nothing was captured as 'nowhere'" in full.text("export", "nowhere", code=2)
    full.text("demo")
    own = full.json("head", "fix-login")["turn_id"]
    assert "written here" in full.text("export", own, code=2)


def test_rebuild_gives_the_same_ledger_and_says_if_not(full: Ldg, tmp_path: Path) -> None:
    target = str(tmp_path / "rebuilt.db")
    report = full.json("rebuild", target)
    assert report["same"]
    assert report["not_rebuilt"] == 0
    assert report["sessions"] == full.json()["counts"]["sessions"]
    assert Ldg(target).json("verify")["good"]
    assert "is not empty" in full.text("rebuild", target, code=2)
    assert "the same: digest" in full.text("rebuild", str(tmp_path / "again.db"))
    full.text("demo")
    said = full.text("rebuild", str(tmp_path / "third.db"), code=1)
    assert "13 turns written here" in said
    assert "not the same" in said
    assert not full.json("rebuild", str(tmp_path / "fourth.db"), code=1)["same"]


def test_capture_is_the_same_on_both_databases(home: Path, url: str) -> None:
    ldg = Ldg(url)
    done = ldg.json("sync")
    assert sorted(done["sources"]) == FORMATS
    assert ldg.json("sync")["unchanged"] == done["found"]
    assert ldg.json("sessions", "--project", "My Proj", "--origin", "cursor")["sessions"][0]["title"] == "Files"
    path = home / f".claude/projects/-home-dev-weather/{MAIN}.jsonl"
    assert ldg.run("export", str(path)).stdout_bytes == path.read_bytes()
    assert {line["format"]: line["captured"] for line in ldg.json("sources")["sources"]}["claude-code"] == 6
    assert ldg.json("captures", "--limit", "1")["next"] == 1
    assert ldg.json("problems")["problems"] == []
    assert ldg.json("verify")["good"]


def asked(path: Path, text: str) -> None:
    """Adds a question to one of Claude Code's transcripts, as it would."""
    last = [json.loads(line) for line in path.read_text().splitlines() if '"uuid"' in line][-1]
    line = {
        **{name: last[name] for name in ("sessionId", "cwd", "version", "userType", "gitBranch") if name in last},
        "type": "user",
        "isSidechain": False,
        "uuid": "0f0f0f0f-0000-4000-8000-000000000001",
        "parentUuid": last["uuid"],
        "timestamp": "2026-11-15T19:00:00.000Z",
        "message": {"role": "user", "content": text},
    }
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def test_a_turn_that_its_sources_tell_otherwise_by_now_says_so(empty: Ldg, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(GOLDEN / "gemini" / "imported-and-forked" / "source", source)
    origin = next(source.rglob("*-cc21d0a2.jsonl"))  # what a copy of it tells with less of its facts
    aside = origin.rename(tmp_path / "aside")
    empty.text("sync", "--path", str(source))
    aside.rename(origin)
    empty.text("sync", "--path", str(source))
    old, new = empty.json("sql", "SELECT turn_id, by_turn_id FROM superseded ORDER BY turn_id")["rows"][0]
    assert empty.json("show", old)["superseded"] == {"by": new}
    assert empty.text("show", old).startswith(f"⊘ superseded: its sources tell it otherwise by now, as {new[-8:]}")
    assert "superseded" not in empty.json("show", new)
    tree = empty.json("tree", old)["trees"][0]
    assert {node["id"]: node["status"] for node in tree["nodes"]}[old] == "superseded"
    assert f"⊘ {old[-8:]}" in empty.text("tree", old)
    shown = {turn["id"] for turn in empty.json("timeline", "--limit", "50")["turns"]}
    assert new in shown
    assert old not in shown
