"""Arguments of another kind than the verb takes: one error that says what to pass, the same on both databases."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agents_ledger import Call, CodeBlock, Compaction, File, Ledger, Lint, Message, Origin, Settings, Turn, Usage
from agents_ledger.errors import BadInput, LedgerError, StoreError
from agents_ledger.ledger.aio import AsyncLedger
from agents_ledger.model.entries import ModelCall, Spawn

ODD: Any = object()
SAID = Message("user", "x")


def appended(ledger: Ledger, **fields: Any) -> str:
    return ledger.append("main", Turn(**fields))


WRONG_TURNS: list[tuple[str, dict[str, Any]]] = [
    (r"pass `messages` as a tuple, .* not as Message", {"messages": SAID}),
    ("pass `messages` as a tuple, .* not as str", {"messages": "hello"}),
    ("pass `messages` as a tuple, .* not as generator", {"messages": (each for each in (SAID,))}),
    (r"pass the message as Message\(…\), not as dict", {"messages": ({"role": "user"},)}),
    ("pass `calls` as a tuple, .* not as Call", {"calls": Call("Read")}),
    (r"pass the call as Call\(…\), not as str", {"calls": ("Read",)}),
    ("`message` is the number of a message .* not str", {"messages": (SAID,), "calls": (Call("Read", message="0"),)}),  # type: ignore[arg-type]
    (r"pass the turn's usage as Usage\(…\), not as NoneType", {"usage": None}),
    (r"pass the turn's settings as Settings\(…\), not as NoneType", {"settings": None}),
    (r"pass the compaction as Compaction\(…\), not as str", {"compaction": "in short"}),
    (r"pass the model call as ModelCall\(…\), not as Usage", {"model_calls": (Usage(),)}),
    (r"pass the file as File\(…\), not as str", {"messages": (Message("user", "x", files=("p",)),)}),  # type: ignore[arg-type]
    ("pass `files` as a tuple, .* not as File", {"messages": (Message("user", "x", files=File("p")),)}),  # type: ignore[arg-type]
    ("path of a file must be text, not list", {"messages": (Message("user", "x", files=(File(["p"]),)),)}),  # type: ignore[arg-type]
    (r"pass the lint as Lint\(…\)", {"messages": (Message("user", "x", lints=("p",)),)}),  # type: ignore[arg-type]
    (r"pass the code block as CodeBlock\(…\)", {"messages": (Message("user", "x", codeblocks=("p",)),)}),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("words", "fields"), WRONG_TURNS, ids=[words for words, _ in WRONG_TURNS])
def test_a_turn_of_other_things_is_refused_with_what_to_pass(
    ledger: Ledger, words: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match=words):
        ledger.append("main", Turn(**fields))
    with pytest.raises(BadInput, match=words):
        ledger.branch(None, Turn(**fields))
    assert ledger.counts()["turns"] == ledger.counts()["sessions"] == 0


def test_what_is_no_turn_and_no_origin_is_refused_with_what_to_pass(ledger: Ledger) -> None:
    wrong: Any = {"messages": []}
    with pytest.raises(BadInput, match=r"pass the turn as Turn\(…\), not as dict"):
        ledger.append("main", wrong)
    with pytest.raises(BadInput, match=r"pass the turn as Turn\(…\), not as dict"):
        ledger.branch(None, wrong)
    others: list[Any] = ["cli", "", {}]
    spawns: list[Any] = ["main", Spawn(3), Spawn(None), Spawn("main", spawn_tool_call_id=3)]  # type: ignore[arg-type]
    for spawn in spawns:
        with pytest.raises(BadInput, match=r"pass the spawn as Spawn\(…\)|label|spawn_tool_call_id"):
            ledger.append("main", Turn(), origin=Origin(spawn=spawn))
    for origin in others:
        uses: list[Callable[[Any], object]] = [
            lambda origin: ledger.append("main", Turn(), origin=origin),
            lambda origin: ledger.turn("main", "x", origin=origin),
            lambda origin: ledger.create_session("main", origin),
        ]
        for use in uses:
            with pytest.raises(BadInput, match=r"pass the origin as Origin\(…\)"):
                use(origin)
    assert ledger.counts()["sessions"] == 0


def test_lists_are_taken_as_well_as_tuples(ledger: Ledger) -> None:
    kept = appended(ledger, messages=[SAID, Message("assistant", files=[File("p")])], calls=[Call("Read", message=0)])  # type: ignore[arg-type]
    assert [row.content for row in ledger.get(kept).messages] == ["x", None]
    both: Any = [SAID, SAID]
    assert len(ledger.get(ledger.turn("main", both).complete()).messages) == 2


@pytest.mark.parametrize("query", [3, {"role": "user"}, b"x", ODD])
def test_a_query_of_another_kind_is_refused_and_leaves_no_live_turn(ledger: Ledger, query: Any) -> None:
    with pytest.raises(BadInput, match="pass the query as text"):
        ledger.turn("main", query)
    with pytest.raises(BadInput, match=r"pass the message as Message\(…\)"):
        ledger.turn("main", (query,))
    assert ledger.counts()["sessions"] == ledger.counts()["live"] == 0


def test_a_live_turn_refuses_words_and_tokens_of_another_kind_and_goes_on(ledger: Ledger) -> None:
    wrong: Any = {"input": 3}
    turn = ledger.turn("main", "x")
    turn.count(Usage(input=2))
    with pytest.raises(BadInput, match=r"pass the message as Message\(…\), not as str"):
        turn.message("hi")  # type: ignore[arg-type]
    for use in (
        lambda: turn.count(wrong),
        lambda: turn.reply("x", usage=wrong),
        lambda: turn.answer("x", usage=wrong),
        lambda: turn.complete(wrong),
    ):
        with pytest.raises(BadInput, match=r"pass the usage as Usage\(…\), not as dict"):
            use()
    with pytest.raises(BadInput, match="input tokens must be a whole number"):
        turn.count(Usage(input="3"))  # type: ignore[arg-type]
    turn.answer("done")
    record = ledger.get(turn.id)
    assert ([row.content for row in record.messages], record.turn.input_tokens) == (["x", "done"], 2)


@pytest.mark.parametrize("text", [None, 3, b"walrus", ["walrus"]])
def test_a_search_for_no_text_is_refused(ledger: Ledger, text: Any) -> None:
    with pytest.raises(BadInput, match="a query must be text"):
        ledger.search(text)
    with pytest.raises(BadInput, match="a question must be text"):
        ledger.fork_points(text)


KINDS: list[Any] = [
    *(File("p"), Lint(), CodeBlock("c"), SAID, Call("Read"), ModelCall(Usage()), Usage(), Settings(), Turn()),
    *(Origin(), Compaction("in short", through="")),
]
PLACES: dict[type, Callable[[Any], tuple[Turn, Origin | None]]] = {
    File: lambda file: (Turn((Message("user", files=(file,)),)), None),
    Lint: lambda lint: (Turn((Message("user", lints=(lint,)),)), None),
    CodeBlock: lambda block: (Turn((Message("user", codeblocks=(block,)),)), None),
    Message: lambda message: (Turn((message,)), None),
    Call: lambda call: (Turn((SAID,), (call,)), None),
    ModelCall: lambda spent: (Turn((SAID,), model_calls=(spent,)), None),
    Usage: lambda usage: (Turn(usage=usage), None),
    Settings: lambda settings: (Turn(settings=settings), None),
    Turn: lambda turn: (turn, None),
    Origin: lambda origin: (Turn(), origin),
    Compaction: lambda compaction: (Turn(compaction=compaction), None),
}


@pytest.mark.parametrize("whole", KINDS, ids=[type(each).__name__ for each in KINDS])
def test_no_field_of_what_is_handed_in_raises_anything_but_errors_of_the_ledger(ledger: Ledger, whole: Any) -> None:
    head = ledger.append("main", Turn((SAID,)))
    fields = {name: getattr(whole, name) for name in whole.__struct_fields__}
    if isinstance(whole, Compaction):
        fields["through"] = head
    for name in fields:
        for number, value in enumerate((None, 3, True, 1.5, "odd", b"x", [], ["x"], [[]], (3,), {"a": 1}, ODD, Turn)):
            turn, origin = PLACES[type(whole)](type(whole)(**{**fields, name: value}))
            try:
                ledger.append("main" if turn.compaction is not None else f"{name}-{number}", turn, origin=origin)
            except LedgerError as problem:
                assert not isinstance(problem, StoreError), (name, value)  # noqa: PT017 - others are the failure
    assert [each for each in ledger.verify().findings if "evidence" not in each.what] == []


async def awaited(url: str) -> None:
    wrong: Any = {}
    async with await AsyncLedger.open(url) as ledger:
        with pytest.raises(BadInput, match="pass the turn as Turn"):
            await ledger.append("main", wrong)
        async with ledger.turn("main", "x") as turn:
            with pytest.raises(BadInput, match="pass the usage as Usage"):
                await turn.reply("y", usage=wrong)


def test_the_same_is_said_to_those_who_await(url: str) -> None:
    asyncio.run(awaited(url))
