"""A folder with its index of session keys, as chat runtimes have it."""

import json
from pathlib import Path

import pytest

from agents_ledger import Ledger
from agents_ledger.errors import BadInput, NotAllowed, NotFound
from agents_ledger.formats.pi import bodies
from agents_ledger.model.resets import ResetPolicy, Resets
from agents_ledger.model.routing import Routing, key_for
from agents_ledger.stores.pi import PiStore, topic_file
from tests.stores.talk import AT, ask, problems, seen_by_ledger, seen_by_store


@pytest.fixture
def store(ledger: Ledger, tmp_path: Path) -> PiStore:
    return PiStore(ledger, str(tmp_path / "agents" / "main" / "sessions"))


def test_a_key_leads_to_its_session_in_the_file_and_in_the_ledger(ledger: Ledger, store: PiStore) -> None:
    session = store.session("main", cwd="/p", channel="telegram")
    ask(session, "one")
    assert store.session("agent:main:main").id == session.id
    assert seen_by_ledger(ledger, "agent:main:main") == seen_by_store(session)
    row = ledger.session("agent:main:main")
    assert (row.label, row.routing_key) == (session.label, "agent:main:main")
    told = store.account("main")
    assert (told["inputTokens"], told["outputTokens"], told["totalTokens"], told["model"]) == (100, 40, 80, "m1")
    assert list(store.entries()) == ["agent:main:main"]
    assert problems(ledger) == []


def test_messages_of_one_person_meet_and_groups_stay_apart(ledger: Ledger, store: PiStore) -> None:
    routing = Routing()
    chats = [
        ("telegram", "direct", "1"),
        ("discord", "direct", "2"),
        ("telegram", "group", "-1"),
        ("slack", "channel", "c"),
    ]
    keys = [key_for(routing, agent="main", channel=c, kind=k, peer=p) for c, k, p in chats]  # type: ignore[arg-type]
    for number, key in enumerate(keys):
        ask(store.session(key), str(number))
    assert len(store.entries()) == 3
    assert len(ledger.thread(ledger.head("agent:main:main") or "")) == 2
    assert len(ledger.thread(ledger.head("agent:main:telegram:group:-1") or "")) == 1


def test_what_others_wrote_into_the_index_stays(ledger: Ledger, store: PiStore) -> None:
    path = Path(store.index.path)
    path.write_text("""{
      // by hand
      'agent:main:main': {sessionId: 's1', updatedAt: 99999999999999, queueMode: 'steer', nobodyKnows: {a: [1, 2,]},},
      "telegram:group:-5": {"sessionId": "s5"},
    }""")
    store.update("main", inputTokens=5, queueMode=None)
    told = json.loads(path.read_text())
    assert told["agent:main:main"] == {
        "sessionId": "s1",
        "updatedAt": 99999999999999,
        "nobodyKnows": {"a": [1, 2]},
        "inputTokens": 5,
    }
    assert told["telegram:group:-5"] == {"sessionId": "s5"}
    assert [each.name for each in path.parent.iterdir()] == ["sessions.json"]
    path.write_text("{not: json: at all")
    with pytest.raises(BadInput, match="would be lost"):
        store.update("main", inputTokens=6)
    path.write_text("[]")
    with pytest.raises(BadInput, match="not an object"):
        store.entries()
    with pytest.raises(NotFound, match="begin one with session"):
        PiStore(ledger, str(path.parent / "other")).entry("main")


def test_a_reset_begins_anew_under_the_same_key(ledger: Ledger, store: PiStore) -> None:
    old = store.session("main", queueMode="steer")
    ask(old, "one")
    store.account("main")
    new = store.reset("main")
    entry = store.entry("main")
    assert (entry["sessionId"], entry["queueMode"], "inputTokens" in entry) == (new.id, "steer", False)
    ask(new, "two")
    assert seen_by_ledger(ledger, "agent:main:main") == seen_by_store(new)
    assert seen_by_ledger(ledger, old.label) == seen_by_store(old)
    third = store.reset("main", archive=True)
    names = [path.name for path in Path(store.folder.path).iterdir() if path.name.startswith(new.id)]
    assert [name.split(".")[2] for name in names] == ["reset"]
    assert len(ledger.thread(ledger.head(new.label) or "")) == 1
    assert third.id not in (old.id, new.id)
    assert (problems(ledger), ledger.verify().is_good) == ([], True)


def test_a_stale_session_begins_anew_by_the_runtimes_rules(ledger: Ledger, store: PiStore) -> None:
    first = store.current("main", Resets())
    ask(first, "one")
    assert store.current("main", Resets(), lastTo="x").id == first.id
    with store.index.changing() as found:
        found["agent:main:main"]["updatedAt"] = AT
    assert store.current("main", Resets(default=ResetPolicy(mode="never"))).id == first.id
    second = store.current("main", Resets())
    assert second.id != first.id
    assert store.entry("main")["lastTo"] == "x"


def test_a_deleted_session_is_put_aside_and_the_main_one_stays(ledger: Ledger, store: PiStore) -> None:
    with pytest.raises(NotAllowed, match="reset it instead"):
        store.delete("main")
    session = store.session("agent:main:hook:x")
    ask(session, "one")
    aside = store.delete("hook:x")
    assert aside is not None
    assert ".jsonl.deleted." in aside
    assert store.entries() == {}
    assert seen_by_ledger(ledger, session.label)[-1] == "answer one"
    with pytest.raises(NotFound, match="put aside"):
        ask(session, "nobody is there")
    store.session("agent:main:hook:y")
    assert store.delete("hook:y") is None
    with pytest.raises(NotFound):
        store.delete("hook:y")


def test_a_cut_keeps_the_header_a_sound_chain_and_the_whole_beside_it(ledger: Ledger, store: PiStore) -> None:
    session = store.session("main", cwd="/p")
    session.change_model("anthropic", "m1")
    session.change_thinking("high")
    for number in range(8):
        ask(session, str(number))
    store.account("main")
    whole, texts = Path(session.path).read_bytes(), seen_by_store(session)
    thread = [record.turn.id for record in ledger.thread(ledger.head(session.label) or "")]
    aside = store.cut("main", keep=6)
    assert aside is not None
    assert Path(aside).read_bytes() == whole
    assert "inputTokens" not in store.entry("main")
    after = store.session("main")
    assert (after.transcript.header["cwd"], after.context().model, after.context().thinking_level) == (
        "/p",
        "m1",
        "high",
    )
    assert seen_by_store(after) == texts[-6:]  # not the result of a call that is gone
    ask(after, "next")
    assert [record.turn.id for record in ledger.thread(ledger.head(session.label) or "")][:8] == thread
    assert (ledger.counts()["turns"], len(ledger.roots()), problems(ledger)) == (9, 1, [])
    assert ledger.verify().is_good
    assert store.cut("main", keep=400) is None
    assert store.cut("agent:main:main", keep=3) is not None
    assert len([path for path in Path(store.folder.path).iterdir() if ".bak." in path.name]) == 2


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_a_turn_that_is_running_goes_on_after_a_cut(ledger: Ledger, store: PiStore, keep: int) -> None:
    session = store.session("main")
    ask(session, "one")
    session.say(bodies.user("question two", AT))
    session.say(bodies.assistant([bodies.call("c-two", "read", {})], AT, provider="p", model="m"))
    assert store.cut("main", keep) is not None
    session.say(bodies.tool_result("c-two", "read", "result two", AT))
    session.say(bodies.assistant("answer two", AT, provider="p", model="m"))
    assert seen_by_store(session)[-3:] == ["question two", "result two", "answer two"]
    assert seen_by_ledger(ledger, session.label)[-3:] == ["question two", "result two", "answer two"]
    assert (ledger.counts()["turns"], problems(ledger), ledger.verify().is_good) == (2, [], True)


def test_a_fork_has_a_key_of_its_own(ledger: Ledger, store: PiStore) -> None:
    session = store.session("main")
    first = ask(session, "one")
    ask(session, "two")
    fork = store.fork("main", "agent:main:explicit:try", leaf=first)
    ask(fork, "other")
    assert store.entry("explicit:try")["forkedFromTurnId"] == first
    assert store.entry("main")["hasChildren"] is True
    assert (ledger.counts()["turns"], len(ledger.roots())) == (3, 1)
    assert seen_by_ledger(ledger, "agent:main:explicit:try") == seen_by_store(fork)
    with pytest.raises(NotAllowed, match="has a session already"):
        store.fork("main", "explicit:try")


@pytest.mark.parametrize("is_embedded", [False, True])
@pytest.mark.parametrize("place", ["agents/main/sessions", "anywhere"])
def test_a_subagent_and_its_call_know_each_other(ledger: Ledger, tmp_path: Path, place: str, is_embedded: bool) -> None:
    store = PiStore(ledger, str(tmp_path / place))
    parent = store.session("main")
    parent.say(bodies.user("start one", AT))
    call = bodies.call("spawn-1", "task", {"what": "look"})
    parent.say(bodies.assistant([call], AT, provider="p", model="m"))
    if is_embedded:
        inner = store.embedded("main", call_id="spawn-1", task="look")
        inner.say(bodies.user("look", AT), bodies.assistant("found", AT, provider="p", model="m"))
        label = inner.label
    else:
        child = store.subagent("main", call_id="spawn-1", task="look")
        child.say(bodies.user("look", AT), bodies.assistant("found", AT, provider="p", model="m"))
        label = child.label
    parent.say(
        bodies.tool_result("spawn-1", "task", "found", AT), bodies.assistant("done", AT, provider="p", model="m")
    )
    if is_embedded:
        inner.end("completed")
        assert len(list(store.folder.files())) == 1
    else:
        key = next(key for key in store.entries() if ":subagent:" in key)
        assert store.finish(key)["taskStatus"] == "completed"
        assert store.entry(key)["spawnedBy"] == "agent:main:main"
    row = ledger.session(label)
    spawned = ledger.get(ledger.head(parent.label) or "").calls[0]
    assert (row.parent_session_label, row.spawn_tool_call_id) == (parent.label, spawned.id)
    assert (row.is_subagent, spawned.native_id) == (1, "spawn-1")
    assert seen_by_ledger(ledger, label) == ["look", "found"]
    texts = seen_by_store(store.session("main"))
    assert texts == ["start one", "found", "done"]
    assert (problems(ledger), ledger.verify().is_good, ledger.counts()["sessions"]) == ([], True, 2)


def test_a_topic_has_its_own_file_and_nothing_is_written_outside(store: PiStore) -> None:
    key = "agent:main:telegram:group:-1:topic:4/2"
    session = store.session(key, sessionId="s1", sessionFile=topic_file("s1", "4/2"))
    ask(session, "one")
    assert Path(session.path).name == "s1-topic-4%2F2.jsonl"
    assert store.session(key).entries() == session.entries()
    with pytest.raises(NotAllowed, match="in its own folder only"):
        store.session("hook:evil", sessionFile="../../outside.jsonl")
