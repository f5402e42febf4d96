"""A session of pi, to be written by a runtime: as pi's SessionManager writes it, and in the ledger at once."""

import os
import threading
from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from agents_ledger.capture.draft import label_for
from agents_ledger.capture.locks import locked
from agents_ledger.errors import BadInput
from agents_ledger.formats.pi import entries
from agents_ledger.formats.pi.entries import Place
from agents_ledger.formats.pi.names import origin_of
from agents_ledger.formats.pi.tree import Context, context_of, path_to
from agents_ledger.ledger.env import Env
from agents_ledger.model.ids import uuid4
from agents_ledger.stores.pi.extended import Extended
from agents_ledger.stores.pi.transcript import Transcript
from agents_ledger.stores.pi.turns import turn_marker

Json = dict[str, Any]
Take = Callable[[Sequence[str]], None]
Build = Callable[[Place], Json]
_SILENT = ("model_change", "thinking_level_change", "session_info", "custom", "usage")


class PiSession:
    """One transcript. Several processes may write it: each entry follows the last one, unless `branch` chose another.

    Nothing is on the disk before the first message, so a session that nobody speaks in leaves no file.
    """

    def __init__(self, transcript: Transcript, env: Env, take: Take) -> None:
        self.transcript = transcript
        self._env = env
        self._take = take
        self._leaf: str | None = None
        self._has_moved = False
        self._mutex = threading.RLock()

    # what it is

    @property
    def id(self) -> str:
        """The session's id."""
        return self.transcript.session_id

    @property
    def path(self) -> str:
        """Its file, which may not be there yet."""
        return self.transcript.path

    @property
    def is_there(self) -> bool:
        """Whether its file is where it was, or not written yet."""
        return os.path.exists(self.path) or not self.transcript.is_written  # noqa: PTH110 - one call

    @property
    def label(self) -> str:
        """Its name in the ledger."""
        return label_for(origin_of(self.path) or "pi", self.id)

    @property
    def leaf(self) -> str | None:
        """The entry that the next one follows; None before the first."""
        return self._leaf if self._has_moved else self.transcript.leaf

    def entries(self) -> list[Json]:
        """All entries, in the order of the file."""
        with self._reading() as transcript:
            return list(transcript.entries(transcript.nodes))

    def path_to(self, leaf: str | None = None) -> list[Json]:
        """The entries from the root to one of them (the leaf, if none is named)."""
        with self._reading() as transcript:
            return list(transcript.entries(path_to(transcript.parents(), leaf or self.leaf)))

    def raw_path(self, leaf: str | None = None) -> list[bytes]:
        """The lines of the same, byte for byte."""
        with self._reading() as transcript:
            return list(transcript.raw(path_to(transcript.parents(), leaf or self.leaf)))

    def context(self, leaf: str | None = None) -> Context:
        """What the model would see."""
        return context_of(self.path_to(leaf))

    @property
    def name(self) -> str | None:
        """What people call it."""
        with self._reading() as transcript:
            said = [name for name, node in transcript.nodes.items() if node.kind == "session_info"]
            last = next(transcript.entries(said[-1:]), {})
        return str(last.get("name") or "") or None

    def labels(self) -> dict[str, str]:
        """The bookmarks: entry → text."""
        with self._reading() as transcript:
            said = [name for name, node in transcript.nodes.items() if node.kind == "label"]
            found = {entry["targetId"]: entry.get("label") for entry in transcript.entries(said)}
        return {target: text for target, text in found.items() if text}

    # what is said

    def say(self, *bodies: Json, extended: Extended | None = None) -> str:
        """Adds messages (see `formats.pi.bodies`), all in one write; gives the last one's id."""
        if not bodies:
            raise BadInput("say what? give at least one message")
        more = {} if extended is None else extended.fields()
        return self._add([partial(entries.message, body=body, **more) for body in bodies])

    def change_model(self, provider: str, model: str) -> str:
        """From here on another model answers."""
        return self._add([lambda place: entries.model_change(place, provider, model)])

    def change_thinking(self, level: str) -> str:
        """From here on the model thinks so much."""
        return self._add([lambda place: entries.thinking_level_change(place, level)])

    def compact(
        self, summary: str, first_kept: str | None, tokens_before: int, details: Any = None, usage: Json | None = None
    ) -> str:
        """A summary stands for everything before `first_kept` from here on (None: for everything)."""

        def build(place: Place) -> Json:
            if first_kept is not None and first_kept not in path_to(self.transcript.parents(), place.parent):
                raise BadInput(f"{first_kept!r} is not on the way to {place.parent!r}: keep an entry of this branch")
            return entries.compaction(place, summary, first_kept, tokens_before, details, usage=usage)

        return self._add([build])

    def note(self, kind: str, data: Any = None) -> str:
        """A runtime's own state; the model does not see it."""
        return self._add([lambda place: entries.custom(place, kind, data)])

    def inject(self, kind: str, content: Any, *, display: bool = True, details: Any = None) -> str:
        """What a runtime tells the model, as a user's message."""
        return self._add([lambda place: entries.custom_message(place, kind, content, display=display, details=details)])

    def bookmark(self, target: str, text: str | None) -> str:
        """A bookmark on an entry; None takes it away."""
        self.transcript.node(target)
        return self._add([lambda place: entries.label(place, target, text)])

    def rename(self, name: str) -> str:
        """What people call it; an empty name takes it away."""
        return self._add([lambda place: entries.session_info(place, name)])

    def spend(self, kind: str, provider: str, model: str, usage: Json, note: str | None = None) -> str:
        """A call to the model outside of the conversation."""
        return self._add([lambda place: entries.usage(place, kind, provider, model, usage, note)])

    def edit(self, target: str, replacement: Json | None) -> str:
        """Another content of an entry for the model, on this branch; None leaves it out."""
        self.transcript.node(target)
        return self._add([lambda place: entries.context_edit(place, target, replacement)])

    def mark_turn(self) -> str:
        """The marker of Nexus for the turn that ends here."""
        return self._add([lambda place: turn_marker(place, self.path_to(place.parent))])

    # where it goes on

    def branch(self, target: str | None) -> None:
        """The next entry follows this one (None: it is a first one). Nothing is written, and nothing lost."""
        with self._mutex:
            if target is not None:
                self.transcript.node(target)
            self._leaf, self._has_moved = target, True

    def branch_with_summary(self, target: str | None, summary: str, details: Any = None) -> str:
        """As `branch`; the model is told what was said on the branch that is left."""
        with self._mutex:
            left = self.leaf
            self.branch(target)
            return self._add([lambda place: entries.branch_summary(place, summary, left, details)])

    # how

    def _add(self, builds: Sequence[Build]) -> str:
        """Adds entries behind each other, in the file and then in the ledger; gives the last one's id."""
        with self._mutex:
            if not self.transcript.is_written:
                made = self._built(builds)
                if all(entry["type"] in _SILENT for entry in made):
                    for entry in made:
                        self.transcript.wait(entry)
                    self._has_moved = False
                    return str(made[-1]["id"])
            with locked(self.path):
                self.transcript.refresh()
                # somebody else may have begun the file: what waited for the first message follows theirs, then
                late = self.transcript.waiting if self.transcript.is_written else []
                made = self._built([*(partial(_relinked, entry=entry) for entry in late), *builds])
                self.transcript.append(made)
            self._has_moved = False
            self._take([self.path])
            return str(made[-1]["id"])

    @contextmanager
    def _reading(self) -> Iterator[Transcript]:
        """The transcript with everything that others have written meanwhile."""
        with self._mutex:
            self.transcript.refresh()
            yield self.transcript

    def _built(self, builds: Sequence[Build]) -> list[Json]:
        made: list[Json] = []
        parent = self.leaf
        if parent is not None:
            self.transcript.node(parent)  # somebody may have cut it away
        now = self.now()
        for build in builds:
            made.append(self._own(build(Place(self.new_id(made), parent, now))))
            parent = made[-1]["id"]
        return made

    def _own(self, entry: Json) -> Json:
        """An entry that says whose it is, where other sessions are embedded in the file."""
        return {**entry, "sessionId": self.id} if self.transcript.inner else entry

    def new_id(self, made: Sequence[Json] = ()) -> str:
        """An id that no entry of the file has, nor of those that are about to be written."""
        taken: ChainMap[str, Any] = ChainMap(self.transcript.nodes, {entry["id"]: entry for entry in made})
        return entries.new_id(taken, lambda: uuid4(self._env.salt(16)))

    def now(self) -> int:
        """The time, in Unix ms."""
        return self._env.now()

    def follow(self) -> None:
        """Goes on behind the last line, whatever `branch` had chosen."""
        self._has_moved = False

    @contextmanager
    def writing(self) -> Iterator[Transcript]:
        """The right to write the file itself, with everything in it known; what is written is taken at the end."""
        with self._mutex:
            with locked(self.path):
                self.transcript.refresh()
                yield self.transcript
            self._take([self.path])


def _relinked(place: Place, entry: Json) -> Json:
    return {**entry, "id": place.id, "parentId": place.parent}
