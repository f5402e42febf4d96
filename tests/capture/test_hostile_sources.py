"""Sources that nobody would write on purpose, beside good ones: these come in whole, and nothing ever stops a sync."""

import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture import records, writer
from agents_ledger.capture.assemble import Assembler
from agents_ledger.capture.draft import Draft
from agents_ledger.formats import formats
from agents_ledger.ledger import evidence
from agents_ledger.ledger.digest import digest
from agents_ledger.model import zstd
from tests.capture.folders import GOLDEN, ROOT, assert_sound, copy, counts, opened, rows, sync, write
from tests.capture.hostile_lines import (
    BAD_LINES,
    START,
    WORSE_LINES,
    called,
    deepened,
    entry,
    header,
    hostile_files,
    line,
    written,
)
from tests.formats.hostile import Origin, origins

SOAK = int(os.environ.get("SOAK", "0"))
NEIGHBOURS = ("claude-code/chat-with-tools", "codex/tools", "pi/v3", "cursor/new-composers", "agentuse/subagent")
Said = set[tuple[object, ...]]


def good(folder: Path) -> Path:
    """Sessions of several agents, as they should be."""
    for name in NEIGHBOURS:
        copy(GOLDEN / name / "source", folder / "good" / name)
    return folder


def told(ledger: Ledger) -> Said:
    """What a ledger says: sessions and where they point, turns and messages."""
    asked = (
        "SELECT label, thread_id FROM sessions",
        "SELECT id, parent_turn_id, status, error FROM turns",
        "SELECT turn_id, sequence, role, content, thinking FROM messages",
    )
    return {tuple(row.values()) for sql in asked for row in rows(ledger, sql)}


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """What the good sessions say when they are alone."""
    folder = tmp_path_factory.mktemp("alone")
    with opened(folder / "ledger.db") as ledger:
        sync(ledger, good(folder))
        assert_sound(ledger)
        return told(ledger)


@pytest.fixture(scope="session")
def known() -> dict[str, list[Origin]]:
    return {form.name: origins(form, [GOLDEN]) for form in formats()}


# Turns that do not stand behind their parent: also those that are open, which `verify` leaves alone.
_OUT_OF_PLACE = """
    SELECT c.id FROM turns c JOIN turns p ON p.id = c.parent_turn_id JOIN segments s ON s.id = c.segment_id
    WHERE c.depth <> p.depth + 1 OR c.root_id <> p.root_id OR p.has_children = 0
        OR (c.segment_id <> p.segment_id AND (s.parent_segment_id <> p.segment_id OR s.fork_depth <> p.depth))
        OR coalesce(c.thread_tokens, 0) <> coalesce(p.thread_tokens, 0) + coalesce(c.total_tokens, 0)
"""


def survive(ledger: Ledger, folder: Path, expected: Said) -> set[str]:
    """Two syncs of a folder: the good sessions are there, all is sound, the second one adds nothing. Gives problems."""
    sync(ledger, folder)
    missing = expected - told(ledger)
    assert not missing, sorted(map(str, missing))[:3]
    assert_sound(ledger)
    assert not rows(ledger, _OUT_OF_PLACE)
    before = counts(ledger)
    again = sync(ledger, folder)
    assert (again.new, again.grown, again.rewritten, again.new_turns) == (0, 0, 0, 0)
    assert counts(ledger) == before
    return {str(row["code"]) for row in rows(ledger, "SELECT DISTINCT code FROM problems")}


def is_told(ledger: Ledger, words: str) -> bool:
    return bool(rows(ledger, f"SELECT 1 FROM messages WHERE content = '{words}'"))  # noqa: S608 - our own words


@pytest.mark.parametrize("name", [*BAD_LINES, *WORSE_LINES])
def test_bad_lines_cost_themselves_only(name: str, tmp_path: Path, expected: Said) -> None:
    lines, code = (BAD_LINES | WORSE_LINES)[name]
    path = good(tmp_path / "all") / "bad.jsonl"
    written(path, header("bad-one"), entry("00000000", None), *lines, entry("ffffffff", None, "the last word"))
    with opened(tmp_path / "ledger.db") as ledger:
        found = survive(ledger, tmp_path / "all", expected)
        assert code is None or code in found
        assert "reader-failed" not in found
        assert is_told(ledger, "the last word")


@pytest.mark.parametrize("name", BAD_LINES)
def test_bad_lines_are_the_same_in_two_pieces(name: str, tmp_path: Path) -> None:
    lines = [header("bad-one"), entry("00000000", None), *BAD_LINES[name][0], entry("ffffffff", None, "the last word")]
    path = written(tmp_path / "one" / "bad.jsonl", *lines)
    with opened(tmp_path / "one.db") as one, opened(tmp_path / "two.db") as two:
        sync(one, path)
        written(path, *lines[: len(lines) // 2])
        sync(two, path)
        written(path, *lines)
        sync(two, path)
        assert_sound(two)
        assert digest(two.database) == digest(one.database)


SESSIONS = (
    "",
    " ",
    "\x00",
    "a\nb\tc",
    "\x1b[31mred",
    "x" * 10_000,
    "é" * 600,
    "../../etc",
    "a:b:c",
    "\ud800",
    "💥",
    "..",
    "a/b",
)


def test_sessions_may_be_called_anything(tmp_path: Path, expected: Said) -> None:
    folder = good(tmp_path / "all")
    for at, name in enumerate(SESSIONS):
        written(folder / f"p{at}.jsonl", header(name), entry("a", None, f"pi {at}"))
        first = line(f"first-{at}", None, sessionId=f"first-{at}")
        written(folder / f"c{at}.jsonl", first, line(f"u{at}", None, f"claude {at}", sessionId=name))
        meta = {"id": name, "timestamp": START, "cwd": "/", "cli_version": "0.166.0", "originator": "codex"}
        asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"codex {at}"}]}
        written(
            folder / f"rollout-{at}.jsonl",
            {"timestamp": START, "type": "session_meta", "payload": meta},
            {"timestamp": START, "type": "response_item", "payload": asked},
        )
    with opened(tmp_path / "ledger.db") as ledger:
        survive(ledger, folder, expected)
        for at in range(len(SESSIONS)):
            assert is_told(ledger, f"pi {at}")
            assert is_told(ledger, f"claude {at}")
            assert is_told(ledger, f"codex {at}")
        for row in rows(ledger, "SELECT label FROM sessions"):
            label = str(row["label"])
            assert label.isprintable()
            assert len(label) <= 512


def test_one_session_id_in_two_files_with_other_content(tmp_path: Path, expected: Said) -> None:
    folder = good(tmp_path / "all")
    for name in ("one", "two"):
        words = [entry("a", None, f"{name} asks"), entry("b", "a", f"{name} answers", "assistant")]
        written(folder / name / "same.jsonl", header("same"), *words)
        written(
            folder / name / "claude.jsonl",
            line("u", None, f"{name} speaks"),
            line("v", "u", f"{name} says", "assistant"),
        )
    with opened(tmp_path / "ledger.db") as ledger:
        survive(ledger, folder, expected)
        for name in ("one", "two"):
            assert is_told(ledger, f"{name} asks")
            assert is_told(ledger, f"{name} answers")
        assert is_told(ledger, "one says") or is_told(ledger, "two says")  # one uuid: the other one is in the evidence
        with ledger.database.read() as tx:
            kept = [b"".join(evidence.read(tx, row[0])) for row in tx.rows("current_captures")]
        for path in (folder / "one", folder / "two"):
            assert (path / "claude.jsonl").read_bytes() in kept


def test_sessions_that_start_each_other(tmp_path: Path, expected: Said) -> None:
    """Subagents and forks in circles, and of themselves."""
    folder = good(tmp_path / "all")
    for one, other in (("A", "B"), ("B", "A"), ("C", "C"), ("D", "\ud800"), ("E", "")):
        more = {"parentSessionId": other, "toolCallId": "call\nx", "parentSession": f"/x/{other}.jsonl"}
        written(folder / f"{one}.jsonl", header(one, **more), entry("a", None, one), called("b", b"{}"))
    meta = {"timestamp": START, "cwd": "/", "cli_version": "0.166.0", "originator": "codex"}
    for one, other in (("1", "2"), ("2", "1"), ("3", "3")):
        ids = [f"0199a213-81c0-7800-8aa1-bbab2a03500{name}" for name in (one, other)]
        base = {"forked_from_id": ids[1], "history_base": {"thread_id": ids[1], "end_ordinal_exclusive": 9}}
        asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"codex {one}"}]}
        written(
            folder / f"rollout-2026-11-15T18-00-00-{ids[0]}.jsonl",
            {"timestamp": START, "ordinal": 0, "type": "session_meta", "payload": {"id": ids[0], **meta, **base}},
            {"timestamp": START, "ordinal": 1, "type": "response_item", "payload": asked},
        )
    with opened(tmp_path / "ledger.db") as ledger:
        survive(ledger, folder, expected)
        assert all(is_told(ledger, words) for words in ("A", "B", "C", "D", "E", "codex 1", "codex 2", "codex 3"))


def test_numbers_that_would_take_forever(tmp_path: Path, expected: Said) -> None:
    """A rollback of more turns than there ever were; one step that goes on in many ways."""
    folder = good(tmp_path / "all")
    meta = {"id": "0199a213-81c0-7800-8aa1-bbab2a035009", "timestamp": START, "cwd": "/", "originator": "codex"}
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "codex asks"}]}
    back = {"type": "thread_rolled_back", "num_turns": 2**62}
    written(
        folder / "rollout-2026-11-15T18-00-00-0199a213-81c0-7800-8aa1-bbab2a035009.jsonl",
        {"timestamp": START, "type": "session_meta", "payload": meta},
        *({"timestamp": START, "type": "response_item", "payload": asked} for _ in range(3)),
        {"timestamp": START, "type": "event_msg", "payload": back},
        {"timestamp": START, "type": "response_item", "payload": asked},
    )
    written(folder / "claude.jsonl", *(line("u", None, f"claude {at}") for at in range(100)))
    with opened(tmp_path / "ledger.db") as ledger:
        survive(ledger, folder, expected)
        assert is_told(ledger, "codex asks")
        assert all(is_told(ledger, f"claude {at}") for at in range(100))


def test_fields_that_are_nested_without_end(known: dict[str, list[Origin]], tmp_path: Path) -> None:
    """About as deep as readers go: some of it can be read, and not written again."""
    folder = tmp_path / "all"
    chance = Random("deep")  # noqa: S311 - the same every time, not secrets
    for form, mine in known.items():
        for at, origin in enumerate([origin for origin in mine if origin.kind.shape == "lines"][:12]):
            lines = [record for record in origin.records if len(record) < 20_000]
            path = folder / form / str(at) / Path(origin.path).name
            written(path, *lines[:1], *(deepened(record, chance) for record in lines))
    with opened(tmp_path / "ledger.db") as ledger:
        assert "reader-failed" not in survive(ledger, folder, set())


DEEP = 100_000 if SOAK else 3_000


@pytest.mark.parametrize("order", [1, -1], ids=["downwards", "upwards"])
def test_a_chain_as_deep_as_one_likes(order: int, tmp_path: Path, expected: Said) -> None:
    folder = good(tmp_path / "all")
    chain = [entry(f"n{at}", f"n{at - 1}" if at else None) for at in range(DEEP)]
    written(folder / "deep.jsonl", header("deep"), *chain[::order], entry("end", f"n{DEEP - 1}", "the last word"))
    with opened(tmp_path / "ledger.db") as ledger:
        survive(ledger, folder, expected)
        assert is_told(ledger, "the last word")


# Files that are no files, or not what they are called.


def linked(folder: Path) -> None:
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "up").symlink_to(folder)
    (folder / "folder.jsonl").symlink_to(folder / "good", target_is_directory=True)
    (folder / "nowhere.jsonl").symlink_to(folder / "not-there")
    (folder / "null.jsonl").symlink_to("/dev/null")
    (folder / "zero.jsonl").symlink_to("/dev/zero")


def piped(folder: Path) -> None:
    os.mkfifo(folder / "pipe.jsonl")


def named_oddly(folder: Path) -> None:
    names = [
        b"a\nb.jsonl",
        b"\xff\xfe.jsonl",
        b"\xff\xfd.jsonl",
        "💥.jsonl".encode(),
        b" .jsonl",
        b"#.jsonl",
        b"%00.jsonl",
        b"-rf.jsonl",
    ]
    for at, name in enumerate(names):
        path = os.path.join(os.fsencode(folder), name)  # noqa: PTH118 - Path knows no bytes
        with open(path, "wb") as file:  # noqa: PTH123 - as above
            file.write(json.dumps(header(f"odd-{at}")).encode() + b"\n")
            file.write(json.dumps(entry("a", None, f"oddly named {at}")).encode() + b"\n")


def empty(folder: Path) -> None:
    for name in ("empty.jsonl", "rollout-x.jsonl", "sessions.json", "state.vscdb", "store.db", "x.jsonl.zst"):
        (folder / name).touch()
    (folder / "x.jsonl").mkdir()
    (folder / "state.vscdb-wal").write_bytes(b"\x00" * 100)
    (folder / "blank.jsonl").write_bytes(b"\n\n \r\n\t\n")


def no_databases(folder: Path) -> None:
    whole = (GOLDEN / "cursor/new-composers/source/User/globalStorage/state.vscdb").read_bytes()
    for name, data in (
        ("cut", whole[:5000]),
        ("head", whole[:100]),
        ("holes", whole[:4096] + b"\xff" * 8192 + whole[12288:]),
    ):
        path = folder / name / "User" / "globalStorage" / "state.vscdb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    store = folder / ".cursor" / "chats" / "a" / "b" / "store.db"
    store.parent.mkdir(parents=True)
    store.write_bytes(
        b"SQLite format 3\x00" + b"blobs cursorDiskKV CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB" * 50
    )


def packed(folder: Path) -> None:
    text = b"".join(json.dumps(each).encode() + b"\n" for each in (header("zst"), entry("a", None, "oddly packed")))
    whole = zstd.compress(text)
    (folder / "cut.jsonl.zst").write_bytes(whole[:-5])
    (folder / "changed.jsonl.zst").write_bytes(whole[:20] + b"\xff\xff" + whole[22:])
    (folder / "magic.jsonl.zst").write_bytes(whole[:4])
    (folder / "more.jsonl.zst").write_bytes(whole + b"and more")
    (folder / "twice.jsonl.zst").write_bytes(whole + whole)
    (folder / "nested.jsonl.zst").write_bytes(zstd.compress(whole))
    (folder / "plain.jsonl.zst").write_bytes(text)
    (folder / "packed.jsonl").write_bytes(whole)


ODD_FILES = (linked, piped, named_oddly, empty, no_databases, packed)


@pytest.mark.parametrize("make", ODD_FILES, ids=lambda make: make.__name__)
def test_odd_files_stop_nothing(make: Callable[[Path], None], tmp_path: Path, expected: Said) -> None:
    folder = good(tmp_path / "all")
    make(folder)
    with opened(tmp_path / "ledger.db") as ledger:
        found = survive(ledger, folder, expected)
        assert "reader-failed" not in found
        count = len(rows(ledger, "SELECT 1 FROM messages WHERE content LIKE 'oddly named %'"))
        assert count == (8 if make is named_oddly else 0)


@pytest.mark.parametrize(
    ("bad", "problems"),
    [
        pytest.param(b"junk\n", 1, id="junk"),
        pytest.param(b"\0" * 4096 + b"{", 1, id="zeros and more"),
        pytest.param(b"\0" * 4096, 0, id="zeros"),
        pytest.param(b"junk\n" * 40, 1, id="many lines"),
        pytest.param(b"x" * (1 << 17) + b"\n", 1, id="a long line"),
        pytest.param(b"\0" * (1 << 17) + b"\n", 0, id="many zeros"),
    ],
)
def test_a_rollout_with_a_bad_first_line_is_kept_and_the_rest_is_read(
    bad: bytes, problems: int, tmp_path: Path
) -> None:
    (source,) = (GOLDEN / "codex/tools/source").rglob("rollout-*.jsonl")
    path = tmp_path / "all" / source.name
    write(path, bad + source.read_bytes())
    with opened(tmp_path / "ledger.db") as ledger, opened(tmp_path / "whole.db") as whole:
        assert sync(ledger, path).new == 1
        sync(whole, source)
        assert_sound(ledger)
        said = "SELECT role, content FROM messages WHERE role <> 'system'"
        assert rows(ledger, said) == rows(whole, said)
        assert rows(ledger, "SELECT size_bytes FROM captures") == [{"size_bytes": path.stat().st_size}]
        assert len(rows(ledger, "SELECT 1 FROM problems WHERE code = 'broken-line' AND place = 0")) == problems


def cut(whole: bytes) -> bytes:
    return whole[:-5]


def only_begun(whole: bytes) -> bytes:
    return whole[:4]


def overwritten(whole: bytes) -> bytes:
    return whole[:8] + b"\xff" * 40 + whole[48:]


@pytest.mark.parametrize("damage", [cut, only_begun, overwritten], ids=lambda damage: damage.__name__)
def test_a_broken_archive_of_a_rollout_is_kept_and_called_unreadable(
    damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    (source,) = (GOLDEN / "codex/packed/source").rglob("rollout-*.zst")
    path = tmp_path / "all" / source.name
    write(path, damage(source.read_bytes()))
    with opened(tmp_path / "ledger.db") as ledger:
        done = sync(ledger, path)
        assert (done.new, done.unrecognised) == (1, [])
        assert_sound(ledger)
        assert rows(ledger, "SELECT size_bytes FROM captures") == [{"size_bytes": path.stat().st_size}]
        assert rows(ledger, "SELECT code FROM problems WHERE code <> 'cut-line'") == [{"code": "unreadable"}]
        assert sync(ledger, path).unchanged == 1


def test_a_broken_archive_of_nobody_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "notes.zst"
    path.write_bytes(overwritten(zstd.compress(bytes(range(256)) * 9)))
    with opened(tmp_path / "ledger.db") as ledger:
        done = sync(ledger, path)
        assert (done.unreadable, done.unrecognised) == ([str(path)], [])
        assert rows(ledger, "SELECT path, code FROM problems") == [{"path": str(path), "code": "unreadable"}]


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_what_sqlite_keeps_beside_a_database_is_no_file_of_its_own(end: str, tmp_path: Path) -> None:
    folder = copy(GOLDEN / "cursor/new-composers/source", tmp_path / "all")
    (folder / "other.db").write_bytes((folder / "User/globalStorage/state.vscdb").read_bytes()[:16])
    with opened(tmp_path / "ledger.db") as ledger:
        before = sync(ledger, folder)
        (folder / f"other.db{end}").write_bytes(b"\x01" * 100)
        (folder / f"letter{end}").write_text("Dear reader")
        (folder / "letter").write_text("Dear reader")
        after = sync(ledger, folder)
        assert after.found == before.found + 2
        assert {*after.unrecognised} - {*before.unrecognised} == {str(folder / "letter"), str(folder / f"letter{end}")}


def test_an_unreadable_file_is_named(tmp_path: Path, expected: Said) -> None:
    if not os.geteuid():
        pytest.skip("nothing is unreadable for root")
    folder = good(tmp_path / "all")
    written(folder / "secret.jsonl", header("secret"), entry("a", None)).chmod(0)
    (folder / "closed").mkdir(mode=0)
    with opened(tmp_path / "ledger.db") as ledger:
        assert "unreadable" in survive(ledger, folder, expected)


def test_a_bomb_is_not_unpacked(tmp_path: Path, expected: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LARGEST_UNPACKED", 4 << 20)
    folder = good(tmp_path / "all")
    first = b"".join(json.dumps(each).encode() + b"\n" for each in (header("bomb"), entry("a", None, "the first word")))
    (folder / "bomb.jsonl.zst").write_bytes(zstd.compress(first + b" \n" * (8 << 20)))
    with opened(tmp_path / "ledger.db") as ledger:
        assert "too-large" in survive(ledger, folder, expected)
        assert is_told(ledger, "the first word")


_IN_A_PROCESS = """
import sys
from pathlib import Path
from tests.capture.folders import opened, sync
with opened(Path(sys.argv[1])) as ledger:
    sync(ledger, Path(sys.argv[2]))
status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
print(status["VmHWM"].split()[0])  # its own: `ru_maxrss` begins with that of its parent
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")
def test_a_line_without_end_needs_little_memory(tmp_path: Path, expected: Said) -> None:
    folder = good(tmp_path / "all")
    size = 200 << 20 if SOAK else 70 << 20
    words = json.dumps(entry("a", None, "?")).encode().split(b"?")
    with (folder / "long.jsonl").open("wb") as file:
        file.write(json.dumps(header("long")).encode() + b"\n" + words[0])
        for _ in range(size >> 20):
            file.write(b"a" * (1 << 20))
        file.write(words[1] + b"\n" + json.dumps(entry("b", None, "the last word")).encode() + b"\n")
    command = [sys.executable, "-c", _IN_A_PROCESS, str(tmp_path / "ledger.db"), str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert int(done.stdout) < 300 << 10
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        assert "long-line" in survive(ledger, folder, expected)
        assert is_told(ledger, "the last word")


def test_of_a_conversation_without_end_only_the_last_turns_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BATCH_BYTES", 1 << 20)
    forget, held = Assembler.forget, list[int]()

    def counted(self: Assembler) -> None:
        forget(self)
        held.append(sum(isinstance(each, Draft) for each in gc.get_objects()))

    monkeypatch.setattr(Assembler, "forget", counted)
    lines = [entry(f"{at}", f"{at - 1}" if at else None, f"{at} " + "word " * 4_000) for at in range(400)]
    written(tmp_path / "endless" / "long.jsonl", header("long"), *lines)
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, tmp_path / "endless")
        assert counts(ledger)["turns"] == len(lines)
    assert len(held) > 5
    assert max(held) <= 2


# Everything at once, and thousands of hostile lines.


def test_all_of_it_at_once(url: str, tmp_path: Path, expected: Said) -> None:
    folder = good(tmp_path / "all")
    for at, (name, (lines, _)) in enumerate((BAD_LINES | WORSE_LINES).items()):
        written(folder / f"{at}" / "bad.jsonl", header(f"bad-{at}"), *lines, entry("end", None, name))
        written(folder / f"{at}" / "same.jsonl", header("same"), *lines, entry("end", None, name))
    for make in ODD_FILES:
        if make is not linked:
            make(folder)
    with Ledger.open(url) as ledger:
        found = survive(ledger, folder, expected)
        assert "reader-failed" not in found


def test_a_turn_that_is_told_again_behind_its_own_child_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gemini CLI's logs say messages again; a rewind then went round and round (2**31 times)."""
    again = "9eed35ae-d9cc-4e2f-8437-9f4855991a58"
    path = tmp_path / "all" / "chats" / "session-2026-11-14T11-00-22222222.jsonl"
    lines: list[dict[str, Any]] = [
        {"sessionId": "22222222-2222-4333-8444-555555555555", "projectHash": "x", "kind": "main"},
        {"id": "first", "type": "gemini", "content": "Said."},
        {"id": "e56d75be-a590-4527-b0fe-20ea798aa79a/1"},
        {"id": again},
        {"id": "child", "type": "user", "content": [{"text": "Asked."}]},
        {"id": again, "type": "user", "content": [{"text": "Asked behind it."}]},
        {"$rewindTo": "first"},
        {"id": "last", "type": "user", "content": [{"text": "The last word."}]},
    ]
    written(path, *lines)
    asked = 0
    parent = writer.Writer.parent

    def counted(asks: writer.Writer, turn_id: str) -> str | None:
        nonlocal asked
        asked += 1
        assert asked < 10_000, "it goes in circles"
        return parent(asks, turn_id)

    monkeypatch.setattr(writer.Writer, "parent", counted)
    with opened(tmp_path / "ledger.db") as ledger:
        assert "reader-failed" not in survive(ledger, tmp_path / "all", set())
        assert is_told(ledger, "Asked behind it.")
        assert is_told(ledger, "The last word.")


def test_something_about_a_session_before_it_is_known_whose_it_is(tmp_path: Path) -> None:
    """A level of thinking, then the header of a subagent of another system: both are about one session."""
    path = tmp_path / "all" / ".clawdbot" / "agents" / "main" / "sessions" / "cut-1.jsonl"
    at = {"timestamp": "2026-03-01T10:00:08.000Z"}
    first = {"type": "thinking_level_change", "sessionId": "embedded", "uuid": "e-1", "thinkingLevel": "low", **at}
    head = {"type": "session", "id": "embedded", "parentSessionId": "nx-1", "toolCallId": "t-3", **at}
    said = {"type": "message", "id": "e-2", "message": {"role": "user", "content": "The last word."}, **at}
    written(path, first, head, said)
    with opened(tmp_path / "ledger.db") as ledger:
        assert "reader-failed" not in survive(ledger, tmp_path / "all", set())
        assert is_told(ledger, "The last word.")
        (known,) = rows(ledger, "SELECT extra FROM session_details WHERE session_label LIKE '%:embedded'")
        assert "low" in str(known["extra"])


def test_a_parent_whose_name_is_no_text_is_waited_for_and_found(tmp_path: Path) -> None:
    """Qwen Code's lines: the parent is told in another file, which comes later; its id is a lone surrogate."""
    path, odd = tmp_path / "all" / "chats", "\ud800 and so on, to be long enough"
    whole = {
        "sessionId": "aaaaaaaa-0000-4000-8000-000000000001",
        "type": "user",
        "cwd": "/home/ada",
        "version": "0.24.4",
    }
    child = {"uuid": "child", "parentUuid": odd, **whole, "timestamp": START, "message": told_by("Behind it.")}
    above = {"uuid": odd, "parentUuid": None, **whole, "timestamp": START, "message": told_by("Before it.")}
    written(path / "one.jsonl", child)
    with opened(tmp_path / "ledger.db") as ledger:
        assert "reader-failed" not in survive(ledger, tmp_path / "all", set())
        written(path / "two.jsonl", above)
        assert "reader-failed" not in survive(ledger, tmp_path / "all", set())
        asked = "SELECT c.depth FROM turns c JOIN messages m ON m.turn_id = c.id WHERE m.content = 'Behind it.'"
        assert [row["depth"] for row in rows(ledger, asked)] == [2]


def told_by(words: str) -> dict[str, Any]:
    """A message in Gemini's words."""
    return {"role": "user", "parts": [{"text": words}]}


@pytest.mark.parametrize("name", sorted(form.name for form in formats()))
def test_thousands_of_hostile_records(name: str, known: dict[str, list[Origin]], tmp_path: Path) -> None:
    rounds = 100 if SOAK == 1 else SOAK // 2_000 or 1
    for at in range(rounds):
        folder = tmp_path / str(at)
        hostile_files(folder, name, known, f"{name} {at}", 2_000)
        with opened(tmp_path / f"{at}.db") as ledger:
            assert "reader-failed" not in survive(ledger, folder, set())
        (tmp_path / f"{at}.db").unlink()
        shutil.rmtree(folder)
