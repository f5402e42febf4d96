"""One session of AgentUse on the disk: its own files, its exchanges, its subagents."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from agents_ledger.capture.draft import label_for
from agents_ledger.capture.whole_files import replace_whole
from agents_ledger.errors import NotFound
from agents_ledger.formats.agentuse import writing
from agents_ledger.formats.agentuse.files import Contents, sort_files
from agents_ledger.ledger.env import Env
from agents_ledger.store.files import make_folders
from agents_ledger.stores.agentuse.exchange import Exchange

Json = dict[str, Any]
Take = Callable[[Sequence[str]], None]


class AgentUseSession:
    """A session's folder. Each file is whole at every moment, and in the ledger when the call returns."""

    def __init__(self, folder: str, info: Json, env: Env, take: Take) -> None:
        self.folder = folder
        self.info = info
        self.env = env
        self._take = take
        self._held: list[str] | None = None

    @property
    def id(self) -> str:
        """The session's id."""
        return str(self.info["id"])

    @property
    def label(self) -> str:
        """Its name in the ledger."""
        return label_for("agentuse", self.id)

    def contents(self) -> Contents:
        """Everything in the folder, read: the session, its messages with their parts in order, its artifacts."""
        found = Contents()
        for _ in sort_files(dict(self._files()), found):
            continue  # what is wrong with a file is a problem of the capture's, and listed there
        return found

    def exchange(
        self, task: str, *, user: str | None = None, system: Sequence[str] = (), mode: str = "build"
    ) -> Exchange:
        """A new exchange: the agent's task and, if there is one, the instruction of this run."""
        now, project = self.env.now(), self.info["project"]
        name = self.env.new_id(now)
        places = {"root": project["root"], "cwd": project["cwd"]}
        model = self.info["model"]
        value = writing.message(
            name, self.id, now, task=task, user=user, system=system, model=model, mode=mode, **places
        )
        return Exchange(self, value).begin()

    def exchanges(self) -> list[Exchange]:
        """The exchanges that are there, in order."""
        return [Exchange(self, message.value) for message in self.contents().messages]

    def keep_tools(self, tools: Sequence[Json]) -> None:
        """The tools that the model is offered: name, description, inputSchema."""
        self.write("tools.json", {"tools": list(tools)})

    def keep_context(self, messages: Sequence[Json], usage: Json | None = None) -> None:
        """The model's context as it is after a compaction."""
        now = self.env.now()
        self.write("context.json", {"version": 1, "updatedAt": now, "messages": list(messages), "usage": usage or {}})

    def finish(self, status: str = "completed", error: Json | None = None) -> None:
        """Notes how the session ended: completed, error or suspended."""
        self.change(status=status, **({} if error is None else {"error": error}))

    def change(self, **fields: Any) -> None:
        """Changes fields of session.json; all others stay."""
        self.info = {**self.info, **fields}
        self.info["time"] = {**self.info["time"], "updated": self.env.now()}
        self.write("session.json", self.info)

    def subagent(self, agent_id: str, *, model: str | None = None, **facts: Any) -> "AgentUseSession":
        """The session of a subagent, in a folder inside this one."""
        now = self.env.now()
        name = self.env.new_id(now)
        who = writing.agent(agent_id, facts.pop("name", agent_id), None, facts.pop("file_path", None), is_sub=True)
        info = writing.session(
            name,
            now,
            agent=who,
            model=model or self.info["model"],
            root=self.info["project"]["root"],
            cwd=self.info["project"]["cwd"],
            version=self.info["version"],
            parent=self.id,
            **facts,
        )
        folder = self.path("subagent", writing.folder_name(name, agent_id))
        child = AgentUseSession(folder, info, self.env, self._take)
        child.write("session.json", info)
        return child

    @contextmanager
    def together(self) -> Iterator[None]:
        """Files that are written inside go into the ledger together, at the end."""
        if self._held is not None:
            yield
            return
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            if held:
                self._take(held)

    def write(self, name: str, value: Json) -> None:
        """Puts a file of the session in place, whole."""
        path = self.path(*name.split("/"))
        make_folders(Path(path).parent, mode=0o700)
        replace_whole(path, writing.text_of(value))
        if self._held is None:
            self._take([path])
        else:
            self._held.append(path)

    def read(self, name: str) -> Json:
        """A file of the session."""
        try:
            found = msgspec.json.decode(Path(self.path(*name.split("/"))).read_bytes())
        except FileNotFoundError:
            raise NotFound(f"{self.folder} has no {name}") from None
        return dict(found)

    def path(self, *names: str) -> str:
        """A path inside the folder."""
        return os.path.join(self.folder, *names)  # noqa: PTH118 - a text, as captures have it

    def paths(self) -> list[str]:
        """The files of this session, without those of its subagents."""
        found: list[str] = []
        for folder, inner, names in os.walk(self.folder):
            inner[:] = [name for name in inner if name != "subagent"]
            found += (os.path.join(folder, name) for name in sorted(names))  # noqa: PTH118 - texts, as captures have them
        return found

    def _files(self) -> Iterator[tuple[str, bytes]]:
        for path in map(Path, self.paths()):
            yield path.relative_to(self.folder).as_posix(), path.read_bytes()
