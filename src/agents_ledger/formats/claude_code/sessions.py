"""The sessions of a transcript: which one a line belongs to, and what is known about each."""

from typing import Any

from msgspec import Struct

from agents_ledger.formats.claude_code.lines import Line
from agents_ledger.formats.claude_code.sidechains import Chain, root_of
from agents_ledger.model.steps import Event, Facts

_KEPT = 16  # sessions, and summaries of other ones: a file has one, as a rule


class Known(Struct):
    """What was said about a session already."""

    begun: bool = False  # by a line of its chain
    cwd: str | None = None
    branch: str | None = None
    version: str | None = None
    permissions: str | None = None
    forked_from: str | None = None
    title: str | None = None
    named: bool = False  # by a person: the program's own titles do not count any more
    extra: dict[str, Any] = {}  # by the type of the line that said it: many are repeated at every start


class Sessions(Struct):
    """The sessions of one file."""

    fallback: str  # the name of the file, or of its folder
    agent: str | None = None  # the subagent whose file this is
    current: str | None = None
    child: str | None = None  # a session that says by itself who started it
    last: str | None = None  # the last line of the chain
    permissions: str | None = None  # as a line outside of the chain said
    known: dict[str, Known] = {}
    chains: list[Chain] = []
    summaries: dict[str, str] = {}  # by the line that they sum up to, which may be in another file

    def main(self, line: Line) -> str:
        """The session that a line names."""
        if line.session_id:
            self.current = line.session_id
        return self.current or self.fallback

    def of(self, line: Line) -> tuple[str, bool]:
        """The session of a line: a subagent's is named after its parent's."""
        session = self.main(line)
        if line.agent_id:
            return f"{session}/agent-{line.agent_id}", True
        if not line.is_sidechain:
            return session, False
        agent = self.agent or root_of(self.chains, line.uuid, line.parent_uuid)
        return f"{session}/agent-{agent}", True

    def subagent(self, agent: str) -> str:
        """The session of a subagent that a tool's result names."""
        return f"{self.current or self.fallback}/agent-{agent}"

    def parent_of(self, session: str) -> str | None:
        """The session that a subagent's is named after."""
        parent, found, _ = session.rpartition("/agent-")
        return parent if found else None

    def is_child(self, session: str) -> bool:
        """Whether a session of its own was started by another one."""
        return session == self.child

    def headed(self, session: str | None, *, child: bool) -> str:
        """The session that a first line names."""
        self.current = session or self.current
        self.child = self.current if child else None
        return self.current or self.fallback

    def learn(self, line: Line, session: str, events: list[Event]) -> dict[str, Any] | None:
        """Adds facts about the session that are new; gives what is to be noted in the chain."""
        self.last = line.uuid
        if self.summaries and line.uuid in self.summaries:
            events.append(Facts(session=session, title=self.summaries.pop(line.uuid)))
        mode = line.permission_mode or self.permissions
        known = self.known.get(session)
        if (
            known is not None
            and known.begun
            and (line.cwd == known.cwd or not line.cwd)
            and (line.git_branch == known.branch or not line.git_branch)
            and (line.version == known.version or not line.version)
            and (mode is None or mode == known.permissions)
            and (line.forked_from is None or line.forked_from.session_id == known.forked_from)
        ):
            return None
        return self._learn(line, session, mode, events)

    def _learn(self, line: Line, session: str, mode: str | None, events: list[Event]) -> dict[str, Any] | None:
        """The same, when something is new."""
        known = self._about(session)
        noted: dict[str, Any] = {}
        if line.cwd and line.cwd != known.cwd:
            noted["workspace"] = line.cwd
        if mode and mode != known.permissions:
            noted["permissions"] = {"mode": mode}
            known.permissions = self.permissions = mode
        facts = self._facts(line, session, known)
        known.cwd, known.begun = line.cwd or known.cwd, True
        if facts is not None:
            events.append(facts)
        return noted or None

    def _facts(self, line: Line, session: str, known: Known) -> Facts | None:
        """What the line says about its session and was not said before."""
        found: dict[str, Any] = {}
        if line.cwd and known.cwd is None:
            found["project"] = line.cwd  # where it began: a later `cd` is noted in the chain
        if line.git_branch and line.git_branch != known.branch:
            found["git_branch"] = known.branch = line.git_branch
        if line.version and line.version != known.version:
            found["agent_version"] = known.version = line.version
        if line.forked_from is not None and line.forked_from.session_id:
            found["forked_from"] = known.forked_from = line.forked_from.session_id
        if not known.begun:
            parent = self.parent_of(session)
            if parent is not None and (line.agent_id or line.is_sidechain):
                found["parent_session"] = parent
            if line.entrypoint:
                found["extra"] = {"entrypoint": line.entrypoint}
        return Facts(session=session, **found) if found else None

    def _about(self, session: str) -> Known:
        """What is known about a session; of those that were seen last."""
        known = self.known.get(session)
        if known is None:
            known = self.known[session] = Known()
            if len(self.known) > _KEPT:
                del self.known[next(iter(self.known))]
        return known

    def is_news(self, event: Event, kind: str) -> bool:
        """Whether a state line says something else than the last one of its type."""
        if not isinstance(event, Facts) or not event.extra:
            return True
        known = self._about(event.session)
        if known.extra.get(kind) == event.extra:
            return False
        known.extra[kind] = event.extra
        return True

    def titled(self, session: str, kind: str, title: str | None) -> Facts | None:
        """A title, if it is new: a person's counts more than the program's."""
        known = self._about(session)
        by_person = kind == "custom-title"
        if not title or title == known.title or (known.named and not by_person):
            return None
        known.title, known.named = title, by_person
        return Facts(session=session, title=title)

    def summarised(self, leaf: str | None, summary: str | None) -> Facts | None:
        """A title of 1.0: of the session that holds the line it names, which need not be this one."""
        if not leaf or not summary:
            return None
        if leaf == self.last:
            return Facts(session=self.current or self.fallback, title=summary)
        self.summaries[leaf] = summary
        if len(self.summaries) > _KEPT:
            del self.summaries[next(iter(self.summaries))]
        return None
