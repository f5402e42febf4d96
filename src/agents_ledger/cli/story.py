"""The demo's story: a flaky test is found and fixed, one way and another. Told through the public API only."""

from agents_ledger import CodeBlock, File, Ledger, Lint, Message, Usage
from agents_ledger.model.ids import UlidSource
from agents_ledger.model.times import now_ms

MAIN = "fix-login"
OTHER = "another-way"
HELPER = "fix-login/search"
SESSIONS = (MAIN, OTHER, HELPER)
_ALIAS = "telegram:4711"
_OPUS, _SONNET = "claude-opus-4", "claude-sonnet-4"
_TOOLS = ("Read", "Edit", "Shell", "Task")
_BEGAN_MS_AGO = 26 * 60_000
_TICK_MS = 350


class StoryClock:
    """A clock that began a while ago and goes on a little with each look, so that the story has a pace."""

    def __init__(self) -> None:
        self._at = now_ms() - _BEGAN_MS_AGO
        self._ids = UlidSource()

    def now(self) -> int:
        """The story's time; it moves on."""
        self._at += _TICK_MS
        return self._at

    def new_id(self, at_ms: int | None) -> str:
        """The next id, stamped with the story's time."""
        return self._ids(self._at if at_ms is None else at_ms)

    def wait(self, minutes: float) -> None:
        """People think, and make coffee."""
        self._at += int(minutes * 60_000)


def tell(ledger: Ledger, clock: StoryClock) -> None:
    """Writes the whole story: 13 turns in three sessions."""
    found = _find_the_cause(ledger, clock)
    _first_attempt(ledger, clock)
    ledger.rewind(MAIN, found)
    clock.wait(2)
    _ask_a_subagent(ledger, clock)
    _fix_it(ledger, clock)
    clock.wait(3)
    _go_another_way(ledger, clock, found)
    clock.wait(4)
    _lose_the_network(ledger, clock)
    _compact_and_finish(ledger, clock)
    ledger.alias(_ALIAS, MAIN)


def _find_the_cause(ledger: Ledger, clock: StoryClock) -> str:
    system = "You are a careful engineer. Read before you write, and run the tests."
    question = Message(
        "user",
        "The login test fails about once a day. Can you find out why?",
        source="human",
        files=(File("tests/test_login.py", "attached", 1, 48),),
    )
    with ledger.turn(
        MAIN, question, system=system, model=_OPUS, provider="anthropic", tools=_TOOLS, workspace="/home/ada/shop"
    ) as turn:
        turn.reply("I will read the test first, then run it a few times.", thinking="Once a day sounds like a clock.")
        turn.call("Read", {"path": "tests/test_login.py"}).complete(
            "def test_token_expires_tomorrow():\n    token = issue(user)\n"
            "    assert token.expires.date() == date.today() + timedelta(days=1)\n"
        )
        failed = turn.call("Shell", {"command": "pytest -q tests/test_login.py --count 50"})
        failed.fail("exit code 4", {"exit": 4, "stderr": "pytest: error: unrecognized arguments: --count 50"})
        turn.call("Shell", {"command": "for i in $(seq 50); do pytest -q tests/test_login.py; done"}).complete(
            {"exit": 0, "stdout": "50 passed in 31.20s"}
        )
        turn.reply(
            "It passes 50 times now, so the time of day matters: `issue()` uses UTC and the test uses the local "
            "date. Around midnight they differ.",
            usage=Usage(input=1840, output=212, cached=1024, reasoning=60),
            files=(File("tests/test_login.py", "read", 1, 48), File("shop/tokens.py", "read")),
            lints=(Lint("tests/test_login.py", "date.today() uses local time", "ruff", 31, 12, 31, 24, "warning"),),
        )
    clock.wait(3)
    with ledger.turn(MAIN, "Good find! Show me the line.", model=_OPUS, provider="anthropic", tools=_TOOLS) as turn:
        turn.reply(
            "Here it is, line 31:",
            usage=Usage(input=2210, output=64, cached=1800),
            codeblocks=(
                CodeBlock(
                    "assert token.expires.date() == date.today() + timedelta(days=1)",
                    "python",
                    "tests/test_login.py",
                    31,
                    31,
                ),
            ),
        )
    clock.wait(2)
    return turn.id


def _first_attempt(ledger: Ledger, clock: StoryClock) -> None:
    with ledger.turn(MAIN, "Just skip it at midnight?", model=_OPUS, provider="anthropic", tools=_TOOLS) as turn:
        edit = {"path": "tests/test_login.py", "insert": "@pytest.mark.skipif(near_midnight(), reason='flaky')"}
        turn.call("Edit", edit).complete({"changed": 1})
        turn.reply("Done, but that hides the fault instead of fixing it.", usage=Usage(input=2405, output=88))
    clock.wait(1)
    with ledger.turn(MAIN, "You are right, that is ugly.", model=_OPUS, provider="anthropic", tools=_TOOLS) as turn:
        turn.reply("Let us go back to where we understood it.", usage=Usage(input=2560, output=31))


def _ask_a_subagent(ledger: Ledger, clock: StoryClock) -> None:
    with ledger.turn(
        MAIN, "Are there other tests like this one?", model=_OPUS, provider="anthropic", tools=_TOOLS, role="manager"
    ) as turn:
        task = turn.call("Task", {"prompt": "Find tests that mix local dates with UTC"})
        task.spawn(HELPER, "Find tests that mix local dates with UTC")
        _search(ledger)
        task.complete({"found": ["tests/test_login.py:31", "tests/test_cart.py:77"]})
        turn.reply("One more: `tests/test_cart.py`, line 77.", usage=Usage(input=2480, output=45, cached=2210))
    clock.wait(2)


def _search(ledger: Ledger) -> None:
    asked = Message("user", "Find tests that mix local dates with UTC", source="agent")
    with ledger.turn(HELPER, asked, model=_SONNET, provider="anthropic", tools=("Shell",), role="worker") as turn:
        turn.call("Shell", {"command": "rg -n 'date.today\\(\\)' tests"}).complete(
            {"exit": 0, "stdout": "tests/test_login.py:31\ntests/test_cart.py:77\ntests/test_home.py:5"}
        )
        turn.reply("Three places use the local date.", usage=Usage(input=410, output=38))
    with ledger.turn(HELPER, Message("user", "Which of them compare with UTC?", source="agent"), model=_SONNET) as turn:
        turn.reply("tests/test_login.py:31 and tests/test_cart.py:77.", usage=Usage(input=498, output=29))


def _fix_it(ledger: Ledger, clock: StoryClock) -> None:
    with ledger.turn(MAIN, "Fix both: use UTC in the tests.", model=_OPUS, provider="anthropic", tools=_TOOLS) as turn:
        for path in ("tests/test_login.py", "tests/test_cart.py"):
            edit = {"path": path, "old": "date.today()", "new": "datetime.now(UTC).date()"}
            turn.call("Edit", edit).complete({"changed": 1})
        turn.call("Shell", {"command": "pytest -q"}).complete({"exit": 0, "stdout": "212 passed in 9.81s"})
        turn.reply(
            "Both tests use UTC now, and all 212 pass.",
            thinking="The time zone of the runner no longer matters.",
            usage=Usage(input=2790, output=156, cached=2480, reasoning=22),
            files=(File("tests/test_login.py", "written", 31, 31), File("tests/test_cart.py", "written", 77, 77)),
        )
    clock.wait(1)


def _go_another_way(ledger: Ledger, clock: StoryClock, found: str) -> None:
    ledger.fork(found, OTHER)
    with ledger.turn(OTHER, "What if the test froze the clock instead?", model=_SONNET, tools=_TOOLS) as turn:
        turn.call("Shell", {"command": "pip install time-machine"}).reject("no network access for this agent")
        turn.reply("That needs a new dependency, which I may not install.", usage=Usage(input=2301, output=52))
    clock.wait(2)
    with ledger.turn(OTHER, "Then pass the clock in as a parameter.", model=_SONNET, tools=_TOOLS) as turn:
        turn.call("Edit", {"path": "shop/tokens.py", "new": "def issue(user, now=utc_now): ..."}).complete(
            {"changed": 1}
        )
        turn.reply("`issue()` takes `now`; the test gives it a fixed moment.", usage=Usage(input=2420, output=97))


def _lose_the_network(ledger: Ledger, clock: StoryClock) -> None:
    turn = ledger.turn(MAIN, "Please write the commit message.", model=_OPUS, provider="anthropic", tools=_TOOLS)
    turn.stream("Use UTC in the tests of")
    turn.fail("the provider closed the connection (HTTP 529 overloaded)")
    clock.wait(2)


def _compact_and_finish(ledger: Ledger, clock: StoryClock) -> None:
    summary = (
        "The login test compared a local date with UTC and failed around midnight. Both places "
        "(test_login.py:31, test_cart.py:77) use UTC now; all 212 tests pass. A commit message is still to be written."
    )
    ledger.compact(MAIN, summary, keep=1, trigger="context_limit", model=_OPUS, tokens_before=9800, tokens_after=610)
    clock.wait(1)
    with ledger.turn(MAIN, "Once more: the commit message?", model=_OPUS, provider="anthropic", tools=_TOOLS) as turn:
        turn.reply("Compare dates in UTC, not in the runner's time zone", usage=Usage(input=640, output=18))
