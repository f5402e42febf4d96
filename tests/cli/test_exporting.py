"""`ldg export --format` and `ldg fork --into` an API or a document: what they print, write and refuse."""

import json
from pathlib import Path

import pytest

from agents_ledger.exports.targets import TARGETS
from tests.cli.conftest import Ldg
from tests.exports.schemas import assert_valid


@pytest.fixture
def label(ldg: Ldg) -> str:
    return str(ldg.json("sessions")["sessions"][0]["label"])


def test_a_session_is_printed_in_every_format(ldg: Ldg, label: str) -> None:
    head = ldg.json("head", label)["turn_id"]
    for target in TARGETS:
        said = ldg.text("export", label, "--format", target)
        assert said == ldg.text("fork", label, "--into", target)
        assert target in ("html", "markdown", "jsonl") or json.loads(said)
        assert target not in ("html", "markdown", "jsonl") or head in said


def test_a_request_goes_up_to_the_turn_and_no_further(ldg: Ldg, label: str) -> None:
    turns = ldg.json("show", label)["turns"]
    first, second = (record["turn"]["id"] for record in turns[:2])
    asked = [record["messages"][0]["content"] for record in turns[:2]]
    body = json.loads(ldg.text("fork", first, "--into", "anthropic"))
    assert_valid("anthropic", body)
    assert asked[0] in json.dumps(body, ensure_ascii=False)
    assert asked[1] not in json.dumps(body, ensure_ascii=False)
    assert asked[1] in ldg.text("export", second, "--format", "markdown")


def test_a_file_is_written_once(ldg: Ldg, label: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said = ldg.json("export", label, "--format", "html", "--output", str(page))["exported"][0]
    assert (said["output"], said["size_bytes"]) == (str(page), page.stat().st_size)
    assert page.read_text("utf-8").endswith("</html>\n")
    assert "never overwrites" in ldg.text("export", label, "--format", "html", "--output", str(page), code=2)
    assert [path.name for path in tmp_path.glob("*page*")] == ["page.html"]


def test_a_folder_gets_a_file_with_a_name_of_its_own(ldg: Ldg, label: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    said = ldg.text("fork", label, "--into", "openai", "--to", str(folder))
    assert "wrote " in said
    assert [path.name.endswith(".openai.json") for path in folder.iterdir()] == [True]
    assert "never overwrites" in ldg.text("fork", label, "--into", "openai", "--to", str(folder), code=2)


def test_what_is_not_carried_over_is_said_beside_the_document(ldg: Ldg) -> None:
    labels = [session["label"] for session in ldg.json("sessions")["sessions"]]
    runs = [ldg.run("fork", label, "--into", "openai", "--report") for label in labels]
    assert all(json.loads(done.stdout) for done in runs)
    assert any("(times: " in done.stderr for done in runs)


def test_what_can_not_be_exported_says_what_can(ldg: Ldg, label: str, tmp_path: Path) -> None:
    assert "markdown" in ldg.text("export", label, "--format", "pdf", code=2)
    assert "no turn or session" in ldg.text("export", "nobody", "--format", "html", code=2)
    assert "--output" in ldg.json("export", label, "--format", "html", code=2)["error"]["message"]
    assert "--to" in ldg.json("fork", label, "--into", "html", code=2)["error"]["message"]
    nowhere = str(tmp_path / "no" / "folder" / "x.md")
    assert "folder that you may write to" in ldg.text(
        "export", label, "--format", "markdown", "--output", nowhere, code=2
    )
