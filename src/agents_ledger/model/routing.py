"""Which conversation a message belongs to: the rules by which runtimes make session keys."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from agents_ledger.errors import BadInput
from agents_ledger.model.session_keys import DmScope, SessionKey, parse

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_MAX_MERGES = 1000

PeerKind = Literal["direct", "group", "channel", "room"]


class Routing(Struct, frozen=True, kw_only=True):
    """A runtime's settings for its keys; the defaults are openclaw's."""

    dm_scope: DmScope = "main"
    group_scope: Literal["per-group", "main"] = "per-group"
    main_key: str = "main"
    direct_word: Literal["direct", "dm"] = "direct"  # clawdbot wrote dm until February 2026
    # one person's name → their ids: `telegram:123`, or `123` on every channel
    identity_links: Mapping[str, Sequence[str]] = {}


def key_for(
    routing: Routing,
    *,
    agent: str,
    channel: str,
    kind: PeerKind,
    peer: str,
    account: str | None = None,
    thread: str | None = None,
) -> SessionKey:
    """The key of the conversation that a message belongs to.

    Direct messages share one conversation, unless `dm_scope` parts them; groups, channels and threads are apart.
    """
    if kind == "direct":
        base = _direct(routing, agent, channel, peer, account)
    elif routing.group_scope == "main":
        base = _main(routing, agent)
    else:
        base = f"agent:{name(agent)}:{_word(channel)}:{kind}:{peer.strip() or 'unknown'}"
    thread = (thread or "").strip()
    return parse(f"{base}:thread:{thread}" if thread else base, routing.main_key)


def main_key(routing: Routing, agent: str) -> SessionKey:
    """The key of an agent's own conversation, where direct messages meet."""
    return parse(_main(routing, agent), routing.main_key)


def store_key(text: str, agent: str, routing: Routing | None = None) -> SessionKey:
    """The key under which a store keeps what a request names: `main` and keys without an agent are an agent's."""
    routing = routing or Routing()
    found = parse(text, routing.main_key)
    if found.era == "nexus" or found.agent or found.kind in ("global", "unknown"):
        return found
    if not text.strip() or text.strip().lower() == "main":
        return main_key(routing, agent)
    return parse(f"agent:{name(agent)}:{text.strip()}", routing.main_key)


def cron_key(agent: str, job: str, run: str | None = None) -> SessionKey:
    """The key of a cron job, or of one of its runs."""
    return parse(f"agent:{name(agent)}:cron:{_part(job, 'job')}" + (f":run:{_part(run, 'run')}" if run else ""))


def hook_key(agent: str, hook: str) -> SessionKey:
    """The key of what a hook sends."""
    return parse(f"agent:{name(agent)}:hook:{_part(hook, 'hook')}")


def subagent_key(parent: SessionKey, subagent: str) -> SessionKey:
    """The key of a subagent that was started in a conversation."""
    if parent.era == "nexus":
        return parse(f"worker:{_part(subagent, 'subagent')}")
    inside = f"subagent:{parent.id}:" if parent.kind == "subagent" else ""
    return parse(f"agent:{parent.agent or 'main'}:{inside}subagent:{_part(subagent, 'subagent')}")


def linked_peer(links: Mapping[str, Sequence[str]], channel: str, peer: str) -> str | None:
    """The name of the person whose id this is, on this channel or on all of them."""
    wanted = {_fold(peer), f"{_fold(channel)}:{_fold(peer)}"} - {""}
    for person, ids in links.items():
        if person.strip() and peer.strip() and not wanted.isdisjoint(_fold(one) for one in ids):
            return person.strip()
    return None


def merged_entity(merges: Mapping[str, str], entity: str) -> str:
    """The person that an entity turned out to be: Nexus notes what each one was merged into."""
    for _ in range(_MAX_MERGES):
        if entity not in merges:
            return entity
        entity = merges[entity]
    raise BadInput(f"the merges of {entity!r} go round in a circle: one of them must end at a person")


def nexus_key(
    *,
    entity: str | None = None,
    platform: str | None = None,
    container: str | None = None,
    persona: str | None = None,
    thread: str | None = None,
    merges: Mapping[str, str] | None = None,
) -> SessionKey:
    """The key of the Nexus broker: by the person in direct messages, by the place in groups."""
    if container:
        text = f"group:{platform or 'unknown'}:{container}"
    elif entity:
        text = f"dm:{merged_entity(merges or {}, entity)}"
    else:
        raise BadInput("a key of Nexus needs an entity (for direct messages) or a container (for groups)")
    text += f":persona:{persona}" if persona else ""
    return parse(f"{text}:thread:{thread}" if thread and container else text)


def name(text: str, default: str = "main") -> str:
    """An agent's (or account's) id as keys and folders have it."""
    text = text.strip()
    if _NAME.fullmatch(text):
        return text.lower()
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-")[:64] or default


def _direct(routing: Routing, agent: str, channel: str, peer: str, account: str | None) -> str:
    if routing.dm_scope != "main":
        peer = linked_peer(routing.identity_links, channel, peer) or peer
    peer = peer.strip()
    if routing.dm_scope == "main" or not peer:
        return _main(routing, agent)
    begin, word = f"agent:{name(agent)}", routing.direct_word
    if routing.dm_scope == "per-peer":
        return f"{begin}:{word}:{peer}"
    if routing.dm_scope == "per-channel-peer":
        return f"{begin}:{_word(channel)}:{word}:{peer}"
    return f"{begin}:{_word(channel)}:{_account(account)}:{word}:{peer}"


def _main(routing: Routing, agent: str) -> str:
    return f"agent:{name(agent)}:{_fold(routing.main_key) or 'main'}"


def _word(channel: str) -> str:
    return _fold(channel) or "unknown"


def _account(account: str | None) -> str:
    return name(account or "", "default")


def _part(text: str, what: str) -> str:
    if not text.strip() or ":" in text:
        raise BadInput(f"{text[:60]!r} can't be the id of a {what} in a session key: it must be text without colons")
    return text.strip()


def _fold(text: str) -> str:
    return text.strip().lower()
