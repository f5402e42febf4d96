"""Numbers and JSON at and beyond what a column, or JSON itself, can say."""

import json
import math
from collections.abc import Callable
from hashlib import sha256

import pytest

from agents_ledger import Call, CodeBlock, Compaction, Env, File, Ledger, Message, Settings, Turn, Usage
from agents_ledger.errors import BadInput
from agents_ledger.ledger.build import prepare

Use = Callable[[object], object]
HUGE = 10**5000


def test_a_token_count_beyond_64_bits_is_refused(ledger: Ledger) -> None:
    for wrong in (2**63, -(2**63) - 1, HUGE):
        with pytest.raises(BadInput, match="at most 64 bits"):
            ledger.append("main", Turn(usage=Usage(input=wrong)))
    with pytest.raises(BadInput, match="at most 64 bits"):
        ledger.append("main", Turn(usage=Usage(input=2**62, output=2**62)))
    with pytest.raises(BadInput, match=r"whole number, not 1\.5"):
        ledger.append("main", Turn(usage=Usage(input=1.5)))  # type: ignore[arg-type]
    assert ledger.counts()["turns"] == 0
    kept = ledger.append("main", Turn(usage=Usage(total=2**63 - 1)))
    assert ledger.get(kept).turn.total_tokens == 2**63 - 1
    one_more = ledger.get(ledger.append("main", Turn(usage=Usage(total=1)))).turn
    assert (one_more.total_tokens, one_more.thread_tokens) == (1, 2**63 - 1)  # a thread's sum stops there


def test_a_live_turn_refuses_the_count_and_can_still_end(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    turn.count(Usage(input=5))
    with pytest.raises(BadInput, match="at most 64 bits"), turn:
        turn.complete(Usage(input=2**63 - 1))
    record = ledger.get(turn.id)
    assert (record.turn.status, record.turn.input_tokens) == ("failed", 5)
    assert ledger.counts()["live"] == 0


def test_times_and_line_numbers_beyond_64_bits_are_refused(ledger: Ledger) -> None:
    for turn in (
        Turn(started_at=2**63),
        Turn(completed_at=HUGE),
        Turn(calls=(Call("Read", number=2**63),)),
        Turn(messages=(Message("user", "x", created_at=2**64),)),
    ):
        with pytest.raises(BadInput, match="at most 64 bits"):
            ledger.append("main", turn)
    assert ledger.counts()["turns"] == 0


def test_large_numbers_in_json_are_kept_exactly(ledger: Ledger) -> None:
    params = {"n": [2**63, -(2**64) - 1, 10**400, 0.1, 1e308]}
    record = ledger.get(ledger.append("main", Turn(calls=(Call("Read", params, result=2**70),))))
    assert json.loads(record.calls[0].params_json) == params
    assert record.calls[0].result_json == str(2**70)
    assert record.calls[0].lossy == 0
    with pytest.raises(BadInput, match="pass plain JSON values"):
        ledger.append("main", Turn(calls=(Call("Read", [HUGE]),)))


def test_nan_and_infinities_are_kept_beside_a_valid_column(ledger: Ledger) -> None:
    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    for neighbour in ("plain", "half \ud800", 2**70):
        params = [math.nan, {"x": -math.inf}, None, neighbour, "NaN"]
        record = ledger.get(ledger.append("main", Turn(calls=(Call("Read", params),))))
        row = record.calls[0]
        assert json.loads(row.params_json, parse_constant=refuse) == [None, {"x": None}, None, neighbour, "NaN"]
        original = json.loads(record.originals[0].bytes)
        assert math.isnan(original[0])
        assert original[1:] == params[1:]
        assert (record.originals[0].field, row.lossy) == ("params_json", 1)
    assert ledger.verify().findings == []


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def circle() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


NO_JSON = [object(), {1, object()}, {(1, 2): 3}, 1j, nested(10_000), circle(), print]


def test_what_is_no_json_is_refused_in_every_json_field(ledger: Ledger) -> None:
    ledger.append("main", Turn())
    live = ledger.turn("live", "x")
    uses: list[Use] = [
        lambda value: ledger.append("main", Turn(calls=(Call("Read", value),))),
        lambda value: ledger.append("main", Turn(calls=(Call("Read", result=value),))),
        lambda value: ledger.append("main", Turn(messages=(Message("user", metadata=value),))),
        lambda value: ledger.append("main", Turn(messages=(Message("user", context=value),))),
        lambda value: ledger.compact("main", "s", replacement=value),
        lambda value: ledger.turn("main", "x", permissions=value),
        lambda value: live.call("Read", value),
        live.use_permissions,
    ]
    for value in NO_JSON:
        for use in uses:
            with pytest.raises(BadInput, match="can't be written as JSON"):
                use(value)
    assert ledger.counts()["turns"] == 2
    live.complete()
    assert ledger.verify().findings == []


def test_a_role_or_status_that_does_not_exist_is_refused(ledger: Ledger) -> None:
    with pytest.raises(BadInput, match="use one of user, assistant"):
        ledger.append("main", Turn(messages=(Message("robot", "x"),)))
    with pytest.raises(BadInput, match="completed or failed"):
        ledger.append("main", Turn(status="pending"))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"'odd' is not one of those allowed .* cancelled, rejected, abandoned$"):
        ledger.append("main", Turn(calls=(Call("Read", status="odd"),)))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="use one of manager, worker, unified"):
        ledger.append("main", Turn(settings=Settings(role="boss")))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="use one of read, written, referenced, attached"):
        ledger.append("main", Turn(messages=(Message("user", "x", files=(File("a", "eaten"),)),)))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="the turn has 1 messages"):
        ledger.append("main", Turn(messages=(Message("user", "x"),), calls=(Call("Read", message=1),)))
    with pytest.raises(BadInput, match="content must be text, not bytes"):
        ledger.append("main", Turn(messages=(Message("user", b"x"),)))  # type: ignore[arg-type]
    assert ledger.counts()["sessions"] == 0


def test_a_message_of_100_megabytes_is_kept_whole_and_its_neighbours_too(ledger: Ledger) -> None:
    large = "All work and no play. " * (100_000_000 // 22)
    turn = Turn(messages=(Message("user", "before"), Message("assistant", large), Message("user", "after")))
    before = ledger.append("main", Turn(messages=(Message("user", "neighbour"),)))
    kept = ledger.get(ledger.append("main", turn))
    assert [row.content for row in kept.messages[::2]] == ["before", "after"]
    assert sha256((kept.messages[1].content or "").encode()).digest() == sha256(large.encode()).digest()
    del kept, large, turn
    ledger.append("main", Turn(messages=(Message("user", "next"),)))
    assert ledger.get(before).messages[0].content == "neighbour"
    assert ledger.verify().findings == []


def test_tools_are_a_list_of_names_and_not_one_text(ledger: Ledger) -> None:
    for tools in ("Read", b"Read", [b"Read"], 7):
        with pytest.raises(BadInput, match='pass \\["Read"\\]'):
            ledger.append("main", Turn(settings=Settings(tools=tools)))  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="list of names"):
            ledger.turn("main", "x", tools=tools)  # type: ignore[arg-type]
    assert ledger.counts()["sessions"] == 0
    for given in ([], ["Read"]):
        assert ledger.get(ledger.turn("main", tools=given).complete()).turn.tools_available == json.dumps(given)


def test_what_has_no_name_or_text_of_its_own_is_refused(ledger: Ledger) -> None:
    live = ledger.turn("live", "x")
    without = (
        lambda: ledger.append("main", Turn(calls=(Call(None),))),  # type: ignore[arg-type]
        lambda: live.call(None),  # type: ignore[arg-type]
        lambda: live.message(Message("user", "x", files=(File(None),))),  # type: ignore[arg-type]
        lambda: live.answer("x", codeblocks=(CodeBlock(None),)),  # type: ignore[arg-type]
    )
    for use in without:
        with pytest.raises(BadInput, match="is missing"):
            use()
    live.complete()


def test_a_place_of_evidence_is_plain_text_on_both_databases(ledger: Ledger) -> None:
    for odd in ("nul\x00", "half \ud800"):
        for turn in (
            Turn(messages=(Message("user", "x", evidence=odd),)),
            Turn(calls=(Call("Read", evidence=odd),)),
            Turn(evidence=odd),
        ):
            with pytest.raises(BadInput, match="can't be a place of evidence"):
                ledger.append("main", turn)
    assert ledger.counts()["sessions"] == 0


def test_a_source_may_tell_what_a_program_must_not_hand_in() -> None:
    turn = Turn(usage=Usage(input=-5), compaction=Compaction("", through="x", tokens_before=-1))
    record = prepare(turn, Env()).record
    assert record.turn.input_tokens == -5
    assert record.compaction is not None
    assert (record.compaction.summary, record.compaction.tokens_before) == ("", -1)
