"""One ledger for all questions to the faces: captured conversations of several agents, and some written here."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from agents_ledger import Ledger
from agents_ledger.store.statements import face_name
from tests.capture.folders import GOLDEN, copy, sync
from tests.seed.rich import Clock, Story, fill, fixed_env

# forks, subagents, branches, lints and rules, Nexus's extended fields
CASES = (
    "agentuse/subagent",
    "claude-code/rewind",
    "claude-code/peoples-words-and-the-programs",
    "claude-code/sdk-fork",
    "claude-code/subagent",
    "codex/fork-by-reference",
    "cursor/new-composers",
    "cursor/duplicated-chat",
    "pi/nexus-extended",
)


class Asked:
    """A filled ledger, asked in plain SQL with clients that are not ours."""

    def __init__(self, url: str, story: Story, sources: Path) -> None:
        self.url = url
        self.story = story
        self.sources = sources
        self.dialect: Any = "postgres" if url.startswith("postgresql") else "sqlite"

    def face(self, system: str, table: str) -> str:
        """What a table of another system is called here."""
        return face_name(system, table, self.dialect)

    def rows(self, sql: str, *params: Any) -> list[dict[str, Any]]:
        """Rows by name; `?` stands for a parameter."""
        if self.dialect == "sqlite":
            with closing(sqlite3.connect(f"file:{self.url.removeprefix('sqlite:///')}?mode=ro", uri=True)) as file:
                file.row_factory = sqlite3.Row
                return [dict(row) for row in file.execute(sql, params)]
        with psycopg.connect(self.url, row_factory=dict_row) as server:
            server.execute("SET search_path = mnemonic, events, public")
            return server.execute(sql.replace("%", "%%").replace("?", "%s").encode(), params).fetchall()


@pytest.fixture(scope="package", params=["sqlite", "postgres"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("faces")
    url = f"sqlite:///{folder / 'ledger.db'}"
    if request.param == "postgres":
        url = request.getfixturevalue("server").new_url()
    sources = folder / "sources"
    for case in CASES:
        copy(GOLDEN / case / "source", sources / case)
    clock = Clock()
    with Ledger.open(url, env=fixed_env(clock)) as ledger:
        sync(ledger, sources)
        story = fill(ledger, clock)
        live = ledger.turn("live", "Is it done?")
        live.call("Shell", {"command": "make"}, id="toolu_live")
        yield Asked(url, story, sources)
        live.fail("the test is over")


def value(text: Any) -> Any:
    """A JSON text as a value; anything else as it is."""
    return json.loads(text) if isinstance(text, str) and text.startswith(("{", "[")) else text
