"""Agent OS's abilities: durable saves against durable appends, and its views by key against the tables."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import apsw

from agents_ledger import Call, Ledger, Message, Turn
from agents_ledger.faces.agent_os import Bus
from bench.figures import Row, Setup, at_least, at_most, best, ms, seconds
from bench.ours import open_ledger

T = TypeVar("T")
_AT = 1_770_000_000_000
_HOME = "(SELECT thread_id FROM session_history WHERE session_label = 't7')"
_BY_KEY = (
    (
        "a task's messages by SQL",
        "SELECT * FROM task_messages WHERE task_id = 't7' ORDER BY timestamp",
        f"SELECT id, turn_id, role, content, created_at FROM messages WHERE turn_id IN {_HOME} ORDER BY created_at",  # noqa: S608
    ),
    (
        "a task's calls by SQL",
        "SELECT * FROM calls WHERE task_id = 't7'",
        f"SELECT id, turn_id, tool_name, params_json, status, result_json FROM tool_calls WHERE turn_id IN {_HOME}",  # noqa: S608
    ),
    ("a task by SQL", "SELECT * FROM tasks WHERE id = 't7'", "SELECT * FROM sessions WHERE label = 't7'"),
)
_WORDS = "What a user says, and what a model answers: a few lines of text. " * 12


_TURNS = [
    Turn(
        messages=(Message("user", f"turn {number}"), Message("assistant", _WORDS)),
        calls=(Call("Shell", {"command": "ls"}, {"out": _WORDS}),),
    )
    for number in range(50)
]


def bus_rows(setup: Setup) -> Iterator[Row]:
    """Messages and states of calls, one durable commit each, JSON in and JSON out."""
    count = setup.pick(800, 200)
    texts = [f"{number} {_WORDS}" for number in range(count)]
    rounds = setup.pick(5, 2)
    appended, said, called = best(
        rounds,
        lambda: _appends(setup, texts),
        lambda: _messages(setup, texts),
        lambda: _calls(setup, texts),
    )
    held = f"{count / appended:,.0f} appends/s"
    yield at_least("bus", "messages saved", f"{count / said:,.0f} saves/s", held, appended / said, 0.6)
    yield at_least("bus", "states of calls saved", f"{count / called:,.0f} saves/s", held, appended / called, 0.5)
    yield from _views(setup)


def _appends(setup: Setup, texts: list[str]) -> float:
    """The floor: as many turns of one message, by the ledger's own append."""
    with setup.place() as folder, open_ledger(folder) as ledger:
        turns = [Turn(messages=(Message("user", text),)) for text in texts]
        return seconds(lambda: _each(turns, lambda turn: ledger.append("t", turn), ledger))


def _each(given: list[T], save: Callable[[T], object], ledger: Ledger) -> None:
    """One after the other; all of them searchable at the end."""
    for each in given:
        save(each)
    ledger.index()


def _messages(setup: Setup, texts: list[str]) -> float:
    with setup.place() as folder, open_ledger(folder) as ledger:
        save = Bus(ledger).invoke("ldg:msg:save")
        _begin(ledger)
        given = [_message(number, text) for number, text in enumerate(texts)]
        took = seconds(lambda: _each(given, save, ledger))
        assert ledger.counts()["messages"] == len(texts) + 2
        return took


def _calls(setup: Setup, texts: list[str]) -> float:
    """Each call in two states: begun, and ended with a result."""
    with setup.place() as folder, open_ledger(folder) as ledger:
        save = Bus(ledger).invoke("ldg:call:save")
        _begin(ledger)
        given = [_call(number // 2, bool(number % 2), text) for number, text in enumerate(texts)]
        took = seconds(lambda: _each(given, save, ledger))
        assert ledger.counts()["tool_calls"] == len(texts) // 2
        return took


def _views(setup: Setup) -> Iterator[Row]:
    """A task, its messages and its calls, by its id, against the tables by the same session."""
    with setup.place() as folder:
        with open_ledger(folder) as ledger:
            for number in range(setup.pick(60, 15)):
                for turn in _TURNS:
                    ledger.append(f"t{number}", turn)
        file = apsw.Connection(str(folder / "ledger.db"), flags=apsw.SQLITE_OPEN_READONLY)
        for name, view, table in _BY_KEY:
            viewed, plain = best(setup.pick(50, 10), partial(_asked, file, view), partial(_asked, file, table))
            yield at_most("bus", name, ms(viewed), f"{ms(plain)} from the table", viewed / plain, 2.0)
        file.close()


def _asked(file: apsw.Connection, sql: str) -> float:
    return seconds(lambda: [file.execute(sql).fetchall() for _ in range(20)]) / 20


def _begin(ledger: Ledger) -> None:
    bus = Bus(ledger)
    task = {"id": "t", "systemPrompt": "Be kind.", "createdAt": _AT, "updatedAt": _AT}
    bus.invoke("ldg:task:save")(json.dumps({"task": task}))
    bus.invoke("ldg:msg:save")(_message(-1, "Let us begin"))


def _message(number: int, text: str) -> str:
    role = "user" if number % 2 else "assistant"
    message = {"id": f"m{number}", "taskId": "t", "role": role, "content": text, "timestamp": _AT + number}
    return json.dumps({"message": message})


def _call(number: int, has_ended: bool, text: str) -> str:
    call = {"id": f"c{number}", "taskId": "t", "abilityName": "mem:retrieve", "parameters": '{"about":"pears"}'}
    call |= (
        {"status": "completed", "details": json.dumps(text)} if has_ended else {"status": "pending", "details": "{}"}
    )
    times = {"createdAt": _AT, "updatedAt": _AT + has_ended}
    return json.dumps({"call": {**call, **times, "startMessageId": "m-1"}})
