"""A folder of transcripts with its index of session keys: what clawdbot, openclaw and Nexus keep their sessions in."""

import os
from typing import Any
from urllib.parse import quote

from agents_ledger.capture.key_index import Index
from agents_ledger.capture.whole_files import keep_aside
from agents_ledger.errors import NotAllowed, NotFound
from agents_ledger.formats.pi import entries
from agents_ledger.formats.pi.cut import cut
from agents_ledger.formats.pi.names import origin_of
from agents_ledger.ledger import Ledger, sessions
from agents_ledger.model.resets import Resets, is_fresh
from agents_ledger.model.routing import Routing, main_key, store_key, subagent_key
from agents_ledger.model.session_keys import SessionKey, parse
from agents_ledger.stores.pi.embedded import EmbeddedSession
from agents_ledger.stores.pi.folder import PiFolder
from agents_ledger.stores.pi.session import PiSession
from agents_ledger.stores.pi.tokens import run_of

Json = dict[str, Any]
Key = str | SessionKey
_COUNTED = frozenset({"inputTokens", "outputTokens", "totalTokens", "cacheRead", "cacheWrite", "totalTokensFresh"})
_OF_ONE_SESSION = _COUNTED | {
    *("compactionCount", "systemSent", "abortedLastRun", "sessionFile", "claudeCliSessionId", "hasChildren"),
    *("memoryFlushAt", "memoryFlushCompactionCount", "skillsSnapshot", "systemPromptReport", "contextTokensUsed"),
}


class PiStore:
    """The sessions of one agent, by session key. Whatever is written is in the ledger when the call returns."""

    def __init__(self, ledger: Ledger, folder: str, *, agent: str = "main", routing: Routing | None = None) -> None:
        self.agent = agent
        self.routing = routing or Routing()
        self.folder = PiFolder(ledger, folder)
        self.index = Index(self.folder.path)
        self._ledger = ledger

    # the index

    def key(self, key: Key) -> str:
        """A key as this store keeps it."""
        return str(store_key(str(key), self.agent, self.routing))

    def entries(self) -> dict[str, Json]:
        """What the index says, by session key."""
        return self.index.read()

    def entry(self, key: Key) -> Json:
        """What the index says about a session."""
        return _known(self.index.read(), self.key(key))

    def update(self, key: Key, **fields: Any) -> Json:
        """Changes fields of an entry, by their names in the file (None takes one away); all others stay."""
        name = self.key(key)
        with self.index.changing() as found:
            merged = found[name] = self._merged(_known(found, name), fields)
        self.folder.take([self.index.path])
        return merged

    def account(self, key: Key) -> Json:
        """Notes in the index what the last turn used: tokens, model, how often the session was compacted."""
        return self.update(key, **run_of(self.session(key).path_to()))

    # sessions

    def session(self, key: Key, cwd: str = "", **fields: Any) -> PiSession:
        """The session that a key leads to; a new one, if there is none. `fields` go into its entry."""
        name = self.key(key)
        entry = self.index.read().get(name, {})
        if fields or not entry.get("sessionId"):
            with self.index.changing() as found:
                entry = found[name] = self._merged(found.get(name, {}), fields)
            self.folder.take([self.index.path], has_subagents=bool(entry.get("isSubagent")))
        return self._opened(entry, cwd)

    def current(self, key: Key, resets: Resets, cwd: str = "", **fields: Any) -> PiSession:
        """As `session`; but one that is stale by a runtime's rules is reset first."""
        name = self.key(key)
        entry = self.index.read().get(name, {})
        last = entry.get("updatedAt")
        policy = resets.of(parse(name, self.routing.main_key))
        if entry.get("sessionId") and isinstance(last, int) and not is_fresh(policy, last, self.folder.env.now()):
            self.reset(name, cwd)
        return self.session(name, cwd, **fields)

    def reset(self, key: Key, cwd: str = "", *, archive: bool = False) -> PiSession:
        """A new session under the same key, with its settings; the old transcript stays, put aside if asked for."""
        name = self.key(key)
        with self.index.changing() as found:
            old = _known(found, name)
            kept = {field: value for field, value in old.items() if field not in _OF_ONE_SESSION}
            entry = found[name] = self._merged({**kept, "sessionId": self.folder.new_session_id()}, {})
        gone = self.folder.put_aside(self._file(old), "reset") if archive else []
        self.folder.take([*gone, self.index.path])
        fresh = self._opened(entry, cwd)
        self._ledger.database.write(lambda tx: sessions.lead(tx, self._ledger.env, name, fresh.label))
        return fresh

    def delete(self, key: Key) -> str | None:
        """Takes a session out of the index and puts its transcript aside; gives where. The main one stays."""
        name = self.key(key)
        if name == str(main_key(self.routing, self.agent)):
            raise NotAllowed(f"{name!r} is the agent's own conversation: reset it instead")
        with self.index.changing() as found:
            _known(found, name)
            entry = found.pop(name)
        gone = self.folder.put_aside(self._file(entry), "deleted")
        self.folder.take([*gone, self.index.path])
        return gone[-1] if gone else None

    def cut(self, key: Key, keep: int = 400) -> str | None:
        """Keeps the last lines of a transcript; the whole one stays beside it as `.bak.{time}`. Gives where, or None.

        The header stays, too, and so does whatever the conversation still needs of what was before.
        """
        name = self.key(key)
        session = self._opened(self.entry(name), "")
        if not session.transcript.is_written:
            return None
        with session.writing() as transcript:
            aside = entries.archive_name(session.path, "bak", session.now())
            lines = cut(transcript.lines(), keep, os.path.basename(aside))  # noqa: PTH119 - a text
            if lines is None:
                return None
            keep_aside(session.path, aside)
            self.folder.take([aside])
            transcript.replace(lines)
        self.update(name, **dict.fromkeys(_COUNTED))
        return aside

    def fork(self, key: Key, into: Key, leaf: str | None = None) -> PiSession:
        """A new session under another key, that begins with everything up to an entry (the last one, if none)."""
        source, name = self.session(key), self.key(into)
        if name in self.entries():
            raise NotAllowed(f"{name!r} has a session already: fork into another key, or delete that one first")
        given = self.session(name, forkedFromSessionId=source.id, forkedFromTurnId=leaf or source.leaf)
        fork = self.folder.fork(source, leaf, given)
        self.update(key, hasChildren=True)
        return fork

    # subagents

    def subagent(
        self, parent: Key, *, call_id: str, task: str, message_id: str | None = None, cwd: str = ""
    ) -> PiSession:
        """The session of a subagent that a tool call of the parent started, in a file of its own."""
        session_id, owner = self.folder.new_session_id(), self.session(parent)
        key = str(subagent_key(store_key(str(parent), self.agent, self.routing), session_id))
        links = _links(owner, call_id, task, message_id)
        fields = {**links, "spawnedBy": self.key(parent), "isSubagent": True, "taskStatus": "running"}
        child = self.session(key, cwd, sessionId=session_id, **fields)
        if origin_of(child.path) is not None:  # in a folder that says nothing, such a header would make it another's
            child.transcript.header |= links
        owner.note("subagent", {"sessionId": session_id, "sessionKey": key, "toolCallId": call_id})
        return child

    def embedded(self, parent: Key, *, call_id: str, task: str, message_id: str | None = None) -> EmbeddedSession:
        """The same, in the parent's own file."""
        owner = self.session(parent)
        links = _links(owner, call_id, task, message_id)
        child = EmbeddedSession(owner, self.folder.new_session_id(), links)
        child.begin()
        self.folder.take([owner.path], has_subagents=True)
        return child

    def finish(self, subagent: Key, status: str = "completed") -> Json:
        """Notes how a subagent ended: completed or failed."""
        return self.update(subagent, taskStatus=status)

    # how

    def _file(self, entry: Json) -> str:
        path = os.path.abspath(self.folder.inside(entry.get("sessionFile") or f"{entry['sessionId']}.jsonl"))  # noqa: PTH100
        if os.path.dirname(path) != self.folder.path:  # noqa: PTH120 - texts
            raise NotAllowed(f"{path} is not in {self.folder.path}: a store writes in its own folder only")
        return path

    def _opened(self, entry: Json, cwd: str) -> PiSession:
        header = entries.header(entry["sessionId"], self.folder.env.now(), cwd or os.sep)
        return self.folder.at(self._file(entry), header)

    def _merged(self, entry: Json, fields: Json) -> Json:
        """As the runtimes merge: later times win, and a session without an id gets one."""
        kept = {field: value for field, value in {**entry, **fields}.items() if value is not None}
        kept.setdefault("sessionId", self.folder.new_session_id())
        times = [entry.get("updatedAt"), fields.get("updatedAt"), self.folder.env.now()]
        return {**kept, "updatedAt": max(int(at) for at in times if isinstance(at, int | float))}


def topic_file(session_id: str, topic: str) -> str:
    """What the transcript of a Telegram topic is called: give it to a session as `sessionFile`."""
    return f"{session_id}-topic-{quote(topic, safe='')}.jsonl"


def _known(found: dict[str, Json], name: str) -> Json:
    entry = found.get(name)
    if not isinstance(entry, dict) or not entry.get("sessionId"):
        raise NotFound(f"no session has the key {name!r} here: begin one with session()")
    return entry


def _links(owner: PiSession, call_id: str, task: str, message_id: str | None) -> Json:
    found = {"parentSessionId": owner.id, "parentMessageId": message_id or owner.leaf, "toolCallId": call_id}
    return {**{name: value for name, value in found.items() if value}, "taskDescription": task}
