"""`ldg key`, which needs no ledger."""

import json

from click.testing import CliRunner

from agents_ledger.cli.main import cli


def test_a_key_is_explained_and_taken_apart() -> None:
    key = "agent:main:discord:channel:1:thread:2"
    said = CliRunner().invoke(cli, ["key", key])
    assert (said.exit_code, said.stdout) == (0, "thread 2 in: the channel 1 on discord (agent main)\n")
    told = json.loads(CliRunner().invoke(cli, ["key", key, "--json"]).stdout)
    assert (told["kind"], told["channel"], told["thread"]) == ("channel", "discord", "2")
    assert (told["parent"], told["is_shared"]) == ("agent:main:discord:channel:1", False)
    assert (
        json.loads(CliRunner().invoke(cli, ["key", "agent:x:home", "--main-key", "home", "--json"]).stdout)["kind"]
        == "main"
    )


def test_a_name_that_is_no_key_is_said_to_be_none() -> None:
    said = CliRunner().invoke(cli, ["key", "what\x1b[31mever"])
    assert said.exit_code == 1
    assert "\x1b" not in said.output
    assert "docs/session-keys.md" in said.stderr
