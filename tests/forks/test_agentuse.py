"""Forks in AgentUse's folders: what becomes of what, what is kept of its own, what is known again."""

import json
from collections.abc import Iterable, Iterator
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.forking import Made, fork_into
from agents_ledger.capture.place import drafted_folder
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.capture.resuming import opened as resumed
from agents_ledger.capture.sync import Sync
from agents_ledger.errors import BadInput, StoreFull
from agents_ledger.formats.agentuse.copying import again, own_id, wrote
from agents_ledger.formats.agentuse.telling import anew
from agents_ledger.ledger import written
from agents_ledger.model.formats import Machine
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Role, Story, Summary, Text, Thinking
from agents_ledger.model.writing import Folder, Fork, Line, Losses
from agents_ledger.stores.agentuse import AgentUseStore
from tests.capture.folders import GOLDEN, assert_sound, opened
from tests.forks.going_on import go_on

AT = 1_790_000_000_000
SESSION = "01M7HHHZP4CGS4GZHC6CFCEQN4"
FORK = Fork(session=SESSION, at=AT + 9_000, cwd="/repo/inside", root="/repo")
Json = dict[str, Any]


def entry(role: Role, *blocks: Block, at: int = AT) -> Entry:
    return Entry(role=role, blocks=blocks, turn_id="T", at=at)


def told(*entries: Entry, losses: Losses | None = None, **facts: Any) -> dict[str, Json]:
    story = Story(turn_id="T", at=AT, entries=iter(entries), **facts)
    return decoded(anew(story, FORK, losses or Losses()))


def decoded(lines: Iterable[Line]) -> dict[str, Json]:
    return {line.file: json.loads(line.data) for line in lines}


def parts(files: dict[str, Json]) -> list[Json]:
    """Parts in the order in which AgentUse takes them."""
    found = [value for name, value in files.items() if "/part/" in name]
    return sorted(found, key=lambda part: (_start(part), part["id"]))


def _start(part: Json) -> int:
    time = part.get("state", part).get("time")
    ulid = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    letters = part["id"][:10]
    return int(time["start"] if time else sum(ulid.index(each) * 32 ** (9 - at) for at, each in enumerate(letters)))


def kinds(files: dict[str, Json]) -> list[str]:
    return [part["type"] for part in parts(files) if not part["type"].startswith("step-")]


def message(files: dict[str, Json]) -> Json:
    return next(value for name, value in files.items() if name.endswith("/message.json"))


def test_questions_are_the_task_and_then_parts_of_a_user() -> None:
    files = told(entry("user", Text("one")), entry("assistant", Text("1")), entry("user", Text("two"), Text("more")))
    assert message(files)["user"]["prompt"] == {"task": "one"}
    assert [(part.get("role"), part["text"]) for part in parts(files) if part["type"] == "text"] == [
        (None, "1"),
        ("user", "two\n\nmore"),
    ]
    assert files["session.json"]["project"] == {"root": "/repo", "cwd": "/repo/inside"}
    assert files["session.json"]["agent"]["id"] == "fork"
    assert files["tools.json"] == {"tools": []}


def test_parallel_calls_run_at_the_same_time() -> None:
    calls = (Call("a", "tools__bash", {"command": "x"}), Call("b", "tools__bash", {"command": "y"}))
    results = [entry("tool", Result(name, "tools__bash", (Text(name),)), at=AT + 50) for name in "ba"]
    files = told(entry("user", Text("?")), entry("assistant", Text("!"), *calls), *results, origin="agentuse")
    first, second = (part["state"] for part in parts(files) if part["type"] == "tool")
    assert (first["output"], second["output"]) == ("a", "b")
    assert first["time"]["start"] < second["time"]["start"] < first["time"]["end"] == second["time"]["end"]


def test_a_failed_call_and_one_without_a_result_are_errors() -> None:
    calls = (Call("a", "tools__bash", {}), Call("b", "tools__bash", {}))
    failed = Result("a", "tools__bash", (Text("no such file"), Image("image/png", "QQ==")), is_error=True)
    losses = Losses()
    files = told(
        entry("user", Text("?")), entry("assistant", *calls), entry("tool", failed), origin="agentuse", losses=losses
    )
    states = [part["state"] for part in parts(files) if part["type"] == "tool"]
    assert [(state["status"], state["error"]) for state in states] == [
        ("error", "no such file\n[image: image/png]"),
        ("error", ""),
    ]
    assert [loss.code for loss in losses.listed()] == ["image-left-out"]


def test_thinking_and_pictures_are_kept_and_reported_as_not_sent() -> None:
    losses = Losses()
    thought, picture = Thinking("hm", "sealed", api="anthropic"), Image("image/png", "QQ==")
    files = told(entry("user", picture), entry("assistant", thought, Text("!")), losses=losses)
    assert kinds(files) == ["file", "reasoning", "text"]
    assert parts(files)[0]["url"] == "data:image/png;base64,QQ=="
    assert message(files)["user"]["prompt"]["task"] == "[image: image/png]"
    assert {loss.code for loss in losses.listed()} == {"image-left-out", "thinking-left-out"}


def test_a_summary_is_the_task() -> None:
    files = told(entry("user", Text("next")), summary=Summary("what was", "S", AT))
    assert message(files)["user"]["prompt"] == {"task": "what was"}
    assert [part["text"] for part in parts(files)] == ["next"]


@pytest.mark.parametrize("entries", [(), (entry("assistant", Text("hello")),)])
def test_a_story_without_a_question_has_a_prompt_all_the_same(entries: tuple[Entry, ...]) -> None:
    assert message(told(*entries))["user"]["prompt"]["task"] == "[the conversation goes on]"


def test_its_own_system_prompt_and_agent_stay() -> None:
    fork = Fork(session=SESSION, at=AT, cwd="/repo", persona="social/quotes")
    facts = {"agent": {"id": "social/quotes", "name": "Quotes", "filePath": "/repo/q.agentuse"}}
    story = Story(turn_id="T", at=AT, entries=iter(()), origin="agentuse", system="Be brief.", facts=facts)
    files = decoded(anew(story, fork, Losses()))
    assert message(files)["assistant"]["system"] == ["Be brief."]
    assert files["session.json"]["agent"]["filePath"] == "/repo/q.agentuse"


def test_ids_tell_whose_they_are() -> None:
    files = told(entry("user", Text("?")), entry("assistant", Text("!")))
    assert all(wrote(SESSION, part["id"]) for part in parts(files))
    assert not any(wrote("01M7HHHZW8S1RP5ANXY90X07F8", part["id"]) for part in parts(files))
    assert wrote(SESSION, own_id(AT, SESSION, 63))
    assert not wrote(SESSION, "toolu_1")


def golden(name: str) -> dict[str, bytes]:
    folder = next((GOLDEN / "agentuse" / name / "source").rglob("session.json")).parent
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and "subagent" not in file.relative_to(folder).parts
    }


def test_a_copy_ends_at_the_turn_and_changes_nothing_but_ids() -> None:
    files = golden("resumed")
    given = sorted(
        (name for name in files if "/part/" in name), key=lambda name: (_start(json.loads(files[name])), name)
    )
    for cut in (3, len(given)):
        lines = list(again(Folder(files, frozenset(given[:cut])), FORK) or ())
        found = decoded(lines)
        assert [_anonymous(part) for part in parts(found)] == [
            _anonymous(json.loads(files[name])) for name in given[:cut]
        ]
        assert all(part["sessionID"] == SESSION for part in parts(found))
        assert message(found)["assistant"]["tokens"]["input"] == 0
        assert found["tools.json"] == json.loads(files["tools.json"])


def test_parts_of_one_millisecond_stay_apart_and_in_order() -> None:
    files = golden("handwritten")
    start = json.loads(next(data for name, data in files.items() if name.endswith("message.json")))["time"]["created"]
    names = sorted(name for name in files if "/part/" in name)
    for name in names:
        part = json.loads(files[name])
        part.get("state", part)["time"]["start"] = start
        files[name] = json.dumps(part).encode()
    found = decoded(again(Folder(files, frozenset(names)), FORK) or ())
    assert [_anonymous(part) for part in parts(found)] == [_anonymous(json.loads(files[name])) for name in names]
    more = {f"{names[0][:-5]}{number}.json": files[names[0]] for number in range(40)}
    assert again(Folder({**files, **more}, frozenset(names)), FORK) is None  # told in another way


def _anonymous(part: Json) -> Json:
    return {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}


def test_a_copy_behind_a_compaction_needs_the_context_of_that_time() -> None:
    files = golden("every-part")
    names = [name for name in files if "/part/" in name]
    whole = again(Folder(files, frozenset(names)), FORK)
    assert whole is not None
    assert "context.json" in decoded(line for line in whole if line.file == "context.json")
    without = {name: data for name, data in files.items() if name != "context.json"}
    assert again(Folder(without, frozenset(names)), FORK) is None
    assert again(Folder(files, frozenset({"elsewhere"})), FORK) is None
    assert again(Folder({}, frozenset()), FORK) is None


@pytest.fixture
def home(tmp_path: Path) -> Machine:
    (tmp_path / "home").mkdir()
    return Machine(str(tmp_path / "home"), {}, "linux")


CHAT = GOLDEN / "claude-code" / "chat-with-tools" / "source"


def forked(ledger: Ledger, home: Machine) -> Made:
    Sync(ledger, home).run([str(CHAT)])
    return fork_into(ledger, home, ledger.sessions(limit=1)[0].session.thread_id or "", "agentuse")


def test_what_the_store_adds_is_attached(ledger: Ledger, home: Machine) -> None:
    made = forked(ledger, home)
    store = AgentUseStore(ledger, f"{home.home}/.local/share/agentuse")
    exchange = store.open(made.agent_session).exchanges()[0]
    exchange.text("And now?", role="user")
    exchange.call("tools__bash", {"command": "date"}).run().complete("today")
    exchange.text("Today.")
    path = ledger.ancestry(ledger.head(made.session) or "")
    assert path[:-1] == ledger.ancestry(made.turn_id)
    record = ledger.get(path[-1])
    assert [row.content for row in record.messages] == ["And now?", None, "Today."]
    assert [call.result_json for call in record.calls] == ['"today"']
    assert Sync(ledger, home).run([home.home]).new_turns == 0
    assert_sound(ledger)


def test_a_rebuilt_ledger_has_the_same_fork(tmp_path: Path, home: Machine) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        made = forked(ledger, home)
        go_on(made, "and then?")
        Sync(ledger, home).run([home.home])
        assert rebuild(ledger, f"sqlite:///{tmp_path}/again.db").same


def test_a_folder_is_put_in_its_place_whole_or_not_at_all(tmp_path: Path) -> None:
    def files() -> Iterator[tuple[str, bytes]]:
        yield "a/part.json", b"1"
        raise OSError(ENOSPC, "No space left on device")

    with pytest.raises(StoreFull), drafted_folder(tmp_path / "new", "n", files()):
        pytest.fail("it was not written")
    for content in (b"first", b"second"):
        with drafted_folder(tmp_path / "new", "n", [("a/part.json", content)]) as draft:
            if content == b"first":
                draft.publish()
            else:
                with pytest.raises(BadInput, match="there already"):
                    draft.publish()
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    assert (tmp_path / "new" / "a" / "part.json").read_bytes() == b"first"


def test_it_is_known_at_once_and_resumed_by_its_folder(ledger: Ledger, home: Machine) -> None:
    made = forked(ledger, home)
    assert ledger.head(made.session) == made.turn_id
    with ledger.database.read() as tx:
        assert written.begun(tx, made.session) is not None
    for _ in range(2):
        assert resumed(ledger, made.session).command == ("agentuse", "run", "--session-id", made.agent_session)
        assert resumed(ledger, made.session).path == made.path
        Sync(ledger, home).run([home.home])
    with pytest.raises(BadInput, match="no agent"):
        fork_into(ledger, home, made.turn_id, "agentabuse")
