"""AgentUse's folders, written by the store: as the reader reads them, and in the ledger at once."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agents_ledger import Ledger
from agents_ledger.errors import NotFound
from agents_ledger.formats.agentuse import FORMAT, writing
from agents_ledger.ledger.env import Env
from agents_ledger.model.entries import Usage
from agents_ledger.model.formats import Source
from agents_ledger.stores.agentuse import AgentUseSession, AgentUseStore, root_of
from tests.stores.talk import problems

GOLDEN = Path(__file__).parents[1] / "golden" / "agentuse"
FOLDERS = sorted(path.parent for path in GOLDEN.rglob("session.json"))


@pytest.fixture
def store(ledger: Ledger, tmp_path: Path) -> AgentUseStore:
    return AgentUseStore(ledger, str(tmp_path / "agentuse"))


def begun(store: AgentUseStore) -> AgentUseSession:
    return store.begin("Social/Quotes/create", model="anthropic:claude-x", root="/project", name="Quotes")


# what is written is read the same


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.relative_to(GOLDEN).parts[0]}/{path.name}")
def test_a_session_of_the_real_program_is_the_same_when_it_is_written_again(folder: Path, tmp_path: Path) -> None:
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in own_files(folder)}
    values = {name: value for name, data in files.items() if (value := json_object(name, data)) is not None}
    others = {name: data for name, data in files.items() if name not in values and "/artifact/" in name}
    again = AgentUseSession(str(tmp_path / folder.name), {"id": folder.name[:26]}, Env(), lambda _paths: None)
    for name, value in values.items():
        again.write(name, value)
    written = {name: Path(again.path(*name.split("/"))).read_bytes() for name in values}
    assert told(folder, {**written, **others}) == told(folder, {**{name: files[name] for name in values}, **others})
    assert again.contents().session == values["session.json"]


def own_files(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and "subagent" not in path.relative_to(folder).parts
    )


def json_object(name: str, data: bytes) -> dict[str, Any] | None:
    if not name.endswith(".json") or "/artifact/" in name:
        return None
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def told(folder: Path, files: dict[str, bytes]) -> list[Any]:
    reader = FORMAT.reader(Source(str(folder), "file"))
    for name, data in sorted(files.items()):
        assert list(reader.read(data, name)) == []
    return [(type(event).__name__, msgspec.json.decode(msgspec.json.encode(event))) for event in reader.end()]


# as it goes


def test_an_exchange_with_every_kind_of_part(ledger: Ledger, store: AgentUseStore) -> None:
    session = begun(store)
    session.keep_tools([{"name": "read", "description": "reads", "inputSchema": {"type": "object"}}])
    exchange = session.exchange("Write quotes.", user="Three, please.", system=["Be brief."])
    assert [row.content for row in turn(ledger, session).messages] == ["Be brief.", "Write quotes.\n\nThree, please."]
    exchange.file("file:///a.txt", "text/plain", "a.txt")
    exchange.mention("helper", {"value": "@helper", "start": 0, "end": 7})
    exchange.start_step()
    exchange.reasoning("I should look.", {"signature": "s"})
    good = exchange.call("read", {"path": "a"}, "call-1", "a title")
    assert [(call.native_id, call.status) for call in turn(ledger, session).calls] == [("call-1", "abandoned")]
    assert turn(ledger, session).messages[-1].thinking == "I should look."
    good.run()
    bad = exchange.call("read", {"path": "b"}, "call-2").run()
    good.complete("content")
    assert [call.status for call in turn(ledger, session).calls] == ["completed", "abandoned"]  # so far
    bad.fail("no such file")
    exchange.finish_step(Usage(input=10, output=5, cached=3), 0.01)
    exchange.start_step()
    exchange.text("Here they are.")
    exchange.log("info", "done")
    exchange.compact("limit", (1000, 100), (9, 3))
    exchange.text("And one more.")
    exchange.finish(Usage(input=20, output=9, cached=3), 0.02)
    session.finish()
    record = ledger.thread(ledger.head(session.label) or "")[0]
    assert [(call.status, call.result_json, call.error) for call in record.calls] == [
        ("completed", '"content"', None),
        ("failed", None, "no such file"),
    ]
    assert sum(each.turn.total_tokens or 0 for each in ledger.thread(ledger.head(session.label) or "")) > 0
    kinds = [part.value["type"] for part in session.contents().messages[0].parts]
    assert kinds[:2] == ["file", "agent"]
    assert set(kinds) == {
        *("file", "agent", "step-start", "reasoning", "tool", "step-finish", "text", "log", "compaction"),
    }
    assert (problems(ledger), ledger.verify().is_good) == ([], True)
    assert session.info["status"] == "completed"


def turn(ledger: Ledger, session: AgentUseSession) -> Any:
    return ledger.get(ledger.head(session.label) or "")


def test_subagents_are_nested_and_linked_with_their_calls(ledger: Ledger, store: AgentUseStore) -> None:
    session = begun(store)
    exchange = session.exchange("Do it.")
    call = exchange.call("subagent__looker", {"task": "look"}).run()
    child = exchange.subagent(call, "looker")
    inner = child.exchange("Look.")
    deeper = inner.call("subagent__deeper", {"task": "dig"}).run()
    grandchild = inner.subagent(deeper, "deeper")
    with grandchild.together():
        last = grandchild.exchange("Dig.")
        last.text("Dug.")
        last.finish()
        grandchild.finish()
    deeper.complete("Dug.")
    inner.finish(error={"message": "too deep", "type": "Error"})
    child.finish("error", {"message": "too deep", "code": "E"})
    call.fail("too deep")
    assert grandchild.folder.startswith(f"{child.folder}/subagent/")
    rows = {each.session.label: each.session for each in ledger.sessions()}
    assert rows[child.label].parent_session_label == session.label
    assert rows[grandchild.label].parent_session_label == child.label
    assert rows[child.label].spawn_tool_call_id == turn(ledger, session).calls[0].id
    assert turn(ledger, child).turn.status == "failed"
    assert [each.id for each in store.subagents(session)] == [child.id]
    assert [each.id for each in store.subagents(child)] == [grandchild.id]
    assert store.open(grandchild.id).contents().session["parentSessionID"] == child.id
    assert problems(ledger) == []


def test_sessions_are_found_by_their_project(store: AgentUseStore, tmp_path: Path) -> None:
    session = begun(store)
    other = store.begin("b", model="m", root="/elsewhere", trigger="scheduled", config={"maxSteps": 3})
    folder = Path(session.folder)
    assert folder.name == f"{session.id}-social-quotes-create"
    assert folder.parents[1].name == hashlib.sha256(b"/project").hexdigest()[:16]
    assert [each.id for each in store.sessions("/project")] == [session.id]
    assert [each.id for each in store.sessions()] == [session.id, other.id]
    opened = store.open(session.id)
    first = opened.exchange("one")
    second = opened.exchange("two")
    assert [each.id for each in store.open(session.id).exchanges()] == [first.id, second.id]
    assert opened.read(f"{first.id}/message.json")["user"] == {"prompt": {"task": "one"}}
    with pytest.raises(NotFound):
        store.open("01M7AAAAAAAAAAAAAAAAAAAAA1")
    with pytest.raises(NotFound):
        opened.read("context.json")
    opened.keep_context([{"role": "user", "content": "one"}])
    assert opened.contents().context["version"] == 1
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "inside").mkdir()
    assert root_of(str(tmp_path / "repo" / "inside")) == str((tmp_path / "repo").resolve())
    assert [path.name for path in folder.rglob("*.tmp")] == []


def test_odd_texts_are_written_as_they_are() -> None:
    assert b"\\ud800" in writing.text_of({"half": "\ud800"})
    assert writing.text_of({"a": "ü"}) == '{\n  "a": "ü"\n}'.encode()
    assert writing.folder_name("X", "///") == "X-agent"
