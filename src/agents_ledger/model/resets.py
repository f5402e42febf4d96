"""When a conversation of a chat runtime begins anew by itself: each day at an hour, or after a pause."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from agents_ledger.model.session_keys import SessionKey

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS


class ResetPolicy(Struct, frozen=True, kw_only=True):
    """The rule for one kind of conversation; the default is clawdbot's: daily at four."""

    mode: Literal["daily", "idle", "never"] = "daily"
    at_hour: int = 4
    idle_minutes: int | None = None  # counts in the mode "daily", too, where it is given
    utc_offset_minutes: int = 0  # of the clock that `at_hour` is meant by


class Resets(Struct, frozen=True, kw_only=True):
    """A runtime's rules: by channel, else by what the conversation is (dm, group, thread), else one for all."""

    default: ResetPolicy = ResetPolicy()
    by_type: Mapping[str, ResetPolicy] = {}
    by_channel: Mapping[str, ResetPolicy] = {}

    def of(self, key: SessionKey) -> ResetPolicy:
        """The rule for a conversation."""
        found = self.by_channel.get(key.channel or "")
        return found or self.by_type.get(key.reset_type) or self.default


def is_fresh(policy: ResetPolicy, updated_at: int, now: int) -> bool:
    """Whether a conversation goes on that was last used at a time (Unix ms)."""
    if policy.mode == "never":
        return True
    idle = policy.idle_minutes
    if idle is None and policy.mode == "idle":
        idle = 60
    if idle is not None and now > updated_at + max(idle, 1) * _MINUTE_MS:
        return False
    return policy.mode == "idle" or updated_at >= _last_reset(policy, now)


def _last_reset(policy: ResetPolicy, now: int) -> int:
    offset = policy.utc_offset_minutes * _MINUTE_MS
    local = now + offset
    today = local - local % _DAY_MS + min(max(policy.at_hour, 0), 23) * _HOUR_MS
    return (today if today <= local else today - _DAY_MS) - offset
