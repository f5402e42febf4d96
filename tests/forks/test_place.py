"""New sessions on their way into an agent's folder: whole and as they were told, or not there at all."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EIO
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger.capture import place
from agents_ledger.capture.place import drafted
from agents_ledger.errors import StoreError, StoreFull
from agents_ledger.ledger.written import head_digest

MIB = 1 << 20
# around what is written at once: lines that fit, that end where a buffer ends, that fill several
LENGTHS = st.sampled_from([0, 1, 70_000, MIB - 1, MIB, MIB + 1, 5 * MIB + 17])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(LENGTHS, st.booleans()), max_size=6), st.binary(min_size=1, max_size=20))
def test_a_file_has_the_lines_that_were_told_with_their_ends(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[int, bool]], pattern: bytes
) -> None:
    """Whatever their lengths: nothing of a buffer that is used again is left over."""
    texts = [(pattern.replace(b"\n", b"") * size)[:size] for size, _ in told]
    lines = [text + b"\n" * has_end for text, (_, has_end) in zip(texts, told, strict=True)]
    wanted = b"".join(text + b"\n" for text in texts)
    path = tmp_path_factory.mktemp("place") / "new.jsonl"
    with drafted(path, iter(lines)) as draft:
        assert not path.exists()
        draft.publish()
    assert path.read_bytes() == wanted
    assert (draft.size_bytes, draft.digest) == (len(wanted), sha256(wanted).digest())
    assert draft.head == (head_digest(wanted) if wanted else b"")


@pytest.mark.parametrize("failing", [1, 2])
def test_an_error_of_the_disk_is_told_whenever_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """A system tells it once: also when that was not at the end, nothing is put into its place."""
    settled = []

    def fsync(number: int) -> None:
        settled.append(number)
        if len(settled) == failing:
            raise OSError(EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(place, "_SETTLED_BYTES", 2 * MIB)
    with (
        pytest.raises(StoreError, match=r"Input/output error.*check the disk"),
        drafted(tmp_path / "new.jsonl", (b"x" * MIB,) * 16),
    ):
        pytest.fail("it must not be offered")
    assert len(settled) >= failing
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_halfway_leaves_nothing_behind(tmp_path: Path) -> None:
    draft = drafted(tmp_path / "new.jsonl", (b"x" * MIB,) * 16)
    with limited(5 * MIB), pytest.raises(StoreFull, match="free some space"), draft:
        pytest.fail("it must not be offered")
    assert list(tmp_path.iterdir()) == []


@contextmanager
def limited(size_bytes: int) -> Iterator[None]:
    """No file grows larger: what is too much is not written, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
