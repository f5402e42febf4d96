"""Session keys: the names by which chat runtimes tell which conversation a message belongs to.

Two grammars. That of clawdbot, moltbot and openclaw (`agent:main:telegram:group:-100`), which wrote `dm` in January
2026, writes `direct` now, and named no agent before there were several; and that of the Nexus broker
(`dm:ent_002:persona:atlas`). docs/session-keys.md has a table of what each kind of key means.
"""

import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Era = Literal["openclaw", "nexus"]
Kind = Literal[
    "main",  # the conversation that all direct messages share
    "direct",
    "group",
    "channel",
    "room",
    "cron",
    "hook",
    "subagent",
    "acp",
    "dashboard",
    "explicit",
    "system",
    "global",
    "unknown",
    "other",
]
DmScope = Literal["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]

_DIRECT = ("dm", "direct")
_GROUPS: dict[str, Kind] = {"group": "group", "channel": "channel", "room": "room"}
_NAMED: dict[str, Kind] = {
    "cron": "cron",
    "hook": "hook",
    "subagent": "subagent",
    "acp": "acp",
    "dashboard": "dashboard",
    "explicit": "explicit",
}
_THREAD = re.compile(r"(?s)(.+):(thread|topic):(.+)", re.IGNORECASE)
_HEARTBEAT = ":heartbeat"
_PERSONA = re.compile(r"(?s)(.+):persona:(.+)")
_PHONE = re.compile(r"\+\d+")
_WHATSAPP = "@g.us"


_MEANINGS = {
    "main": "direct messages of every channel, in one conversation",
    "direct": "direct messages with {key.id}{everywhere}",
    "account": "direct messages with {key.id}{where}, through the account {key.account}",
    "group": "the group {key.id}{where}",
    "channel": "the channel {key.id}{where}",
    "room": "the room {key.id}{where}",
    "cron": "the cron job {key.id}",
    "inner cron": "run {key.run} of the cron job {key.id}",
    "hook": "what the hook {key.id} sends",
    "subagent": "the subagent {key.id}",
    "inner subagent": "the subagent {last}, {key.depth} levels down",
    "acp": "another agent, spoken to over ACP: {key.id}",
    "dashboard": "a conversation of the dashboard: {key.id}",
    "explicit": "a conversation that was asked for by its id: {key.id}",
    "system": "the runtime's own work: {key.id}",
    "global": "everything that anybody says, in one conversation",
    "unknown": "messages whose sender is not known",
    "other": "a name of its own: {key.id}",
}


class SessionKey(Struct, frozen=True, kw_only=True):
    """A session key, taken apart. `str()` writes it down again."""

    kind: Kind
    era: Era = "openclaw"
    agent: str | None = None  # None in keys of the time before there were several agents
    persona: str | None = None  # Nexus: who is spoken to
    channel: str | None = None  # telegram, discord …
    account: str | None = None  # of the bot, where it has several on a channel
    word: str | None = None  # what the key calls its kind, where there are two words for it: dm or direct
    id: str | None = None  # the peer, the job, the subagent …; of `main`: the word for it; of `other`: everything
    run: str | None = None  # of a cron job
    thread: str | None = None
    mark: str | None = None  # thread or topic
    is_heartbeat: bool = False  # a runtime's own periodic turns, kept apart from the conversation

    def __str__(self) -> str:
        return spell(self)

    @property
    def is_shared(self) -> bool:
        """Whether several chats go on in this one conversation: direct messages of all channels, or everything."""
        if self.thread or self.is_heartbeat:
            return False
        return self.kind in ("main", "global") or (self.kind == "direct" and self.channel is None)

    @property
    def dm_scope(self) -> DmScope | None:
        """How finely direct messages are told apart, of those kinds of keys that say it."""
        if self.kind == "main":
            return "main"
        if self.kind != "direct":
            return None
        if self.account:
            return "per-account-channel-peer"
        return "per-channel-peer" if self.channel else "per-peer"

    @property
    def parent(self) -> "SessionKey | None":
        """The conversation that a thread or topic is in, a run's job, what heartbeats are for; None for all others."""
        if self.is_heartbeat:
            return replace(self, is_heartbeat=False)
        if self.thread is not None:
            return replace(self, thread=None, mark=None)
        return replace(self, run=None) if self.run is not None else None

    @property
    def depth(self) -> int:
        """How many subagents deep: 0 for a conversation with people."""
        if self.kind != "subagent":
            return 0
        return 1 if self.era == "nexus" else f":{self.id}".count(":subagent:") + 1

    @property
    def reset_type(self) -> str:
        """Whose rules for daily and idle resets apply: thread, group or dm."""
        if self.thread is not None:
            return "thread"
        return "group" if self.kind in _GROUPS else "dm"


def parse(text: str, main_key: str = "main") -> SessionKey:
    """A key, taken apart; what fits no grammar is of the kind `other`. `main_key` is what the runtime calls `main`."""
    text = text.strip()
    found = _nexus(text)
    if found is not None:
        return found
    head, _, tail = text.partition(":")
    agent, _, rest = tail.partition(":")
    if head.lower() == "agent":
        if not agent.strip() or not rest or rest.startswith(":"):
            return SessionKey(kind="other", id=text.lower())
        return _in_runtime(rest, agent.strip().lower(), main_key)
    return _old(text) or _in_runtime(text, None, main_key)


def spell(key: SessionKey) -> str:
    """A key as text."""
    if key.era == "nexus":
        return _spell_nexus(key)
    body = [key.agent and f"agent:{key.agent}", *_body(key)]
    if key.thread is not None:
        body += [key.mark or "thread", key.thread]
    text = ":".join(part for part in body if part)
    return text + _HEARTBEAT if key.is_heartbeat else text


def meaning(key: SessionKey) -> str:
    """What is talked about under a key, in a sentence."""
    if key.is_heartbeat:
        return f"heartbeats, apart from: {meaning(replace(key, is_heartbeat=False))}"
    if key.thread is not None:
        return f"{key.mark} {key.thread} in: {meaning(replace(key, thread=None, mark=None))}"
    words = _meaning(key)
    if key.persona:
        words += f", with {key.persona}"
    return words if key.agent is None else f"{words} (agent {key.agent})"


# reading


def _in_runtime(rest: str, agent: str | None, main_key: str) -> SessionKey:
    """The part behind the agent, by the runtimes' grammar."""
    is_heartbeat = rest.endswith(_HEARTBEAT) and len(rest) > len(_HEARTBEAT)
    rest = rest.removesuffix(_HEARTBEAT) if is_heartbeat else rest
    thread = mark = None
    if found := _THREAD.fullmatch(rest):
        rest, mark, thread = found[1], found[2].lower(), found[3]
    key = _place(rest, main_key)
    if thread is not None:
        thread = thread if _keeps_case(key.channel, key.kind) == "all" else thread.lower()
    return replace(key, agent=agent, thread=thread, mark=mark, is_heartbeat=is_heartbeat)


def _place(rest: str, main_key: str) -> SessionKey:
    """Which conversation, without agent and thread."""
    parts = rest.split(":")
    words = [part.lower() for part in parts]
    if words[0] in _NAMED and all(words[1:2]):
        return _named(_NAMED[words[0]], words[1:])
    if len(words) > 3 and words[2] in _DIRECT and all(words[:4]):  # noqa: PLR2004 - channel, account, word, peer
        return SessionKey(kind="direct", channel=words[0], account=words[1], word=words[2], id=":".join(words[3:]))
    if len(words) > 2 and all(words[:3]) and words[1] in (*_DIRECT, *_GROUPS):  # noqa: PLR2004 - channel, word, peer
        kind = _GROUPS.get(words[1], "direct")
        word = words[1] if kind == "direct" else None
        return SessionKey(kind=kind, channel=words[0], word=word, id=_peer(words[0], kind, parts[2:]))
    if words[0] in _DIRECT and all(words[1:2]) and len(words) > 1:
        return SessionKey(kind="direct", word=words[0], id=":".join(words[1:]))
    if rest.lower() in ("global", "unknown"):
        return SessionKey(kind="global" if rest.lower() == "global" else "unknown")
    is_main = rest.lower() in ("main", main_key.strip().lower())
    return SessionKey(kind="main" if is_main else "other", id=rest.lower())


def _named(kind: Kind, words: list[str]) -> SessionKey:
    """A conversation that no chat has: a job, a hook, a subagent."""
    if not words:
        return SessionKey(kind="other", id=kind)
    if kind == "cron" and len(words) == 3 and words[1] == "run" and words[2]:  # noqa: PLR2004 - job, run, id
        return SessionKey(kind=kind, id=words[0], run=words[2])
    return SessionKey(kind=kind, id=":".join(words))


def _peer(channel: str, kind: str, parts: list[str]) -> str:
    """Whom the messages are from: in lower case, but for ids in which case counts."""
    keeps = _keeps_case(channel, kind)
    if keeps == "all":
        return ":".join(parts)
    return ":".join([parts[0] if keeps == "first" else parts[0].lower(), *(part.lower() for part in parts[1:])])


def _keeps_case(channel: str | None, kind: str) -> Literal["all", "first", "no"]:
    """Ids of Matrix rooms and of Signal groups are other ids in lower case."""
    if channel == "matrix" and kind in ("channel", "group"):
        return "all"
    return "first" if channel == "signal" and kind == "group" else "no"


def _old(text: str) -> SessionKey | None:
    """Keys from the time before agents: a telephone number, a WhatsApp group."""
    if _PHONE.fullmatch(text):
        return SessionKey(kind="direct", id=text)
    bare = text.lower().removeprefix("group:")
    if bare.endswith(_WHATSAPP) and ":" not in bare and len(bare) > len(_WHATSAPP):
        return SessionKey(kind="group", channel=None, word=text[: len(text) - len(bare)].lower() or None, id=bare)
    return None


def _nexus(text: str) -> SessionKey | None:
    """A key of the Nexus broker, whose ids keep their case."""
    head, _, rest = text.partition(":")
    if not rest or rest.startswith(":"):
        return None
    if head in ("worker", "system"):
        return SessionKey(era="nexus", kind="subagent" if head == "worker" else "system", id=rest)
    if head not in ("dm", "group"):
        return None
    thread = mark = None
    if head == "group" and (found := re.fullmatch(r"(?s)(.+):thread:(.+)", rest)):
        rest, mark, thread = found[1], "thread", found[2]
    persona = None
    if found := _PERSONA.fullmatch(rest):
        rest, persona = found[1], found[2]
    channel, colon, inside = rest.partition(":")
    if head == "dm" and not colon:
        return SessionKey(era="nexus", kind="direct", id=rest, persona=persona)
    if not inside or not channel:
        return None
    kind: Kind = "direct" if head == "dm" else "group"
    return SessionKey(era="nexus", kind=kind, channel=channel, id=inside, persona=persona, thread=thread, mark=mark)


# writing


def _body(key: SessionKey) -> list[str | None]:
    if key.kind in ("main", "other"):
        return [key.id]
    if key.kind in ("global", "unknown"):
        return [key.kind]
    if key.kind == "direct":
        return [key.channel, key.account, key.word, key.id]
    if key.kind in _GROUPS:
        if key.channel is None:  # from before there were channels
            return [f"{key.word or ''}{key.id}"]
        return [key.channel, key.kind, key.id]
    return [key.kind, key.id, *(("run", key.run) if key.run else ())]


def _spell_nexus(key: SessionKey) -> str:
    head = {"subagent": "worker", "system": "system", "direct": "dm"}.get(key.kind, "group")
    text = ":".join(part for part in (head, key.channel, key.id) if part)
    if key.persona:
        text += f":persona:{key.persona}"
    return f"{text}:thread:{key.thread}" if key.thread is not None else text


def _meaning(key: SessionKey) -> str:
    kind: str = key.kind
    if kind == "direct" and key.account:
        kind = "account"
    elif (kind == "cron" and key.run) or (kind == "subagent" and key.depth > 1):
        kind = f"inner {kind}"
    where = f" on {key.channel}" if key.channel else ""
    everywhere = where or ", on every channel"
    last = (key.id or "").rpartition(":")[2]
    return _MEANINGS[kind].format(key=key, where=where, everywhere=everywhere, last=last)
