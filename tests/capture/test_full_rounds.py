"""A full round notices a source that was rewritten in place, with the same size and the same time."""

import os
import re
from pathlib import Path

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.export import resolve
from agents_ledger.capture.sync import Sync
from agents_ledger.ledger import evidence
from tests.capture.folders import GOLDEN, MACHINE, assert_sound, copy, files_below, opened, sync, write

CASES = [
    *(f"claude-code/{folder.name}" for folder in sorted((GOLDEN / "claude-code").iterdir())[:2]),
    "gemini/document-of-0.10",
    "agentuse/every-part",
    "opencode/tree-of-1.1",
    "opencode/compaction",
    "cursor/new-composers",
    "cursor/cli-store",
]


def rewritten(path: Path, was: bytes, becomes: bytes) -> None:
    """Changes some bytes of a file in place; nothing that a look at it shows is different."""
    facts, data = path.stat(), path.read_bytes()
    assert was in data
    assert len(was) == len(becomes)
    path.write_bytes(data.replace(was, becomes))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def asked(ledger: Ledger) -> list[str]:
    rows = ledger.database.query("SELECT content FROM messages WHERE role = 'user' AND content IS NOT NULL")[1]
    return [str(text) for (text,) in rows]


def a_word(ledger: Ledger, source: Path) -> tuple[list[Path], bytes]:
    """A word that a user said, and the files that have it."""
    words = {word for text in asked(ledger) for word in re.findall(r"[a-z]{5,}", text)}
    for word in sorted(words, key=lambda word: (-len(word), word)):
        found = [path for path in files_below(source) if word.encode() in path.read_bytes()]
        if found:
            return found, word.encode()
    raise AssertionError("no file has a word of a user as it is")


@pytest.mark.parametrize("name", CASES)
def test_a_source_rewritten_in_place_is_read_again(name: str, tmp_path: Path) -> None:
    source = copy(GOLDEN / name / "source", tmp_path / "source")
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, source)
        paths, word = a_word(ledger, source)
        changed = b"z" * len(word)
        for path in paths:
            rewritten(path, word, changed)
        done = sync(ledger, source)
        assert (done.rewritten, done.grown, done.new) == (0, 0, 0), "a look shows nothing"
        assert not any(changed.decode() in text for text in asked(ledger))
        again = Sync(ledger, MACHINE).run([str(source)], is_full=True)
        assert again.rewritten + again.grown >= 1
        assert any(changed.decode() in text for text in asked(ledger))
        assert_sound(ledger)
        quiet = Sync(ledger, MACHINE).run([str(source)], is_full=True)
        assert (quiet.rewritten, quiet.grown, quiet.new, quiet.new_turns) == (0, 0, 0, 0)


def test_the_middle_of_a_long_file_is_compared_too(tmp_path: Path) -> None:
    line = '{"type":"user","uuid":"%s","parentUuid":%s,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z",'
    line += '"message":{"role":"user","content":"%s"}}\n'
    text, parent = "", "null"
    for number in range(120):
        text += line % (f"u{number}", parent, f"number {number:03} " + "x" * 60_000)
        parent = f'"u{number}"'
    path = tmp_path / "sources" / "s.jsonl"
    write(path, text.encode())
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, path)
        rewritten(path, b"number 060", b"nummer 060")
        assert sync(ledger, path).rewritten == 0
        assert Sync(ledger, MACHINE).run([str(path)], is_full=True).rewritten == 1
        with ledger.database.read() as tx:
            kept = b"".join(evidence.read(tx, resolve(ledger, str(path))[0].id))
        assert kept == path.read_bytes()
        assert any("nummer 060" in said for said in asked(ledger))
