"""The reader of a database's rows: it collects those of one group, and puts them in order when it has them all."""

import re
from collections.abc import Iterator

from msgspec import Struct

from agents_ledger.formats.cursor import tables
from agents_ledger.formats.cursor.composers import Rows, conversation
from agents_ledger.formats.cursor.lists import listed
from agents_ledger.formats.cursor.loose import decoded
from agents_ledger.model.steps import At, Event

_WORKSPACE = re.compile(r"workspaceStorage[/\\]([^/\\]+)[/\\]")
_QUIET = ("aiService.", "glass.localAgentProjects.", "workbench.panel.composerChatViewPane")  # kept, not told


class RowsReader(Struct):
    """Reads a group of rows of a `state.vscdb`."""

    path: str
    rows: dict[str, bytes] = {}  # table, line end, key (which may hold more line ends) → value

    def read(self, record: bytes, name: str) -> Iterator[Event]:
        """Nothing yet: the list that orders the bubbles comes after them."""
        self.rows[name] = record
        yield from ()

    def end(self) -> Iterator[Event]:
        """The group's sessions."""
        composers: dict[str, Rows] = {}
        blobs: dict[str, bytes] = {}
        lists: list[tuple[str, bytes]] = []
        for name, value in self.rows.items():
            table, _, key = name.partition("\n")
            if table == tables.ITEMS:
                lists.append((key, value))
            elif table == tables.HEADS:
                composers.setdefault(key, Rows()).head = value
            elif key.startswith(tables.BLOB):
                blobs[key.removeprefix(tables.BLOB)] = value
            elif group := tables.group(table, key):
                _put(composers.setdefault(group, Rows()), key, value)
        yield from self._lists(lists)
        for session, rows in composers.items():
            yield from conversation(session, rows, blobs)

    def _lists(self, lists: list[tuple[str, bytes]]) -> Iterator[Event]:
        found = _WORKSPACE.search(self.path)
        place = {"workspaceId": found[1]} if found else {}
        for key, value in lists:
            if value and not key.startswith(_QUIET):
                data, problems = decoded(value)
                yield At(f"{tables.ITEMS}\n{key}")
                yield from problems
                if data is not None:
                    yield from listed(key, data, place)


def _put(rows: Rows, key: str, value: bytes) -> None:
    """A row in its place; those that are only kept (diffs, snapshots) have none."""
    kind, _, _ = key.partition(":")
    name = tables.composer_of(key)[1]
    if kind == tables.COMPOSER:
        rows.composer = value
    elif kind == tables.BUBBLE:
        rows.bubbles[name] = value
    elif kind == tables.REQUEST:
        rows.requests[name] = value
    elif kind == tables.CHECKPOINT:
        rows.checkpoints[name] = value
    elif key.startswith(tables.STATE):
        rows.states.append(value)
    elif key.startswith(tables.BUBBLE_STATE):
        rows.bubble_states.append(value)
