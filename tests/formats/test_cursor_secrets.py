"""Keys and tokens in Cursor's databases: not in the evidence, not in the ledger, and nothing else is changed."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents_ledger import Ledger
from agents_ledger.capture.sync import Sync
from agents_ledger.formats.cursor import FORMAT
from agents_ledger.formats.cursor.secrets import blanked, blanked_hex
from agents_ledger.ledger import evidence
from agents_ledger.model.formats import Machine
from tests.formats.cursor_store import HEADS, head, write
from tests.formats.cursor_talk import START, bubble, tool

CLEAN = FORMAT.tables and FORMAT.tables()
assert CLEAN is not None
SESSION = "a3730dd7-5c30-4081-9876-3c28e4505cc9"
OWN = ("blobEncryptionKey", "speculativeSummarizationEncryptionKey", "encryption_key")
NAMES = (*OWN, "apiKey", "accessToken", "password")


def text_of(value: Any) -> bytes:
    """As JavaScript writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_is_blanked_wherever_it_stands(name: str) -> None:
    assert blanked(text_of({"a": 1, name: "s3cret", "b": "x"})) == text_of({"a": 1, name: "", "b": "x"})
    assert blanked(text_of([{"x": {name: 's3"cret\\'}}])) == text_of([{"x": {name: ""}}])
    assert blanked(text_of({name: {"k": ["s3cret", {"d": "s3cret"}], "n": 5}})) == text_of(
        {name: {"k": ["", {"d": ""}], "n": 5}}
    )


@pytest.mark.parametrize("name", OWN)
def test_a_secret_is_blanked_in_json_inside_texts(name: str) -> None:
    for deep in range(1, 4):
        value, clean = {name: "s3cret\n", "t": 'é"\\\n'}, {name: "", "t": 'é"\\\n'}
        written, expected = text_of(value), text_of(clean)
        for _ in range(deep):
            written, expected = text_of({"a": written.decode()}), text_of({"a": expected.decode()})
        assert blanked(written) == expected


def test_a_secret_is_blanked_in_rows_that_were_cut() -> None:
    whole = text_of({"a": text_of({"blobEncryptionKey": 's3cr"et'}).decode(), "blobEncryptionKey": "s3cret"})
    for end in range(len(whole)):
        assert b"s3c" not in blanked(whole[:end])
    for name in NAMES:
        whole = text_of({name: "s3cret", "a": 1})
        assert blanked(whole[:-1]) == text_of({name: "", "a": 1})[:-1]


def test_words_of_people_are_left_alone() -> None:
    for value in (
        {"text": '"blobEncryptionKey": "mine"'},
        {"text": "the apiKey is abc", "rawArgs": '{"apiKey":"abc","password":"x"}'},
        {"tokenCount": {"inputTokens": 5}, "token": "x", "key": "y", "keyboard": "z"},
        [{"apiKey": None}, "x", {"apiKey": 5}, "y", {"apiKey": []}, "z"],
    ):
        assert blanked(text_of(value)) == text_of(value)
    for key in ("agentKv:blob:ab", "composer.content.ab", f"ofsContent:{SESSION}:file:///a.py"):
        assert CLEAN is not None
        assert CLEAN.clean("cursorDiskKV", key, b'{"apiKey":"abc"}') == b'{"apiKey":"abc"}'


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["s3cret", "{", '"', "\\"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*NAMES, "a", "tokenCount", '"', "\\"]), inner, max_size=3)
    ),
    max_leaves=15,
)


def without(value: Any, *, inside: bool = False) -> Any:
    """The same without secrets, the long way."""
    if isinstance(value, dict):
        return {key: without(item, inside=inside or key in NAMES) for key, item in value.items()}
    if isinstance(value, list):
        return [without(item, inside=inside) for item in value]
    return "" if inside and isinstance(value, str) else value


@given(_json, st.booleans(), st.sampled_from([None, 1]))
@settings(max_examples=300, deadline=None)
def test_nothing_but_secrets_is_changed(value: Any, is_ascii: bool, indent: int | None) -> None:
    written = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass")
    expected = json.dumps(without(value), ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass")
    assert blanked(written) == expected


@given(st.binary(max_size=200))
@example(b'"encryptionKey":"')
@example(b'\\"encryptionKey\\":\\"')
@settings(max_examples=300, deadline=None)
def test_any_bytes_can_be_cleaned(data: bytes) -> None:
    for each in (data, b'{"apiKey":' + data, b'{"encryptionKey":"' + data + b'"}'):
        assert blanked(blanked(each)) == blanked(each)
        blanked_hex(each)
        blanked_hex(each.hex().encode())


def test_no_secret_gets_into_the_ledger(tmp_path: Path) -> None:
    numbers = count(1)

    def secret() -> str:
        return f"zq{next(numbers)}canary"

    inner = {"composerId": "x", "blobEncryptionKey": secret(), "conversation": [bubble("i1", 1, 1, text="inside")]}
    call = tool("toolu_1", "task", 48, params='{"description":"d"}', additionalData={"composerData": json.dumps(inner)})
    other = tool("toolu_2", "task", 48, params="{}", additionalData={"composerData": inner | {"apiKey": secret()}})
    composer = {
        "_v": 17, "composerId": SESSION, "createdAt": START, "name": "Keys", "status": "completed",
        "fullConversationHeadersOnly": [head("u1", 1), head("a1", 2), head("a2", 2)],
        "blobEncryptionKey": secret(), "speculativeSummarizationEncryptionKey": secret(),
        "nested": {"deeper": [{"encryptionKey": secret(), "privateKey": {"jwk": {"k": secret()}}}]},
        "asText": json.dumps({"blobEncryptionKey": secret(), "again": json.dumps({"blobEncryptionKey": secret()})}),
        "modelConfig": {"modelName": "m", "apiKey": secret()},
    }  # fmt: skip
    rows: dict[str, Any] = {
        f"composerData:{SESSION}": composer,
        f"composerData:{SESSION}x": json.dumps(composer | {"composerId": f"{SESSION}x"})[:-400],
        f"bubbleId:{SESSION}:u1": bubble("u1", 1, 1, text="the question"),
        f"bubbleId:{SESSION}:a1": bubble("a1", 2, 2, text="the answer", toolFormerData=call, accessToken=secret()),
        f"bubbleId:{SESSION}:a2": bubble("a2", 2, 3, text="and more", toolFormerData=other),
        f"ofsContent:{SESSION}:file:///home/ada/.env": secret(),
        "secret://x": secret(),
        "cursorAuth/accessToken": secret(),
    }
    items = {
        "cursorAuth/accessToken": secret(),
        "cursorAuth/refreshToken": secret(),
        'secret://{"extensionId":"x"}': secret(),
        "aiSettings": {"apiKey": secret()},
        "composer.composerHeaders": {"allComposers": [{"composerId": SESSION, "blobEncryptionKey": secret()}]},
        "composer.composerData": {"allComposers": [composer | {"composerId": "old", "conversation": [inner]}]},
    }
    heads = {SESSION: {"composerId": SESSION, "blobEncryptionKey": secret()}}
    tables = {"ItemTable": items, "cursorDiskKV": rows, "composerHeaders": heads}
    write(tmp_path / "in" / "User" / "globalStorage" / "state.vscdb", tables, {"composerHeaders": HEADS})
    meta = {"agentId": "f1ff7b74", "latestRootBlobId": "00", "name": "n", "encryptionKey": secret()}
    columns = {"blobs": "id TEXT PRIMARY KEY, data BLOB", "meta": "key TEXT PRIMARY KEY, value TEXT"}
    store = tmp_path / "in" / ".cursor" / "chats" / "a" / "f1ff7b74" / "store.db"
    write(store, {"blobs": {"00": b"\x0a\x00"}, "meta": {"0": json.dumps(meta).encode().hex()}}, columns)

    (tmp_path / "out").mkdir()
    with Ledger.open(f"sqlite:///{tmp_path / 'out' / 'ledger.db'}") as ledger:
        Sync(ledger, Machine("/nowhere", {}, "linux")).run([str(tmp_path / "in")])
        with ledger.database.read() as tx:
            captures = [row[0] for row in tx.rows("current_captures")]
            blocks = b"".join(block for capture in captures for block in evidence.read(tx, capture))
        said = {row[0] for row in ledger.database.query("SELECT content FROM messages")[1]}
    assert {"the question", "the answer", "inside"} <= said
    assert b"blobEncryptionKey" in blocks
    kept = blocks + b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    for number in range(1, next(numbers)):
        canary = f"zq{number}canary".encode()
        assert canary not in kept
        assert canary.hex().encode() not in kept
