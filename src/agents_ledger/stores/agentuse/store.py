"""AgentUse's data folder: sessions of all projects, each below the hash of its project's root."""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agents_ledger.capture.intake import Intake
from agents_ledger.errors import NotFound
from agents_ledger.formats.agentuse import writing
from agents_ledger.ledger import Ledger
from agents_ledger.stores.agentuse.session import AgentUseSession

Json = dict[str, Any]


class AgentUseStore:
    """The folder `…/agentuse` (`~/.local/share/agentuse`, or below XDG_DATA_HOME), to be written and read."""

    def __init__(self, ledger: Ledger, folder: str) -> None:
        self.folder = os.path.abspath(folder)  # noqa: PTH100 - a text, as captures have it
        self._env = ledger.env
        self._intake = Intake(ledger, "agentuse")
        self._mutex = threading.Lock()

    def begin(
        self,
        agent_id: str,
        *,
        model: str,
        root: str,
        cwd: str | None = None,
        name: str | None = None,
        description: str | None = None,
        file_path: str | None = None,
        version: str = "0.15.0",
        trigger: str = "manual",
        config: Json | None = None,
    ) -> AgentUseSession:
        """A new session. `agent_id` is the path of the agent's file; `root` the git repository, or the project."""
        now = self._env.now()
        session_id = self._env.new_id(now)
        who = writing.agent(agent_id, name or agent_id, description, file_path, is_sub=False)
        info = writing.session(
            session_id,
            now,
            agent=who,
            model=model,
            root=root,
            cwd=cwd or root,
            version=version,
            trigger=trigger,
            config=config,
        )
        session = self._at(os.path.join(self.project(root), writing.folder_name(session_id, agent_id)), info)  # noqa: PTH118
        session.write("session.json", info)
        return session

    def project(self, root: str) -> str:
        """The folder with a project's sessions."""
        return os.path.join(self.folder, "project", writing.project_hash(root), "session")  # noqa: PTH118 - a text

    def open(self, session_id: str) -> AgentUseSession:
        """A session that is there, also a subagent's; what of it is not in the ledger yet (a fork's) is then."""
        for folder in Path(self.folder).glob(f"project/*/session/**/{session_id}-*"):
            if (folder / "session.json").is_file():
                session = self._opened(folder)
                self._take(session.paths())
                return session
        raise NotFound(f"{self.folder} has no session {session_id!r}")

    def sessions(self, root: str | None = None) -> Iterator[AgentUseSession]:
        """The sessions of a project (of all, if none is named), the oldest first; subagents are inside of theirs."""
        place = Path(self.project(root)) if root is not None else None
        folders = place.glob("*") if place is not None else Path(self.folder).glob("project/*/session/*")
        for folder in sorted(folders, key=lambda path: path.name):
            if (folder / "session.json").is_file():
                yield self._opened(folder)

    def subagents(self, session: AgentUseSession) -> Iterator[AgentUseSession]:
        """The sessions of a session's subagents."""
        for folder in sorted(Path(session.folder).glob("subagent/*")):
            if (folder / "session.json").is_file():
                yield self._opened(folder)

    def _opened(self, folder: Path) -> AgentUseSession:
        return self._at(str(folder), msgspec.json.decode((folder / "session.json").read_bytes()))

    def _at(self, folder: str, info: Json) -> AgentUseSession:
        return AgentUseSession(folder, info, self._env, self._take)

    def _take(self, paths: Sequence[str]) -> None:
        with self._mutex:
            self._intake.take(paths, has_subagents=True)
