"""The others, writing the same conversations, every step durable: WAL and synchronous=FULL on all connections."""

import asyncio
import json
import sqlite3
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from bench.workload import Exchange, Step


class Store(Protocol):
    """Something that keeps conversations."""

    name: str

    def prepare(self, label: str, turns: list[Exchange]) -> None:
        """A session with turns."""

    def turn(self, label: str, exchange: Exchange) -> None:
        """One more turn, each step durable before the next."""

    def finish(self) -> None:
        """What belongs to writing, once at the end."""

    def steps(self) -> int:
        """How many steps it has kept."""

    def close(self) -> None:
        """Ends."""


def installed() -> bool:
    """Whether the peers are here (the `bench` dependency group)."""
    return all(find_spec(name) is not None for name in ("langgraph.graph", "langgraph.checkpoint.sqlite", "agents"))


class LangGraph:
    """A graph that takes one step after the other, with SqliteSaver and `durability="sync"`."""

    name = "LangGraph SqliteSaver"

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "langgraph.db", check_same_thread=False)
        saver = import_module("langgraph.checkpoint.sqlite").SqliteSaver(self._connection)
        saver.setup()
        _make_durable(self._connection)
        self._said: Any = import_module("langchain_core.messages")
        self._waiting: list[Any] = []
        self._graph = self._compile(saver)

    def prepare(self, label: str, turns: list[Exchange]) -> None:
        """One checkpoint with everything so far."""
        said = [self._message(step) for turn in turns for step in turn]
        self._graph.update_state(self._config(label), {"messages": said}, as_node="step")

    def turn(self, label: str, exchange: Exchange) -> None:
        """The query is the input; every other step is a node's work."""
        query, *self._waiting = [self._message(step) for step in exchange]
        self._graph.invoke({"messages": [query]}, self._config(label), durability="sync")

    def finish(self) -> None:
        """Nothing is left to do."""

    def steps(self) -> int:
        """The messages of all threads' last states."""
        threads = self._connection.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()
        return sum(len(self._graph.get_state(self._config(label)).values["messages"]) for (label,) in threads)

    def close(self) -> None:
        """Ends."""
        _check_durable(self._connection)
        self._connection.close()

    def _compile(self, saver: object) -> Any:
        graph = import_module("langgraph.graph")
        state = graph.StateGraph(graph.MessagesState)
        state.add_node("step", self._step)
        state.add_edge(graph.START, "step")
        state.add_conditional_edges("step", lambda _: "step" if self._waiting else graph.END, ["step", graph.END])
        return state.compile(checkpointer=saver)

    def _step(self, _: object) -> dict[str, list[Any]]:
        return {"messages": [self._waiting.pop(0)]}

    def _config(self, label: str) -> dict[str, Any]:
        return {"configurable": {"thread_id": label}, "recursion_limit": 100}

    def _message(self, step: Step) -> Any:
        if step.kind == "query":
            return self._said.HumanMessage(step.text)
        if step.kind == "result":
            return self._said.ToolMessage(step.text, tool_call_id=step.call_id)
        if step.kind == "call":
            call = {"name": step.tool, "args": {"input": step.text}, "id": step.call_id}
            return self._said.AIMessage("", tool_calls=[call])
        return self._said.AIMessage(step.text)


class OpenAI:
    """SQLiteSession of openai-agents, an `add_items` for each step."""

    name = "OpenAI SQLiteSession"
    _module, _class = "agents", "SQLiteSession"
    _options: dict[str, Any] = {}  # noqa: RUF012 - as it is

    def __init__(self, folder: Path) -> None:
        self._path = folder / "openai.db"
        base: Any = getattr(import_module(self._module), self._class)
        configure = base._configure_connection  # noqa: SLF001 - the only place that sees every connection
        self._sessions: dict[str, Any] = {}
        self._runner = asyncio.Runner()

        def durable(connection: sqlite3.Connection) -> None:
            configure(connection)
            _make_durable(connection)
            _check_durable(connection)

        self._made = type(self._class, (base,), {"_configure_connection": staticmethod(durable)})

    def prepare(self, label: str, turns: list[Exchange]) -> None:
        """All items at once."""
        self._runner.run(self._session(label).add_items([_item(step) for turn in turns for step in turn]))

    def turn(self, label: str, exchange: Exchange) -> None:
        """One more turn."""
        self._runner.run(self._add(self._session(label), exchange))

    def finish(self) -> None:
        """Nothing is left to do."""

    def steps(self) -> int:
        """The items of all sessions."""
        return sum(len(self._runner.run(session.get_items())) for session in self._sessions.values())

    def close(self) -> None:
        """Ends."""
        for session in self._sessions.values():
            session.close()
        self._runner.close()

    async def _add(self, session: Any, steps: Iterable[Step]) -> None:
        for step in steps:
            await session.add_items([_item(step)])

    def _session(self, label: str) -> Any:
        if label not in self._sessions:
            self._sessions[label] = self._made(session_id=label, db_path=self._path, **self._options)
        return self._sessions[label]


class OpenAIAdvanced(OpenAI):
    """AdvancedSQLiteSession, the one that can branch."""

    name = "OpenAI AdvancedSQLiteSession"
    _module, _class = "agents.extensions.memory", "AdvancedSQLiteSession"
    _options = {"create_tables": True}  # noqa: RUF012 - as it is


def _item(step: Step) -> dict[str, Any]:
    if step.kind == "call":
        arguments = json.dumps({"input": step.text})
        return {"type": "function_call", "call_id": step.call_id, "name": step.tool, "arguments": arguments}
    if step.kind == "result":
        return {"type": "function_call_output", "call_id": step.call_id, "output": step.text}
    return {"role": "user" if step.kind == "query" else "assistant", "content": step.text}


def _make_durable(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _check_durable(connection: sqlite3.Connection) -> None:
    mode, level = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous"))
    assert (mode, level) == ("wal", 2), f"not as durable as ours: {mode}, synchronous={level}"
