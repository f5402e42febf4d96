"""The screens of the tour are what a terminal shows now; `make tour` takes them anew."""

import re
import shlex

import pytest

from tests.support.homes import go_home
from tests.support.terminals import COLOURS, on_a_terminal, without_ours
from tests.support.tour import PICTURES, READERS_HOME, TOUR, short_home, stops
from tests.test_docs import normal

_AGO = re.compile(r"\b(?:\d+ (?:s|min|h|d) ago|\d{4}-\d\d-\d\d(?![ T]\d))")


def test_every_screen_of_the_tour_is_what_a_terminal_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list(stops(TOUR.read_text("utf-8")))
    assert {stop.columns for stop in seen} == {80, 160}
    assert {shlex.split(stop.typed)[1] for stop in seen if " " in stop.typed} >= {"sessions", "show", "tree", "replay"}
    with short_home() as home:
        go_home(home, monkeypatch)
        monkeypatch.setenv("TERM", "xterm-256color")
        for name in ("AGENTS_LEDGER_DB", "NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for stop in seen:
            monkeypatch.setenv("COLUMNS", str(stop.columns))
            said, code = on_a_terminal(*shlex.split(stop.typed)[1:])
            assert code == 0, said
            now = _squeezed(without_ours(said).replace(str(home), READERS_HOME))
            before = _squeezed("\n".join(_without_the_last_line(stop.output)))
            assert before in now, f"{stop.typed} ({stop.columns} columns): run `make tour`, and look at it"


def test_every_picture_is_there_and_leads_nowhere() -> None:
    drawn = {stop.picture for stop in stops(TOUR.read_text("utf-8")) if stop.picture}
    assert {path.stem for path in PICTURES.glob("*.svg")} == drawn
    for path in PICTURES.glob("*.svg"):
        text = path.read_text("utf-8")
        assert "@font-face" not in text
        assert not re.search(r"<(?:script|image|a|use)\b|\b(?:href|src)=", text)
        assert COLOURS.search(text) is None


def _without_the_last_line(output: str) -> list[str]:
    """A screen without the pager's prompt or our line of keys."""
    lines = output.splitlines()
    return lines[:-1] if lines[-1] == ":" or lines[-1].endswith("q quit") else lines


def _squeezed(text: str) -> str:
    """Without what differs from run to run, and the width that it takes."""
    return re.sub(r"[ ]+", " ", re.sub(r" +$", "", normal(_AGO.sub("AGO", text)), flags=re.MULTILINE)).strip()
