"""What our stores write, before the programs they stand in for: pi's SessionManager, clawdbot's and openclaw's code."""

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.sync import Sync
from agents_ledger.formats.pi import bodies
from agents_ledger.model.entries import Usage
from agents_ledger.model.formats import Machine
from agents_ledger.model.routing import Routing, key_for
from agents_ledger.stores.pi import PiFolder, PiSession, PiStore, topic_file
from oracles.box import Box
from oracles.install import JUDGES, NODE, missing
from oracles.ours import context_messages
from oracles.readers import PI_JUDGES, Message, NotInstalled, pi_continues, pi_message, pi_sessions, runtime_keys

AT = 1_772_359_200_000


def answer(content: Any, **more: Any) -> dict[str, Any]:
    return bodies.assistant(content, AT, provider="anthropic", model="m1", usage=Usage(input=9, output=4), **more)


def ask(session: PiSession, name: str) -> str:
    """A turn with thinking, an image, parallel calls of which one fails, and an answer."""
    session.say(bodies.user([bodies.text(f"question {name}"), bodies.image("aGk=", "image/png")], AT))
    calls = [bodies.call(f"{name}-{n}", "read", {"path": f"{n}"}) for n in (1, 2)]
    session.say(answer([bodies.thinking(f"hm {name}", "sig"), bodies.text(f"look {name}"), *calls]))
    session.say(
        bodies.tool_result(f"{name}-1", "read", f"one {name}", AT),
        bodies.tool_result(f"{name}-2", "read", "no such file", AT, is_error=True),
    )
    return session.say(answer(f"answer {name}"))


def tell(store: PiStore) -> None:
    """Everything that a store can write."""
    main = store.session("main", cwd="/project", channel="telegram", origin={"provider": "telegram", "surface": "dm"})
    main.change_model("anthropic", "m1")
    main.change_thinking("high")
    first = ask(main, "one")
    main.bookmark(first, "mark")
    main.mark_turn()
    ask(main, "two")
    main.branch_with_summary(first, "It was left.")
    kept = main.say(bodies.user("kept", AT))
    main.say(answer("yes"), bodies.bash_execution("ls", "a", AT))
    main.note("state", {"n": 1})
    main.inject("hint", "mind the gap")
    main.say(bodies.user("more", AT), answer("more"))
    main.compact("All of it.", kept, 5000, {"readFiles": ["a"], "modifiedFiles": []})
    ask(main, "three")
    store.account("main")
    ask(store.fork("main", "explicit:fork", first), "fork")
    child = store.subagent("main", call_id="three-1", task="look")
    ask(child, "child")
    inner = store.embedded("main", call_id="three-2", task="look")
    inner.say(bodies.user("look", AT), answer("found"))
    topic = "agent:main:telegram:group:-1:topic:7"
    ask(store.session(topic, sessionId="t1", sessionFile=topic_file("t1", "7")), "topic")
    cron = store.session("cron:nightly")
    for number in range(6):
        ask(cron, f"run {number}")
    assert store.cut("cron:nightly", keep=8)
    ask(store.session("cron:nightly"), "after")
    hook = store.session("hook:reset")
    ask(hook, "before")
    ask(store.reset("hook:reset"), "anew")
    ask(store.session("hook:gone"), "gone")
    store.delete("hook:gone")
    store.session("hook:unanswered").say(bodies.user("anybody?", AT))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PiStore]:
    folder = tmp_path_factory.mktemp("state")
    with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        told = PiStore(ledger, str(folder / ".openclaw" / "agents" / "main" / "sessions"))
        tell(told)
        yield told


def live(store: PiStore) -> list[PiSession]:
    return [store.folder.open(path) for path in store.folder.files()]


@pytest.mark.parametrize("judge", PI_JUDGES)
def test_pi_opens_every_file_and_sees_what_the_store_and_the_ledger_see(store: PiStore, judge: str) -> None:
    sessions = live(store)
    archives = sorted(path for path in Path(store.folder.path).iterdir() if ".jsonl." in path.name)
    assert (len(sessions), len(archives)) == (8, 2)
    opened = pi_sessions([*(Path(one.path) for one in sessions), *archives], judge)
    assert [one.error for one in opened] == [None] * len(opened)
    for ours, theirs in zip(sessions, opened, strict=False):
        assert (theirs.header["id"], theirs.header["version"], theirs.leaf) == (ours.id, 3, ours.leaf)
        assert list(theirs.entries) == [*ours.entries()]
        context = ours.context()
        assert list(theirs.messages) == [pi_message(message) for message in context.messages]
        assert (theirs.model, theirs.thinking_level) == (context.model, context.thinking_level)


@pytest.mark.parametrize("judge", PI_JUDGES)
def test_the_ledgers_context_is_what_pi_would_send(store: PiStore, judge: str) -> None:
    ledger = store._ledger  # noqa: SLF001 - the store's own
    sessions = live(store)
    for ours, theirs in zip(sessions, pi_sessions([Path(one.path) for one in sessions], judge), strict=True):
        head = ledger.head(ours.label)
        assert head is not None
        found = context_messages(ledger.context(head))
        if ours.path.endswith(f"{store.entry('cron:nightly')['sessionId']}.jsonl"):
            # The file was cut: it begins where the ledger, which forgets nothing, is in the middle.
            assert len(found) > len(theirs.messages)
            assert plain(found)[-4:] == plain(theirs.messages)[-4:]
            continue
        assert plain(found) == plain(theirs.messages)


def plain(messages: Any) -> list[tuple[Any, ...]]:
    """Who says, thinks and calls what, and what comes back, in this order."""
    told: list[tuple[Any, ...]] = []
    for one in messages:
        if one.role not in ("results", "toolResult"):
            told.append((_role(one), _inner(one.text), one.thinking, one.calls))
        told += [("result", result.text, result.call_id, result.is_error) for result in one.results]
    return told


def _role(message: Message) -> str:
    names = {"assistant": "assistant", "compactionSummary": "summary", "summary": "summary"}
    return names.get(message.role, "user")


def _inner(text: str) -> str:
    """A text without what pi tells around it."""
    for begin, end in (("<summary>\n", "</summary>"), ("Ran `ls`\n```\n", "\n```")):
        if begin in text:
            return text.partition(begin)[2].removesuffix(end)
    return text


@pytest.mark.parametrize("judge", PI_JUDGES)
@pytest.mark.parametrize("is_answered", [True, False])
def test_pi_goes_on_with_our_file_and_we_with_its(tmp_path: Path, judge: str, is_answered: bool) -> None:
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        folder = PiFolder(ledger, str(tmp_path / "sessions"))
        session = folder.begin("/project")
        session.say(bodies.user("first", AT), *([answer("yes")] if is_answered else []))
        pi_continues(Path(session.path), [bodies.user("from pi", AT), answer("pi answers")], judge)
        Sync(ledger, Machine(str(tmp_path), {}, "linux")).run([folder.path])
        session = folder.open(session.path)
        session.say(bodies.user("and we", AT))
        head = ledger.head(session.label)
        texts = [one.text for one in context_messages(ledger.context(head or ""))]
        assert texts == ["first", *(["yes"] if is_answered else []), "from pi", "pi answers", "and we"]
        (theirs,) = pi_sessions([Path(session.path)], judge)
        assert [one.text for one in theirs.messages] == texts
        assert ledger.verify().is_good


def test_openclaw_imports_the_index_and_every_transcript(store: PiStore, box: Box) -> None:
    if why := missing("openclaw"):
        raise NotInstalled(why)
    state = box.home / ".openclaw"
    shutil.copytree(Path(store.folder.path).parents[2], state)
    main = [str(NODE), str(JUDGES["openclaw"].file), "doctor", "--session-sqlite"]
    variables = {"OPENCLAW_STATE_DIR": os.fspath(state)}
    count = len(store.entries())
    seen = box.run([*main, "inspect", "--session-sqlite-all-agents"], variables)
    assert f"{count} legacy entries, 0 sqlite entries, 0 issue(s)" in seen
    done = box.run([*main, "import", "--session-sqlite-all-agents"], variables)
    files = list(store.folder.files())  # one more than there are keys: what `reset` left behind
    lines = sum(len(Path(path).read_bytes().splitlines()) for path in files)
    assert len(files) == count + 1
    assert f"{len(files)} legacy entries, {len(files)} sqlite entries, 0 issue(s)" in done
    assert f"imported={len(files)}/{lines} events" in done


CHATS = [
    {
        "agentId": agent,
        "channel": channel,
        "kind": kind,
        "peer": peer,
        "accountId": account,
        "thread": thread,
        "dmScope": scope,
        "identityLinks": links,
    }
    for agent, channel, (kind, peer), account, thread, scope, links in itertools.product(
        ("main", "My Agent!"),
        ("telegram", "Discord", "matrix", "signal"),
        (("direct", "123"), ("direct", "Alice@Home"), ("group", "-100"), ("group", "AbC="), ("channel", "!Rm:ex.ORG")),
        (None, "Work 2"),
        (None, "T9"),
        ("main", "per-peer", "per-channel-peer", "per-account-channel-peer"),
        ({}, {"Alice": ["telegram:123", "alice@home"]}),
    )
]


@pytest.mark.parametrize("judge", ["clawdbot", "openclaw"])
def test_keys_are_those_that_the_runtimes_make(judge: str) -> None:
    is_old = judge == "clawdbot"  # it knew no accounts, and folded every id
    chats = [one for one in CHATS if not is_old or one["dmScope"] != "per-account-channel-peer"]
    chats = [one for one in chats if not is_old or one["channel"] not in ("matrix", "signal")]
    theirs = runtime_keys(judge, chats)
    assert len(theirs) >= 200
    for chat, key in zip(chats, theirs, strict=True):
        routing = Routing(
            dm_scope=chat["dmScope"],  # type: ignore[arg-type]
            identity_links=chat["identityLinks"],  # type: ignore[arg-type]
            direct_word="dm" if is_old else "direct",
        )
        ours = key_for(
            routing,
            agent=str(chat["agentId"]),
            channel=str(chat["channel"]),
            kind=chat["kind"],  # type: ignore[arg-type]
            peer=str(chat["peer"]),
            account=chat["accountId"],  # type: ignore[arg-type]
            thread=chat["thread"],  # type: ignore[arg-type]
        )
        assert str(ours) == key, chat
