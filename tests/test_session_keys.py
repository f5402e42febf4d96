"""Session keys: the table of docs/session-keys.md, round trips, and which messages share a conversation."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_ledger.errors import BadInput
from agents_ledger.model.resets import ResetPolicy, Resets, is_fresh
from agents_ledger.model.routing import (
    Routing,
    cron_key,
    hook_key,
    key_for,
    linked_peer,
    main_key,
    merged_entity,
    nexus_key,
    store_key,
    subagent_key,
)
from agents_ledger.model.session_keys import SessionKey, meaning, parse, spell

TABLE = Path(__file__).parents[1] / "docs" / "session-keys.md"
ROWS = re.findall(r"(?m)^\| `(\S+)` \| ([^|]+) \| (\w+) \| (shared|apart) \| (.+) \|$", TABLE.read_text("utf-8"))


def test_the_table_has_keys_of_both_eras_and_every_kind() -> None:
    assert len(ROWS) >= 80
    assert len(ROWS) == TABLE.read_text("utf-8").count("\n| `"), "a row that is written otherwise is judged by nobody"
    assert len({row[0] for row in ROWS}) == len(ROWS)
    assert {row[1] for row in ROWS} == {"clawdbot", "openclaw", "before agents", "nexus"}
    kinds = SessionKey.__annotations__["kind"].__args__
    assert {row[2] for row in ROWS} == set(kinds)


@pytest.mark.parametrize(("text", "writer", "kind", "sharing", "means"), ROWS, ids=[row[0] for row in ROWS])
def test_a_key_of_the_table_means_what_it_says(text: str, writer: str, kind: str, sharing: str, means: str) -> None:
    key = parse(text)
    assert str(key) == text
    assert (key.kind, key.is_shared, meaning(key)) == (kind, sharing == "shared", means)
    assert (key.era == "nexus") == (writer == "nexus")
    assert writer in ("before agents", "nexus") or key.agent is not None
    assert writer == "openclaw" or key.word != "direct"


# round trips

_WORD = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,12}", fullmatch=True)
_ID = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@given(st.text(max_size=80))
def test_any_text_has_one_spelling(text: str) -> None:
    spelled = spell(parse(text))
    assert spell(parse(spelled)) == spelled
    assert parse(spelled) == parse(text) or parse(text).kind == "other"
    assert meaning(parse(text))


@given(
    agent=_WORD,
    channel=_WORD,
    kind=st.sampled_from(["direct", "group", "channel", "room"]),
    peer=_ID,
    account=st.none() | _WORD,
    thread=st.none() | _ID,
    scope=st.sampled_from(["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]),
    word=st.sampled_from(["dm", "direct"]),
)
def test_what_is_made_is_read_the_same(
    agent: str, channel: str, kind: str, peer: str, account: str | None, thread: str | None, scope: str, word: str
) -> None:
    routing = Routing(dm_scope=scope, direct_word=word)  # type: ignore[arg-type]
    key = key_for(routing, agent=agent, channel=channel, kind=kind, peer=peer, account=account, thread=thread)  # type: ignore[arg-type]
    again = parse(str(key))
    assert again == key
    assert key.agent == agent
    assert parse(str(key).upper()).agent == agent
    plain = not (set(peer + (thread or "")) & set(": ")) and peer.strip() == peer and (thread or "x").strip() == thread
    if plain and kind != "direct" and channel not in ("cron", "hook", "subagent", "acp", "dashboard", "explicit"):
        folded = peer if channel == "matrix" and kind != "room" else peer.lower()
        assert (key.kind, key.channel, key.id) == (kind, channel, peer if channel == "signal" else folded)


@given(entity=_WORD, persona=st.none() | _WORD, platform=_WORD, container=_WORD, thread=st.none() | _WORD)
def test_keys_of_nexus_are_read_the_same(
    entity: str, persona: str | None, platform: str, container: str, thread: str | None
) -> None:
    direct = nexus_key(entity=entity, persona=persona)
    assert parse(str(direct)) == direct
    assert (direct.kind, direct.id, direct.persona, direct.is_shared) == ("direct", entity, persona, True)
    group = nexus_key(platform=platform, container=container, persona=persona, thread=thread)
    assert parse(str(group)) == group
    assert (group.channel, group.id, group.persona, group.thread) == (platform, container, persona, thread)


# who shares a conversation


def test_direct_messages_meet_over_all_channels_unless_they_are_parted() -> None:
    def keys(routing: Routing) -> set[str]:
        chats = [("telegram", "1", None), ("discord", "2", None), ("telegram", "1", "work")]
        return {
            str(key_for(routing, agent="main", channel=channel, kind="direct", peer=peer, account=account))
            for channel, peer, account in chats
        }

    assert keys(Routing()) == {"agent:main:main"}
    assert keys(Routing(dm_scope="per-peer")) == {"agent:main:direct:1", "agent:main:direct:2"}
    assert len(keys(Routing(dm_scope="per-channel-peer"))) == 2
    assert len(keys(Routing(dm_scope="per-account-channel-peer"))) == 3
    links = {"alice": ["telegram:1", "discord:2"]}
    assert keys(Routing(dm_scope="per-peer", identity_links=links)) == {"agent:main:direct:alice"}
    assert len(keys(Routing(dm_scope="per-channel-peer", identity_links=links))) == 2  # linked, but by channel
    assert keys(Routing(identity_links=links)) == {"agent:main:main"}


def test_groups_channels_threads_jobs_and_hooks_are_apart() -> None:
    routing = Routing()
    chats = [
        key_for(routing, agent="main", channel="telegram", kind="group", peer="-1"),
        key_for(routing, agent="main", channel="telegram", kind="group", peer="-2"),
        key_for(routing, agent="main", channel="discord", kind="channel", peer="-1"),
        key_for(routing, agent="main", channel="discord", kind="channel", peer="-1", thread="7"),
        key_for(routing, agent="main", channel="slack", kind="direct", peer="u1", thread="7"),
        key_for(routing, agent="other", channel="telegram", kind="group", peer="-1"),
        cron_key("main", "nightly"),
        cron_key("main", "nightly", "r1"),
        hook_key("main", "github"),
        subagent_key(main_key(routing, "main"), "u1"),
        subagent_key(parse("agent:main:subagent:u1"), "u2"),
        subagent_key(parse("dm:ent_1"), "W1"),
    ]
    assert len({str(key) for key in chats}) == len(chats)
    assert not any(key.is_shared for key in chats)
    assert [key.depth for key in chats[-3:]] == [1, 2, 1]
    assert str(chats[-1]) == "worker:W1"
    assert str(chats[7].parent) == "agent:main:cron:nightly"
    assert [key.reset_type for key in chats[:5]] == ["group", "group", "group", "thread", "thread"]
    shared = key_for(Routing(group_scope="main"), agent="main", channel="telegram", kind="group", peer="-1")
    assert str(shared) == "agent:main:main"


def test_a_store_takes_keys_without_an_agent_as_its_agents() -> None:
    assert str(store_key("main", "Atlas")) == "agent:atlas:main"
    assert str(store_key("", "main", Routing(main_key="home"))) == "agent:main:home"
    assert str(store_key("telegram:group:-1", "main")) == "agent:main:telegram:group:-1"
    assert str(store_key("cron:x", "a b")) == "agent:a-b:cron:x"
    assert str(store_key("global", "main")) == "global"
    assert str(store_key("agent:x:main", "main")) == "agent:x:main"
    assert str(store_key("dm:Ent_1", "main")) == "dm:Ent_1"


def test_people_are_found_by_their_ids_and_entities_by_their_merges() -> None:
    links = {"": ["1"], "bob": [], "alice": ["Telegram:1", "9"]}
    assert linked_peer(links, "telegram", "1") == "alice"
    assert linked_peer(links, "discord", "9") == "alice"
    assert linked_peer(links, "discord", "1") is None
    assert linked_peer(links, "discord", "") is None
    assert merged_entity({"e1": "e2", "e2": "e3"}, "e1") == "e3"
    assert str(nexus_key(entity="e1", persona="atlas", merges={"e1": "e2"})) == "dm:e2:persona:atlas"
    with pytest.raises(BadInput, match="circle"):
        merged_entity({"a": "b", "b": "a"}, "a")
    with pytest.raises(BadInput, match="needs an entity"):
        nexus_key(platform="discord")
    with pytest.raises(BadInput, match="without colons"):
        cron_key("main", "a:b")


# when they begin anew

_HOUR = 3_600_000
_NOON = 1_772_366_400_000  # 2026-03-01, 12:00 UTC


@pytest.mark.parametrize(
    ("policy", "hours_ago", "fresh"),
    [
        (ResetPolicy(), 7.9, True),
        (ResetPolicy(), 8.1, False),  # it was before four
        (ResetPolicy(at_hour=13), 22.9, True),  # today's thirteenth hour has not come
        (ResetPolicy(at_hour=13), 23.1, False),
        (ResetPolicy(at_hour=13, utc_offset_minutes=60), 0.1, False),  # there it has just begun
        (ResetPolicy(at_hour=99), 12.9, True),
        (ResetPolicy(idle_minutes=30), 0.4, True),
        (ResetPolicy(idle_minutes=30), 0.6, False),
        (ResetPolicy(mode="idle"), 0.9, True),
        (ResetPolicy(mode="idle"), 1.1, False),
        (ResetPolicy(mode="idle", idle_minutes=0), 0.01, True),
        (ResetPolicy(mode="never"), 9999, True),
    ],
)
def test_a_conversation_is_fresh_until_the_hour_or_the_pause(
    policy: ResetPolicy, hours_ago: float, fresh: bool
) -> None:
    assert is_fresh(policy, _NOON - int(hours_ago * _HOUR), _NOON) is fresh


def test_a_channel_has_its_own_rule_then_the_kind_of_conversation() -> None:
    daily, idle, never = ResetPolicy(), ResetPolicy(mode="idle"), ResetPolicy(mode="never")
    resets = Resets(default=daily, by_type={"group": idle, "thread": never}, by_channel={"slack": never})
    keys = ["agent:a:main", "agent:a:telegram:group:1", "agent:a:telegram:group:1:topic:2", "agent:a:slack:group:1"]
    assert [resets.of(parse(key)) for key in keys] == [daily, idle, never, never]
