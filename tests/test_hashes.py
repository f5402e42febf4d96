"""Seals and the search index: one encoding, frozen answers, commitments that hide, words that are found."""

import struct
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger import Call, Ledger, Message, Turn, Usage
from agents_ledger.ledger import search
from agents_ledger.model import hashes
from agents_ledger.model.hashes import Part, canon, commit, commit_all, parts, turn_hash
from tests.seed.rich import Clock, fill, fixed_env

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.sampled_from([0, 127, 128, 255, 256, 65535, 65536, -32, -33, -128, -129, -32768, -32769])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20),
    max_leaves=40,
)


def packed(value: object) -> bytes:
    """MessagePack, from its specification: the shortest form of everything that a header holds."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return _packed_int(value)
    if isinstance(value, str):
        raw = value.encode()
        return _head(len(raw), 0xA0, 31, (0xD9, 0xDA, 0xDB)) + raw
    if isinstance(value, bytes):
        return _head(len(value), 0, -1, (0xC4, 0xC5, 0xC6)) + value
    assert isinstance(value, list)
    return _head(len(value), 0x90, 15, (None, 0xDC, 0xDD)) + b"".join(map(packed, value))


def _packed_int(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b", value)
    kinds = ((0xCC, "B"), (0xCD, "H"), (0xCE, "I"), (0xCF, "Q"))
    if value < 0:
        kinds = ((0xD0, "b"), (0xD1, "h"), (0xD2, "i"), (0xD3, "q"))
    for code, kind in kinds:
        try:
            return bytes([code]) + struct.pack(f">{kind}", value)
        except struct.error:
            continue
    raise OverflowError


def _head(size: int, fixed: int, largest: int, codes: tuple[int | None, int, int]) -> bytes:
    if size <= largest:
        return bytes([fixed | size])
    for code, kind in zip(codes, "BHI", strict=True):
        if code is not None and size < 1 << 8 * struct.calcsize(kind):
            return bytes([code]) + struct.pack(f">{kind}", size)
    raise OverflowError


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_the_canonical_encoding_is_messagepack_in_its_shortest_form(value: object) -> None:
    assert canon(value) == packed(value)
    assert msgspec.msgpack.decode(canon(value)) == value


@pytest.mark.parametrize("size", [15, 16, 31, 32, 255, 256, 65_535, 65_536])
def test_lengths_at_every_border_are_in_their_shortest_form(size: int) -> None:
    for value in ("x" * size, b"x" * size, [0] * size):
        assert canon(value) == packed(value)


# Frozen: a ledger that was written by one release is verified by all later ones. If this test fails, the change
# needs a new header version (the 1 in front) and the old one must still be computed for old turns.
KNOWN = {
    "first": "f0837729adb44856c6335bc9df3e2854d64369ad3de210f8ebdb042110a095b8",
    "second": "684acf59853b1008a19e2a5dff493cd3fe7cd83e5317ff05b37ef8acec2e6243",
    "compaction": "ae4f3fb51b63f745f040e458d0d5bf4f1bade5e15949b5566bdcdd5d698de1fe",
    "last leaf": "598ede6884001247c60c87f62cb481265dfee4f2f43a716305cfd8fb8db09fae",
}


def test_the_hashes_of_a_fixed_story_never_change(url: str) -> None:
    clock = Clock()
    with Ledger.open(url, env=fixed_env(clock)) as ledger:
        story = fill(ledger, clock)
        found = {
            name: (ledger.get(getattr(story, name)).turn.turn_hash or b"").hex()
            for name in ("first", "second", "compaction")
        }
        with ledger.database.read() as tx:
            *_, last = tx.rows("log_page", after=0, limit=1000)
        found["last leaf"] = bytes(last[5]).hex()
    assert found == KNOWN


def test_a_commitment_is_the_hash_of_salt_length_and_content() -> None:
    salt, raw = bytes(range(16)), b"content"
    assert commit(salt, raw) == sha256(b"al1:item" + salt + b"\0\0\0\0\0\0\0\x07" + raw).digest()


def test_equal_content_under_another_salt_has_another_commitment() -> None:
    same = [Part("message 0.content", b"yes"), Part("message 1.content", b"yes")]
    one, two = commit_all(same, b"a" * 16), commit_all(same, b"b" * 16)
    assert len({*one, *two}) == 4, "within a turn and between turns"
    assert commit_all(same, b"a" * 16) == one
    # what is random-looking stays so: the content alone confirms no guess
    assert sha256(b"yes").digest() not in one


def test_a_seal_depends_on_everything_before_it_and_on_nothing_beside_it(ledger: Ledger) -> None:
    turn = Turn(messages=(Message("user", "same"),), usage=Usage(input=1))
    ids = [ledger.append("main", turn) for _ in range(2)]
    record = ledger.get(ids[1])
    seed, parent = record.turn.seal_salt, ledger.get(ids[0]).turn.turn_hash
    assert seed is not None
    assert parent is not None
    found = parts(record)
    commitments = commit_all(found, seed)
    kept = record.turn.turn_hash
    assert turn_hash(record, parent, found, commitments) == kept
    assert turn_hash(record, bytes(32), found, commitments) != kept
    assert turn_hash(record, None, found, commitments) != kept
    ledger.fork(ids[1], "other")
    ledger.append("other", turn)
    ledger.append("main", turn)
    assert ledger.get(ids[1]).turn.turn_hash == kept


def test_the_same_turn_with_bytes_behind_its_text_adds_nothing_a_second_time(ledger: Ledger) -> None:
    turn = Turn(id="T1", messages=(Message("user", "a\x00"),), calls=(Call("Read", {"x": float("nan")}),))
    assert ledger.append("main", turn) == ledger.append("main", turn) == "T1"
    assert ledger.counts()["turns"] == 1


def test_no_part_of_a_turn_can_pass_for_another(ledger: Ledger) -> None:
    """Places stand in the header: a text that moves from one field to another changes the hash."""
    seen = set()
    for number, message in enumerate(
        (
            Message("user", "x"),
            Message("user", thinking="x"),
            Message("user", context="x"),
            Message("user", "x", "human"),
        )
    ):
        record = ledger.get(ledger.append(f"s{number}", Turn(messages=(message,))))
        fixed = msgspec.structs.replace(record.turn, id="T", root_id="T", started_at=0, completed_at=0)
        rows = [msgspec.structs.replace(row, id="M", created_at=0) for row in record.messages]
        plain = msgspec.structs.replace(fixed, query_message_ids="[]")
        same = msgspec.structs.replace(record, turn=plain, messages=rows)
        seen.add(turn_hash(same, None, parts(same), commit_all(parts(same), b"s" * 16)))
    assert len(seen) == 4


def test_a_leaf_is_an_rfc_6962_leaf_over_the_entry_and_its_row(ledger: Ledger) -> None:
    turn_id = ledger.append("main", Turn(messages=(Message("user", "x"),)))
    with ledger.database.read() as tx:
        entries = tx.rows("log_page", after=0, limit=10)
    seal = next(row for row in entries if row[1] == "seal")
    facts = ledger.get(turn_id).turn.turn_hash
    assert bytes(seal[5]) == sha256(b"\x00" + packed([1, *seal[:5], facts])).digest()
    assert hashes.SALT_BYTES == 16


def matches(ledger: Ledger, words: str) -> list[int]:
    with ledger.database.read() as tx:
        return search.matching(tx, words)


def test_words_of_every_text_are_found(ledger: Ledger) -> None:
    message = Message("assistant", "Die Straße heißt alphaword", thinking="betaword")
    call = Call("Toolname", {"path": "gammaword\nnextline"}, result={"text": "line\tdeltaword\nepsilonword"})
    failed = Call("Shell", {}, error="zetaword", status="failed")
    ledger.append("main", Turn(messages=(Message("user", "nothing"), message), calls=(call, failed)))
    assert matches(ledger, "alphaword") == []
    ledger.index()
    names = ("alphaword", "Straße", "betaword", "gammaword", "nextline", "deltaword", "epsilonword", "Toolname")
    kinds = {name: [number % 2 for number in matches(ledger, name)] for name in names}
    assert kinds == {name: [0] if name in ("alphaword", "Straße", "betaword") else [1] for name in names}
    assert matches(ledger, "alphaword betaword") == matches(ledger, "alphaword")
    assert matches(ledger, "absentword") == []
    ledger.index()
    assert len(matches(ledger, "alphaword")) == 1, "a second time adds nothing"


def test_an_error_without_a_result_is_found(ledger: Ledger) -> None:
    ledger.append("main", Turn(calls=(Call("Shell", {}, error="zetaword", status="failed"),)))
    ledger.index()
    assert len(matches(ledger, "zetaword")) == 1


def test_the_index_feeds_itself_when_enough_has_come_together(ledger: Ledger) -> None:
    turns = search.BATCH * 5 // 8  # each makes two log entries
    for word in ("earlyword", "lateword"):
        for _ in range(turns):
            ledger.append("main", Turn(messages=(Message("user", word),)))
    assert matches(ledger, "earlyword")
    assert len(matches(ledger, "lateword")) < turns
    ledger.index()
    assert len(matches(ledger, "lateword")) == turns


def test_the_index_feeds_itself_whatever_else_is_logged_between_the_turns(ledger: Ledger) -> None:
    turn = Turn(messages=(Message("user", "forkword"),))
    root = ledger.append("main", turn)
    for number in range(search.BATCH):  # four log entries each: session, move, seal, move
        ledger.fork(root, f"fork-{number}")
        ledger.append(f"fork-{number}", turn)
    assert len(matches(ledger, "forkword")) == search.BATCH


def test_words_beyond_what_an_index_holds_keep_no_turn_from_being_sealed(ledger: Ledger) -> None:
    many = " ".join(f"词{number}" for number in range(200_000))
    ledger.append(
        "main", Turn(messages=(Message("user", many, thinking=many),), calls=(Call("T", many, many, error=many),))
    )
    for number in range(search.BATCH + 1):
        ledger.append("main", Turn(messages=(Message("user", f"after{number}"),)))
    assert len(matches(ledger, "after7")) == 1
    assert ledger.verify().is_good


def test_a_live_turn_is_not_found_before_it_is_sealed(ledger: Ledger) -> None:
    turn = ledger.turn("main", "liveword")
    ledger.index()
    assert matches(ledger, "liveword") == []
    turn.complete()
    ledger.index()
    assert len(matches(ledger, "liveword")) == 1


def test_a_large_text_is_indexed_up_to_its_cut_and_kept_whole(ledger: Ledger) -> None:
    text = "beginword " + "filler " * 43_000 + "endword"
    assert len(text) > 300_000
    turn_id = ledger.append("main", Turn(messages=(Message("user", text),), calls=(Call("T", text, text),)))
    ledger.index()
    assert len(matches(ledger, "beginword")) == 2
    assert matches(ledger, "endword") == []
    record = ledger.get(turn_id)
    assert record.messages[0].content == text
    assert msgspec.json.decode(record.calls[0].result_json or "") == text
    assert ledger.verify().is_good
