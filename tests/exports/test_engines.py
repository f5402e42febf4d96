"""Exports of a thread that was written here, on both engines."""

import json

from agents_ledger.exports.targets import REQUESTS, TARGETS
from tests.cli.conftest import Ldg
from tests.exports.schemas import assert_valid


def test_every_session_of_the_demo_is_exported(url: str) -> None:
    ldg = Ldg(url)
    labels = ldg.json("demo")["sessions"]
    for target in TARGETS:
        for label in labels:
            said = ldg.text("export", label, "--format", target)
            if target in REQUESTS:
                assert_valid(target, json.loads(said))
            else:
                assert ldg.json("head", label)["turn_id"] in said
