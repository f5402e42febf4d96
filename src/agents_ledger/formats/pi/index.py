"""sessions.json: what is known about each session, by session key."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from agents_ledger.formats.pi.fields import word
from agents_ledger.formats.pi.json5 import to_json
from agents_ledger.formats.pi.nexus import session_fields
from agents_ledger.model.lines import values
from agents_ledger.model.session_keys import parse
from agents_ledger.model.steps import Event, Facts, Problem

_KEY_PARTS = 3


class Index(Struct):
    """Reads the index of sessions. It is replaced as a whole, so nothing is kept between records."""

    origin: str | None = None
    persona: str | None = None

    def read(self, record: bytes, name: str) -> Iterator[Event]:  # noqa: ARG002 - one file, whatever its name
        """The facts of all sessions that it names."""
        for value in _values(record):
            if isinstance(value, Problem):
                yield value
            elif isinstance(value, dict):
                yield from self._sessions(value)
            else:
                yield Problem("not-an-object", type(value).__name__)

    def end(self) -> Iterator[Event]:
        """Nothing more: each session was told when it was read."""
        return iter(())

    def _sessions(self, index: dict[str, Any]) -> Iterator[Event]:
        for key, entry in index.items():
            if not isinstance(entry, dict) or not word(entry.get("sessionId")):
                yield Problem("bad-field", f"{str(key)[:80]}: no sessionId")
            else:
                parent = _session_of(entry.get("spawnedBy"), index)
                yield facts_of(key, entry, origin=self.origin, persona=self.persona, parent=parent)


def facts_of(
    key: str, entry: dict[str, Any], *, origin: str | None, persona: str | None, parent: str | None, **more: Any
) -> Facts:
    """One entry: what has a place of its own, and all of it as it is; what is known beside it comes in `more`."""
    key_word, parsed = word(key), parse(key)
    extra = {"session_key": key, "entry": entry, **more.pop("extra", {})}
    told = {name: value for name, value in more.items() if value is not None}
    return Facts(
        session=entry["sessionId"],
        origin=origin,
        persona=agent_of(key) or parsed.persona or persona,
        channel=_channel(entry) or parsed.channel,
        routing_key=key_word,
        aliases=_names(key_word, origin) if key_word else (),
        title=_title(key, entry),
        extra=extra,
        **{"parent_session": parent, **told, **session_fields(entry)},
    )


def _title(key: str, entry: dict[str, Any]) -> str | None:
    """What people call it; a name that only repeats the key is none."""
    named = (word(entry.get(name)) for name in ("label", "displayName", "subject"))
    return next((name for name in named if name and not key.endswith(name)), None)


def _names(key: str, origin: str | None) -> tuple[str, ...]:
    """What a session is called besides: its key; a subagent's also as the call that started it names it."""
    return (key, f"{origin}:{key}") if origin is not None and ":subagent:" in key else (key,)


def _values(record: bytes) -> Iterator[Any]:
    """The index as JSON; as JSON5, if it is no JSON."""
    found = list(values(record))
    if any(isinstance(value, Problem) and value.code == "broken-line" for value in found):
        strict = to_json(record.decode("utf-8", "replace"))
        if strict is not None:
            found = list(values(strict.encode("utf-8", "surrogatepass")))
    yield from found


def agent_of(key: str) -> str | None:
    """The agent's id in `agent:<id>:<rest>`."""
    parts = [part for part in key.split(":") if part]
    return word(parts[1]) if len(parts) >= _KEY_PARTS and parts[0] == "agent" else None


def _session_of(key: object, index: dict[str, Any]) -> str | None:
    """The id of the session that another entry names by its key."""
    entry = index.get(key) if isinstance(key, str) else None
    return word(entry.get("sessionId")) if isinstance(entry, dict) else None


def _channel(entry: dict[str, Any]) -> str | None:
    """Where people talk to it: the channel said, the last one used, or where it came from."""
    for value in (entry.get("channel"), entry.get("lastChannel"), _in(entry, "deliveryContext", "channel")):
        if channel := word(value):
            return channel
    return word(_in(entry, "origin", "provider"))


def _in(entry: dict[str, Any], name: str, key: str) -> Any:
    inner = entry.get(name)
    return inner.get(key) if isinstance(inner, dict) else None
