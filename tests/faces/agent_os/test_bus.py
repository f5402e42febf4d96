"""The bus itself: names, inputs, streams, lines; sync, async and from the command line."""

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agents_ledger import AsyncLedger, Ledger
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.faces.agent_os import AsyncBus, Bus, contents
from agents_ledger.faces.agent_os.lines import answers
from tests.cli.conftest import Ldg
from tests.faces.agent_os.conversation import AT, Speaker
from tests.seed.rich import Clock, fixed_env

TASK = {"task": {"id": "t", "systemPrompt": "Be kind.", "createdAt": AT, "updatedAt": AT}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ('{"limit": NaN}', "no JSON"),
        ("[]", "input must be object"),
        ('{"limit": true}', "input.limit must be number"),
        ('{"limit": 1.5}', "whole number"),
        ('{"offset": -1}', "whole number"),
        ('{"completionStatus": null}', "input.completionStatus must be string"),
        ("[" * 100_000, "too deep"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_with_the_reason(bus: Bus, text: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        bus.invoke("ldg:task:query")(text)


def test_an_unknown_ability_is_refused_before_anything_is_sent(bus: Bus) -> None:
    with pytest.raises(NotFound, match="there are ldg:task:save"):
        bus.invoke("ldg:task:burn")


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", ""), ("id", "a\nb"), ("id", "x" * 513), ("createdAt", 1.5), ("updatedAt", 1e300), ("completionStatus", "")],
)
def test_fields_that_no_row_can_hold_are_refused(bus: Bus, field: str, value: object) -> None:
    with pytest.raises(BadInput):
        bus.invoke("ldg:task:save")(json.dumps({"task": TASK["task"] | {field: value}}))


def test_a_stream_is_saved_when_it_is_complete_with_the_time_of_its_last_piece(url: str) -> None:
    clock = Clock()
    with Ledger.open(url, env=fixed_env(clock)) as ledger:
        speaker = Speaker(Bus(ledger))
        speaker.task()
        shown: list[str] = []

        def chunks() -> Iterator[str]:
            for word in ("One ", "word ", "after the other."):
                assert speaker.messages() == []
                clock.at += 1000
                yield json.dumps({"content": word})
            yield '{"done": true}'

        said = speaker.bus.stream("t", contents(chunks()), emit=shown.append)
        assert shown == ["One ", "word ", "after the other."]
        assert said["content"] == "One word after the other."
        assert clock.at - 10 < said["timestamp"] <= clock.at
        assert speaker.ask("ldg:msg:list", taskId="t")["messages"] == [said]


def test_a_stream_that_breaks_saves_nothing(speaker: Speaker) -> None:
    speaker.task()

    def chunks() -> Iterator[str]:
        yield "half"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        speaker.bus.stream("t", chunks())
    with pytest.raises(BadInput, match="must be text"):
        speaker.bus.stream("t", contents(['{"content": 7}']))
    assert speaker.messages() == []


def test_the_same_is_awaited(url: str) -> None:
    async def speak() -> None:
        async with await AsyncLedger.open(url) as ledger:
            bus = AsyncBus(ledger)
            assert json.loads(await bus.invoke("ldg:task:save")(json.dumps(TASK))) == {"success": True}
            saves = [bus.stream("t", pieces(str(number)), message_id=f"m{number}") for number in range(10)]
            said = await asyncio.gather(*saves)
            assert [each["content"] for each in said] == [f"{number} and more" for number in range(10)]
            listed = json.loads(await bus.invoke("ldg:msg:list")('{"taskId": "t"}'))
            assert {each["id"] for each in listed["messages"]} == {f"m{number}" for number in range(10)}
            assert [task["id"] for task in (await bus.recover())["tasks"]] == ["t"]
            assert set(bus.describe()) == set(Bus(None).describe())  # type: ignore[arg-type]

    async def pieces(first: str) -> AsyncIterator[str]:
        yield first
        await asyncio.sleep(0)
        yield " and more"

    asyncio.run(speak())


def test_one_bad_line_does_not_end_it(bus: Bus) -> None:
    source = b"".join(
        [
            b"no JSON\n",
            b"\n",
            b'{"id": 1}\n',
            b'{"id": "two", "ability": "ldg:task:get", "input": {"taskId": "t"}}\n',
            b'{"id": 3, "ability": "ldg:task:get", "input": "' + b"x" * 300 + b'"}\n',
            b'{"id": 4, "ability": "ldg:task:get", "input": "{\\"taskId\\": \\"t\\"}"}\r\n',
            b'{"id": 5, "ability": "ldg:task:get", "input": {"taskId": "t"}}',
        ]
    )
    given = [json.loads(line) for line in answers(bus, io.BytesIO(source), largest=200)]
    assert [answer["id"] for answer in given] == [None, 1, "two", None, 4, 5]
    assert ["error" in answer for answer in given] == [True, True, False, True, False, False]
    assert "at most 200 bytes" in given[3]["error"]["message"]


def test_a_line_of_exactly_the_limit_is_taken(bus: Bus) -> None:
    line = b'{"id": 1, "ability": "ldg:task:query"}'
    for largest, is_taken in ((len(line), True), (len(line) - 1, False)):
        [answer] = answers(bus, io.BytesIO(line), largest=largest)
        assert ("output" in json.loads(answer)) == is_taken


# the command line


def test_the_command_invokes_describes_and_serves(tmp_path: Path) -> None:
    ldg = Ldg(str(tmp_path / "new.db"))
    assert json.loads(ldg.text("ability", "ldg:task:save", json.dumps(TASK))) == {"success": True}
    assert ldg.json("ability", "ldg:task:get", "-", stdin='{"taskId":"t"}')["task"]["systemPrompt"] == "Be kind."
    assert ldg.json("ability", "ldg:task:query")["total"] == 1
    assert "ldg:msg:list" in ldg.text("ability", "--describe")
    assert ldg.json("ability", "--describe") == Bus(None).describe()  # type: ignore[arg-type]
    assert list(json.loads(ldg.text("ability", "--describe", "ldg:msg:save"))) == ["ldg:msg:save"]
    lines = (
        '{"id":1,"ability":"ldg:task:recover"}\nnonsense\n{"id":2,"ability":"ldg:call:list","input":{"taskId":"t"}}\n'
    )
    served = [json.loads(line) for line in ldg.text("ability", "--stdio", stdin=lines).splitlines()]
    assert [line["id"] for line in served] == [1, None, 2]
    assert served[2]["output"] == {"calls": []}


def test_no_text_of_a_message_acts_on_the_terminal(tmp_path: Path) -> None:
    ldg = Ldg(str(tmp_path / "new.db"))
    ldg.text("ability", "ldg:task:save", json.dumps(TASK))
    odd = "\x1b]52;c;aGk=\x07 \u202e \U000e0041"
    message = {"id": "m", "taskId": "t", "role": "user", "content": odd, "timestamp": AT}
    ldg.text("ability", "ldg:msg:save", json.dumps({"message": message}))
    printed = ldg.text("ability", "ldg:msg:list", '{"taskId":"t"}')
    assert printed.isascii()
    assert json.loads(printed)["messages"][0]["content"] == odd


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        (("ability",), "Usage"),
        (("ability", "ldg:task:get", "--stdio"), "Usage"),
        (("ability", "ldg:task:get", "{}"), "BadInput"),
        (("ability", "ldg:task:burn", "{}"), "NotFound"),
        (("ability", "--describe", "ldg:task:burn"), "NotFound"),
    ],
)
def test_what_the_command_can_not_do_is_said(tmp_path: Path, args: tuple[str, ...], kind: str) -> None:
    ldg = Ldg(str(tmp_path / "new.db"))
    ldg.open().close()
    assert ldg.json(*args, code=2)["error"]["kind"] == kind


def test_a_bus_loads_no_event_loop_and_describing_no_validator() -> None:
    program = (
        "import sys; from agents_ledger.faces.agent_os import Bus; Bus(None).describe(); "
        "print([name for name in ('asyncio', 'fastjsonschema') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
