"""Text that no database can hold: NUL and lone surrogates, in every field. Readable in the column, exact beside it."""

import json
import math
import shutil
from pathlib import Path

import apsw
import msgspec
import pytest

from agents_ledger import Call, CodeBlock, Compaction, File, Ledger, Lint, Message, Settings, Turn
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.ledger.sessions import Origin
from agents_ledger.model.entries import Spawn
from agents_ledger.model.rows import Record

ODD = "a\x00b \ud83d|\udc00 é😀"
VIEW = "a␀b \ufffd|\ufffd é😀"
BYTES = ODD.encode("utf-8", "surrogatepass")


def originals_of(record: Record, row_id: str) -> dict[str, bytes]:
    return {row.field: row.bytes for row in record.originals if row.row_id == row_id}


def test_a_message_keeps_odd_text_in_every_field(ledger: Ledger) -> None:
    message = Message(
        "user",
        ODD,
        source=ODD,
        thinking=ODD,
        native_id=ODD,
        files=(File(ODD, "read"), File(f"{ODD}2", "read")),
        lints=(Lint(ODD, ODD, ODD, severity=ODD),),
        codeblocks=(CodeBlock(ODD, ODD, ODD),),
    )
    record = ledger.get(ledger.append("main", Turn(messages=(message,))))
    row = record.messages[0]
    assert (row.content, row.source, row.thinking, row.native_id, row.lossy) == (VIEW, VIEW, VIEW, VIEW, 1)
    lint, block = record.lints[0], record.codeblocks[0]
    assert [file.file_path for file in record.files] == [VIEW, f"{VIEW}2"]
    assert (lint.file_path, lint.message, lint.lint_source, lint.severity) == (VIEW,) * 4
    assert (block.content, block.language, block.file_path) == (VIEW,) * 3
    kept = originals_of(record, row.id)
    assert (kept["content"], kept["thinking"]) == (BYTES, BYTES)
    assert sorted(kept.values()) == [BYTES] * 12 + [BYTES + b"2"]
    assert ledger.verify().findings == []


def test_one_odd_field_is_enough_to_be_marked(ledger: Ledger) -> None:
    for odd in (
        Message("user", ODD),
        Message("user", thinking=ODD),
        Message("user", source=ODD),
        Message("user", native_id=ODD),
        Message("user", files=(File(ODD),)),
    ):
        record = ledger.get(ledger.append("main", Turn(messages=(odd, Message("user", "plain")))))
        assert [row.lossy for row in record.messages] == [1, 0]
        assert list(originals_of(record, record.messages[0].id).values()) == [BYTES]


def test_a_call_keeps_odd_text_in_every_field(ledger: Ledger) -> None:
    call = Call(ODD, {ODD: ODD}, result=[ODD], error=ODD, status="failed", native_id=ODD)
    record = ledger.get(ledger.append("main", Turn(calls=(call, Call("Plain")))))
    row = record.calls[0]
    assert (row.tool_name, row.error, row.native_id) == (VIEW, VIEW, VIEW)
    assert [call.lossy for call in record.calls] == [1, 0]
    # JSON has its own words for both: escapes say them exactly
    assert json.loads(row.params_json) == {ODD: ODD}
    assert json.loads(row.result_json or "") == [ODD]
    assert sorted(originals_of(record, row.id).values()) == [BYTES] * 3
    assert ledger.verify().findings == []


def test_a_turn_and_a_compaction_keep_odd_text_in_every_field(ledger: Ledger) -> None:
    settings = Settings(
        model=ODD,
        provider=ODD,
        toolset=ODD,
        tools=(ODD,),
        permissions_granted={ODD: ODD},
        source_event_id=ODD,
        workspace_path=ODD,
        system_prompt_hash=ODD,
    )
    turn = Turn(messages=(Message("user", "x"),), settings=settings, status="failed", error=ODD, native_id=ODD)
    record = ledger.get(ledger.append("main", turn))
    row = record.turn
    assert (row.model, row.provider, row.toolset_name, row.source_event_id, row.workspace_path) == (VIEW,) * 5
    assert (row.system_prompt_hash, row.error, row.native_id) == (VIEW,) * 3
    assert json.loads(row.tools_available or "") == [ODD]
    assert list(originals_of(record, row.id).values()) == [BYTES] * 8
    done = ledger.compact("main", ODD, keep=0, model=ODD, provider=ODD, trigger=ODD, metadata=ODD, replacement=[ODD])
    record = ledger.get(done)
    assert record.compaction is not None
    assert (record.compaction.summary, record.compaction.model, record.compaction.trigger) == (VIEW,) * 3
    assert list(originals_of(record, done).values()) == [BYTES] * 6
    assert ledger.verify().findings == []


def test_a_live_turn_keeps_odd_text_however_it_comes(ledger: Ledger) -> None:
    live = ledger.turn("main", ODD, model=ODD)
    ok, bad = live.call(ODD, ODD, id=ODD), live.call("Shell")
    ok.complete(ODD)
    bad.fail(ODD)
    spoken = live.stream("\ud83d", thinking="t\x00")
    live.stream("\ude00")  # a pair that was cut in two stays what it was: two halves
    live.stream("x" * 9000, thinking="\udfff")
    live.reply()
    live.fail(ODD)
    record = ledger.get(live.id)
    kept = originals_of(record, spoken)
    message = next(row for row in record.messages if row.id == spoken)
    assert message.content == "\ufffd\ufffd" + "x" * 9000
    assert (message.thinking, message.lossy) == ("t␀\ufffd", 1)
    assert kept["content"] == ("\ud83d\ude00" + "x" * 9000).encode("utf-8", "surrogatepass")
    assert kept["thinking"] == "t\x00\udfff".encode("utf-8", "surrogatepass")
    assert originals_of(record, bad.id) == {"error": BYTES}
    assert set(originals_of(record, ok.id).values()) == {BYTES}
    assert [call.lossy for call in record.calls] == [1, 1]
    assert originals_of(record, live.id)["error"] == BYTES
    assert record.turn.error == VIEW
    assert ledger.verify().findings == []


def test_neither_the_readable_text_nor_the_bytes_behind_it_change_unnoticed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with Ledger.open(url) as ledger:
        ledger.append("main", Turn(messages=(Message("user", ODD),), calls=(Call("Read", [math.nan], error=ODD),)))
    for change in (
        "messages SET content = 'harmless'",
        "tool_calls SET params_json = '[1]'",
        "tool_calls SET error = 'harmless'",
        "originals SET bytes = x'00' WHERE field = 'content'",
        "originals SET bytes = x'00' WHERE field = 'params_json'",
    ):
        copy = tmp_path / "copy.db"
        shutil.copyfile(tmp_path / "ledger.db", copy)
        file = apsw.Connection(str(copy))
        file.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        file.execute(f"UPDATE {change}")
        file.close()
        with Ledger.open(f"sqlite:///{copy}", readonly=True) as ledger:
            assert [finding.place for finding in ledger.verify().findings] == ["turns"], change


def test_encoded_json_is_kept_byte_for_byte(ledger: Ledger) -> None:
    given = [b'{ "b":1.10, "a":1, "a":2 }', b'"raw \x00 nul"', b'"not utf-8 \xff"', b"[" * 10_000 + b"]" * 10_000]
    turn = Turn(calls=tuple(Call("Read", msgspec.Raw(raw)) for raw in given))
    record = ledger.get(ledger.append("main", turn))
    for raw, row in zip(given, record.calls, strict=True):
        kept = originals_of(record, row.id).get("params_json", row.params_json.encode())
        assert kept == raw
    assert [call.lossy for call in record.calls] == [0, 1, 1, 0]
    assert ledger.verify().findings == []
    with pytest.raises(BadInput, match="at least one character"):
        ledger.append("main", Turn(calls=(Call("Read", msgspec.Raw(b"")),)))


def test_keys_that_are_looked_up_take_no_odd_text(ledger: Ledger) -> None:
    for origin in (Origin(routing_key=ODD), Origin(origin=ODD), Origin(origin_session_id=ODD)):
        with pytest.raises(BadInput, match="without NUL and lone surrogates"):
            ledger.create_session("main", origin)
    ledger.create_session("main")
    for wrong in ("", ODD):
        with pytest.raises(BadInput, match="can't be a reason"):
            ledger.alias("other", "main", wrong)
    for settings in (Settings(persona_id=ODD), Settings(thread_key=ODD), Settings(role=ODD)):  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="printable"):
            ledger.append("main", Turn(settings=settings))
    with pytest.raises(BadInput, match="printable"):
        ledger.append("main", Turn(messages=(Message("user", "x", files=(File("p", ODD),)),)))  # type: ignore[arg-type]
    assert ledger.counts()["turns"] == 0
    ledger.append("main", Turn())
    for compaction in (Compaction("s", ODD), Compaction("s", ledger.head("main") or "", first_kept=ODD)):
        with pytest.raises((BadInput, NotFound)):
            ledger.append("main", Turn(compaction=compaction))


def test_a_task_keeps_its_bytes_beside_the_call_that_started_it(ledger: Ledger) -> None:
    turn = ledger.turn("main", "go")
    call = turn.call("Task")
    call.spawn("sub", ODD)
    call.complete("done")
    record = ledger.get(turn.complete())
    kept = [(row.row_id, row.field, row.bytes) for row in record.originals]
    assert kept == [(call.id, "task_description", BYTES)]
    assert ledger.session("sub").task_description == VIEW
    assert ledger.verify().findings == []
    with pytest.raises(BadInput, match="can't be a task: pass text without NUL"):
        ledger.create_session("loose", Origin(spawn=Spawn("main", task_description=ODD)))
