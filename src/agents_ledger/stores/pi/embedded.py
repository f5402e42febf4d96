"""A subagent's session inside its parent's transcript: a header of its own, and entries that say whose they are.

Behind each of them stands a note of the parent's, so that the last line is always the parent's: pi opens the file
there, and takes the subagent's entries for a tree beside it.
"""

from collections.abc import Sequence
from typing import Any

from agents_ledger.capture.draft import label_for
from agents_ledger.formats.pi import entries
from agents_ledger.formats.pi.entries import Place
from agents_ledger.formats.pi.names import origin_of
from agents_ledger.model.times import iso
from agents_ledger.stores.pi.session import PiSession

Json = dict[str, Any]
NOTE = "subagent"


class EmbeddedSession:
    """A subagent whose conversation is kept in its parent's file."""

    def __init__(self, parent: PiSession, session_id: str, links: Json) -> None:
        self.parent = parent
        self.id = session_id
        self._links = links

    @property
    def label(self) -> str:
        """Its name in the ledger."""
        return label_for(origin_of(self.parent.path) or "pi", self.id)

    def begin(self) -> None:
        """Writes its header."""
        now = self.parent.now()
        header = {"type": "session", "version": entries.VERSION, "id": self.id, "timestamp": iso(now)}
        self._write([{**header, **self._links}])

    def say(self, *bodies: Json) -> str:
        """Adds messages of the subagent's conversation; gives the last one's id."""
        return self._write([{"message": body} for body in bodies])

    def end(self, status: str) -> None:
        """Notes in the parent's conversation how it ended: completed or failed."""
        self.parent.note(NOTE, {"sessionId": self.id, "taskStatus": status})

    def _write(self, what: Sequence[Json]) -> str:
        """Entries of the subagent, and the parent's note behind them, in one write."""
        made: list[Json] = []
        with self.parent.writing() as transcript:
            before, now = transcript.inner.get(self.id), self.parent.now()
            for one in what:
                if one.get("type") != "session":
                    place = Place(self.parent.new_id(made), before, now)
                    made.append({**entries.message(place, one["message"]), "sessionId": self.id})
                    before = place.id
                else:
                    made.append(one)
            note = entries.custom(Place(self.parent.new_id(made), self.parent.leaf, now), NOTE, {"sessionId": self.id})
            transcript.append([*made, {**note, "sessionId": self.parent.id}])
            self.parent.follow()
        return str(made[-1]["id"])
