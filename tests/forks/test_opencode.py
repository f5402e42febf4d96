"""A fork of a session of OpenCode for OpenCode: its own messages and parts, in a document under new ids."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.forking import Made, fork_into
from agents_ledger.capture.sync import Sync
from agents_ledger.exports.agents.opencode_copying import again
from agents_ledger.model.formats import Machine
from agents_ledger.model.writing import Fork, Whole
from tests.capture.folders import GOLDEN, copy, opened

Json = dict[str, Any]
SESSION = "ses_e1aaaaaaaffeAAAAAAAAAAAAAA"
AT = 1_794_800_000_000
MODEL = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
SEALED = {"anthropic": {"signature": "c2VhbA=="}}
TOKENS = {"input": 5, "output": 1, "reasoning": 0, "cache": {"read": 2, "write": 0}}
_LABEL = "opencode:ses_e1c33e60dffedL9O7SIXiATSHB"  # in the golden folder `compaction`
FAILED = {"status": "error", "input": {"filePath": "b"}, "error": "no", "time": {"start": AT, "end": AT}}
PNG = "data:image/png;base64,iVBORw0KGgo="


def forks(ledger: Ledger, folder: Path, label: str) -> list[Made]:
    """A fork of each turn of a session."""
    machine = Machine(str(folder / "home"), {}, "linux")
    Sync(ledger, machine).run([str(folder / "source")])
    return [fork_into(ledger, machine, turn, "opencode") for turn in ledger.ancestry(ledger.head(label) or "")]


def document(made: Made) -> Json:
    told: Json = json.loads(Path(made.path).read_bytes())
    assert told["info"]["id"] == made.agent_session
    return told


def plain(messages: list[Json]) -> list[Json]:
    """Messages without ids of their own, and with places for those that they name; everything else as it is."""
    names = {message["info"]["id"]: f"message {n}" for n, message in enumerate(messages)}

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            own = {"id", "sessionID"} if "sessionID" in value else set()
            return {key: renamed(each) for key, each in value.items() if key not in own}
        if isinstance(value, list):
            return [renamed(each) for each in value]
        return names.get(value, value) if isinstance(value, str) else value

    return [renamed(message) for message in messages]


def asked(number: int, *parts: Json, at: int = 0) -> Json:
    info = {"role": "user", "time": {"created": AT + (at or number * 1000)}, "agent": "plan", "model": MODEL}
    return said(number, info, *parts)


def answered(number: int, *parts: Json, **facts: Any) -> Json:
    made = AT + number * 1000
    told = {"mode": "plan", "agent": "plan", "path": {"cwd": "/home/ada", "root": "/"}, "cost": 0, "tokens": TOKENS}
    info = {"role": "assistant", "time": {"created": made, "completed": made + 500}, "finish": "stop", **MODEL, **told}
    return said(number, {**info, "parentID": message_id(number - 1), **facts}, *parts)


def said(number: int, info: Json, *parts: Json) -> Json:
    of = {"sessionID": SESSION, "messageID": message_id(number)}
    named = [{"id": f"prt_1e{number:04d}{n:04d}00AAAAAAAAAAAAAA", **of, **part} for n, part in enumerate(parts)]
    return {"info": {**info, "id": message_id(number), "sessionID": SESSION}, "parts": named}


def message_id(number: int) -> str:
    return f"msg_1e{number:010d}AAAAAAAAAAAAAA"


def words(text: str, **facts: Any) -> Json:
    return {"type": "text", "text": text, **facts}


def ran(call: str, **state: Any) -> Json:
    done = {"status": "completed", "input": {}, "output": "out", "title": "", "metadata": {}}
    whole = {**done, "time": {"start": AT, "end": AT}, **state}
    return {"type": "tool", "callID": call, "tool": "bash", "state": whole}


def export(folder: Path, *messages: Json, **info: Any) -> list[Json]:
    """A session as `opencode export` writes it."""
    told = {"id": SESSION, "slug": "odd", "projectID": "global", "directory": "/home/ada", "title": "Odd things"}
    facts = {**told, "version": "1.18.33", "time": {"created": AT, "updated": AT}, **info}
    (folder / "source").mkdir()
    (folder / "source" / "one.json").write_text(json.dumps({"info": facts, "messages": messages}))
    return list(messages)


def test_seals_pictures_calls_and_failures_stay_as_they_were(ledger: Ledger, tmp_path: Path) -> None:
    picture = {"type": "file", "mime": "image/png", "url": PNG, "filename": "a.png"}
    shown = {"id": "prt_1e99", "sessionID": SESSION, "messageID": message_id(2), **picture}
    given = export(
        tmp_path,
        asked(1, words("what is this?"), picture),
        answered(
            2,
            {"type": "step-start", "snapshot": "abc"},
            {"type": "reasoning", "text": "let me see", "metadata": SEALED, "time": {"start": AT, "end": AT + 1}},
            words("a picture", metadata=SEALED, time={"start": AT, "end": AT}),
            ran("c1", attachments=[shown], metadata={"sessionId": "ses_other", "count": 2}),
            {"type": "tool", "callID": "c2", "tool": "read", "state": FAILED},
            {"type": "step-finish", "reason": "stop", "cost": 0, "tokens": TOKENS},
        ),
        asked(3, words("and then?")),
        answered(4, words("nothing"), error={"name": "MessageAbortedError", "data": {"message": "stopped"}}),
    )
    first, second = forks(ledger, tmp_path, f"opencode:{SESSION}")
    assert plain(document(first)["messages"]) == plain(given[:2])
    assert plain(document(second)["messages"]) == plain(given)
    assert (first.is_copy, first.losses, second.is_copy) == (True, [], True)
    told = document(first)["messages"][1]
    assert {file["messageID"] for part in told["parts"] for file in part.get("state", {}).get("attachments", [])} == {
        told["info"]["id"]
    }
    text = json.dumps(document(second))
    assert SESSION not in text
    assert not [name for number in range(1, 5) if (name := message_id(number)) in text]


def test_ids_are_new_and_in_order(ledger: Ledger, tmp_path: Path) -> None:
    """OpenCode sorts messages by their times, then by their ids, and parts by their ids; the next ones are greater."""
    export(
        tmp_path,
        asked(1, words("a"), words("b")),
        answered(2, words("c")),
        asked(3, words("d")),
        answered(4, words("e")),
    )
    made = forks(ledger, tmp_path, f"opencode:{SESSION}")[1]
    messages = document(made)["messages"]
    ids = [name for one in messages for name in (one["info"]["id"], *(part["id"] for part in one["parts"]))]
    stamps = [name[4:16] for name in ids]
    assert stamps == sorted(set(stamps))
    assert [one["info"].get("parentID") for one in messages[1::2]] == [one["info"]["id"] for one in messages[::2]]
    assert all(part["messageID"] == one["info"]["id"] for one in messages for part in one["parts"])


def test_a_compaction_names_what_it_kept_by_its_new_id(ledger: Ledger, tmp_path: Path) -> None:
    export(
        tmp_path,
        asked(1, words("one")),
        answered(2, words("first")),
        asked(3, words("two")),
        answered(4, words("second")),
        asked(5, {"type": "compaction", "auto": True, "overflow": False, "tail_start_id": message_id(3)}),
        answered(6, words("so far: one"), summary=True, mode="compaction", agent="compaction"),
        asked(7, words("three")),
        answered(8, words("third")),
    )
    made = forks(ledger, tmp_path, f"opencode:{SESSION}")
    assert [len(document(each)["messages"]) for each in made] == [2, 4, 6, 8]
    messages = document(made[2])["messages"]
    assert messages[4]["parts"][0]["tail_start_id"] == messages[2]["info"]["id"]
    assert messages[5]["info"]["summary"] is True


def test_what_was_cleared_after_the_cut_is_there_again(ledger: Ledger, tmp_path: Path) -> None:
    early, late = ({"start": AT, "end": AT, "compacted": AT + at} for at in (2_900, 4_900))
    export(
        tmp_path,
        asked(1, words("one")),
        answered(2, ran("c1", time=early), ran("c2", time=late)),
        asked(3, words("two")),
        answered(4, words("second")),
        asked(5, words("three")),
    )
    made = forks(ledger, tmp_path, f"opencode:{SESSION}")

    def cleared(each: Made) -> list[bool]:
        return ["compacted" in part["state"]["time"] for part in document(each)["messages"][1]["parts"]]

    assert [cleared(each) for each in made] == [[True, False], [True, True], [True, True]]


@pytest.mark.parametrize(
    ("title", "becomes"), [("Odd things", "Odd things (fork #1)"), ("A (fork #9)", "A (fork #10)")]
)
def test_a_session_keeps_what_it_may_do_and_is_not_taken_for_its_origin(
    title: str, becomes: str, tmp_path: Path
) -> None:
    rule = {"permission": "bash", "pattern": "*", "action": "ask"}
    facts = {"revert": {"messageID": message_id(3)}, "share": {"url": "https://opncd.ai/s/x"}, "cost": 5}
    said = (asked(1, words("a")), answered(2, words("b")), asked(3, words("taken back")))
    export(tmp_path, *said, title=title, permission=[rule], model="odd", **facts)
    with opened(tmp_path / "ledger.db") as ledger:
        (made,) = forks(ledger, tmp_path, f"opencode:{SESSION}")
    assert (made.is_copy, len(document(made)["messages"])) == (True, 2)
    info = document(made)["info"]
    assert (info["title"], info["permission"]) == (becomes, [rule])
    assert not {"revert", "share", "cost", "model"} & info.keys()


@pytest.mark.parametrize("name", ["compaction", "tools-image-and-fork", "subagent", "reverted-and-killed"])
def test_the_rows_of_a_database_come_back(name: str, tmp_path: Path) -> None:
    copy(GOLDEN / "opencode" / name / "source", tmp_path / "source")
    (database,) = tmp_path.glob("source/**/opencode.db")
    with opened(tmp_path / "ledger.db") as ledger:
        Sync(ledger, Machine(str(tmp_path / "home"), {}, "linux")).run([str(tmp_path / "source")])
        for label in [line.session.label for line in ledger.sessions(limit=10)]:
            made = forks(ledger, tmp_path, label)
            for each in made:
                told = document(each)["messages"]
                assert each.is_copy
                home = ledger.get(each.turn_id).turn.session_label or ""
                assert plain(told) == plain(_rows(database, home)[: len(told)])


def _rows(database: Path, label: str) -> list[Json]:
    """The messages of a session, by plain SQL."""
    with closing(sqlite3.connect(database)) as connection:
        session = label.partition(":")[2]
        order = "WHERE session_id = ? ORDER BY time_created, id"
        rows = connection.execute(f"SELECT id, data FROM message {order}", (session,)).fetchall()  # noqa: S608
        parts = connection.execute(
            "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", (session,)
        ).fetchall()
    of = {"sessionID": session}
    return [
        {
            "info": {**json.loads(data), "id": name, **of},
            "parts": [
                {**json.loads(part), "id": own, "messageID": name, **of}
                for own, message, part in parts
                if message == name
            ],
        }
        for name, data in rows
    ]


def test_a_turn_that_opencode_has_deleted_comes_back_from_the_evidence(tmp_path: Path) -> None:
    database, whole = _compacted(tmp_path)
    with opened(tmp_path / "ledger.db") as ledger:
        turns = [made.turn_id for made in forks(ledger, tmp_path, _LABEL)]
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("DELETE FROM message WHERE time_created > ?", (whole[1]["info"]["time"]["created"],))
        machine = Machine(str(tmp_path / "home"), {}, "linux")
        Sync(ledger, machine).run([str(tmp_path / "source")])
        again = [fork_into(ledger, machine, turn, "opencode") for turn in turns]
    assert all(made.is_copy for made in again)
    assert plain(document(again[-1])["messages"]) == plain(whole)


def test_a_turn_that_was_read_while_it_was_written_is_copied_as_it_became(tmp_path: Path) -> None:
    database, whole = _compacted(tmp_path)
    last = (whole[-1]["info"]["id"],)
    with opened(tmp_path / "ledger.db") as ledger, closing(sqlite3.connect(database)) as connection:
        parts = connection.execute("SELECT * FROM part WHERE message_id = ?", last).fetchall()
        with connection:
            connection.execute("DELETE FROM part WHERE message_id = ? AND data NOT LIKE '%step-start%'", last)
        Sync(ledger, Machine(str(tmp_path / "home"), {}, "linux")).run([str(tmp_path / "source")])
        with connection:
            connection.executemany("INSERT OR IGNORE INTO part VALUES (?, ?, ?, ?, ?, ?)", parts)
        made = forks(ledger, tmp_path, _LABEL)
    assert plain(document(made[-1])["messages"]) == plain(whole)


def _compacted(folder: Path) -> tuple[Path, list[Json]]:
    copy(GOLDEN / "opencode" / "compaction" / "source", folder / "source")
    (database,) = folder.glob("source/**/opencode.db")
    return database, _rows(database, _LABEL)


@pytest.mark.parametrize(("name", "count"), [("tree-of-1.1", 4), ("exports", 11), ("tree-of-0.5", 1)])
def test_older_files_and_exports_are_copied_too(name: str, count: int, tmp_path: Path) -> None:
    copy(GOLDEN / "opencode" / name / "source", tmp_path / "source")
    with opened(tmp_path / "ledger.db") as ledger:
        Sync(ledger, Machine(str(tmp_path / "home"), {}, "linux")).run([str(tmp_path / "source")])
        labels = [line.session.label for line in ledger.sessions(limit=10)]
        made = [each for label in labels for each in forks(ledger, tmp_path, label)]
    assert [(each.is_copy, each.losses) for each in made] == [(True, [])] * count
    assert all(document(each)["messages"][0]["info"]["agent"] for each in made)


HOSTILE: dict[str, Any] = {
    "a part of no kind": {"type": "hologram", "text": "x"},
    "a text that is none": {"type": "text", "text": 5},
    "a call without a state": {"type": "tool", "callID": "c", "tool": "bash", "state": "lost"},
    "a call whose input is a list": ran("c", input=[1]),
    "a thought from no time": {"type": "reasoning", "text": "x", "time": {"start": -1}},
    "a compaction that kept no name": {"type": "compaction", "auto": True, "tail_start_id": {"a": []}},
    "half a character": {"type": "text", "text": "\ud800"},
    "a number that is none": {"type": "step-finish", "reason": "x", "cost": float("nan"), "tokens": TOKENS},
    "a compaction that kept what is not there": {"type": "compaction", "auto": True, "tail_start_id": "msg_none"},
}


@pytest.mark.parametrize("part", HOSTILE.values(), ids=HOSTILE)
def test_what_opencode_does_not_take_in_is_told_anew(part: Json, tmp_path: Path) -> None:
    export(tmp_path, asked(1, words("one")), answered(2, words("first"), part), asked(3, words("two")))
    with opened(tmp_path / "ledger.db") as ledger:
        made = forks(ledger, tmp_path, f"opencode:{SESSION}")
    assert not any(each.is_copy for each in made)
    assert [part["text"] for part in document(made[0])["messages"][0]["parts"]] == ["one"]


@pytest.mark.parametrize("data", ["{", "[]", '"text"', ""])
def test_a_row_that_nobody_can_read_is_not_copied(data: str, tmp_path: Path) -> None:
    copy(GOLDEN / "opencode" / "compaction" / "source", tmp_path / "source")
    (database,) = tmp_path.glob("source/**/opencode.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE part SET data = ? WHERE id = (SELECT min(id) FROM part)", (data,))
    with opened(tmp_path / "ledger.db") as ledger:
        Sync(ledger, Machine(str(tmp_path / "home"), {}, "linux")).run([str(tmp_path / "source")])
        (label,) = (line.session.label for line in ledger.sessions(limit=10))
        assert not any(each.is_copy for each in forks(ledger, tmp_path, label))


def test_what_is_said_of_a_session_may_be_anything(tmp_path: Path) -> None:
    odd = {"title": "half \ud800", "slug": 5, "version": [], "permission": "all", "metadata": {"a": "\ud800"}}
    export(tmp_path, asked(1, words("one")), answered(2, words("first")), **odd)
    with opened(tmp_path / "ledger.db") as ledger:
        (made,) = forks(ledger, tmp_path, f"opencode:{SESSION}")
    assert made.is_copy
    assert not {"permission", "metadata"} & document(made)["info"].keys()


def test_an_answer_to_a_question_that_is_gone_is_not_copied(tmp_path: Path) -> None:
    export(tmp_path, asked(1, words("one")), answered(2, words("first"), parentID="msg_gone"), asked(3, words("two")))
    with opened(tmp_path / "ledger.db") as ledger:
        assert not forks(ledger, tmp_path, f"opencode:{SESSION}")[-1].is_copy


def test_a_turn_of_which_not_all_is_there_is_not_copied(tmp_path: Path) -> None:
    export(tmp_path, asked(1, words("one")), answered(2, words("first")), asked(3, words("two")))
    records = {"": (tmp_path / "source" / "one.json").read_bytes()}
    fork = Fork(session=SESSION.replace("A", "B"), at=AT, cwd="/home/ada")
    wanted = frozenset([message_id(1), message_id(2)])
    assert len(list(again(Whole(records, wanted), fork) or ())) == len(wanted) + 2  # and the document around them
    assert again(Whole(records, wanted | {message_id(9)}), fork) is None
    assert again(Whole({}, wanted), fork) is None


def test_an_error_of_no_known_kind_becomes_one(tmp_path: Path) -> None:
    odd = {"name": "Strange", "message": "it broke"}
    export(tmp_path, asked(1, words("one")), answered(2, words("first"), error=odd))
    with opened(tmp_path / "ledger.db") as ledger:
        (made,) = forks(ledger, tmp_path, f"opencode:{SESSION}")
    assert document(made)["messages"][1]["info"]["error"] == {"name": "UnknownError", "data": {"message": "it broke"}}
