"""A ledger with a few conversations that are easy to tell apart."""

from collections.abc import Iterator

import pytest

from agents_ledger import Call, Ledger, Message, Turn
from agents_ledger.capture.details import Details
from agents_ledger.capture.operations import Remember
from agents_ledger.ledger.bulk import Batch
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.sessions import Origin
from agents_ledger.model.entries import File, Settings
from agents_ledger.model.ids import UlidSource
from agents_ledger.store import Tx

DAY_MS = 86_400_000
NOW = 1_790_000_000_000


def said(
    query: str,
    answer: str,
    *,
    thinking: str | None = None,
    calls: tuple[Call, ...] = (),
    file: str = "",
    model: str | None = None,
) -> Turn:
    files = (File(file, "read"),) if file else ()
    return Turn(
        (Message("user", query, source="human", files=files), Message("assistant", answer, thinking=thinking)),
        calls,
        settings=Settings(model=model),
    )


TALKS: tuple[tuple[str, str, int, Turn], ...] = (
    ("shop", "codex", 90, said("The login page throws", "The session cookie was missing.", model="gpt-5-codex")),
    (
        "shop",
        "codex",
        89,
        said("And the api-key?", "Read from .env, see config_loader.", file="/src/shop/auth.py"),
    ),
    ("engine", "claude-code", 60, said("Port it to C++", "Done: c++ compiles.", model="claude-opus-4-5")),
    ("engine", "claude-code", 59, said("Plan C is fine", "Letter c alone.", thinking="zebra in thought")),
    (
        "tools",
        "claude-code",
        30,
        said(
            "Run it",
            "It ran.",
            calls=(Call("Bash", {"command": "make zebra"}, result="zebra zebra\nconnection refused\n"),),
        ),
    ),
    ("zoo", "pi", 20, said("Tell me about the zebra", "A zebra has stripes.")),
    ("asia", "pi", 10, said("请修复数据库连接失败的问题", "已修复 React登录组件。")),
    ("asia", "pi", 9, said("ログイン画面が表示されない", "แก้ไขการเข้าสู่ระบบแล้ว")),
    ("asia", "pi", 8, said("Ship it 🚀 now", "Deployed ✅")),
    ("words", "pi", 5, said("why is the cache stale", "Because of a missing invalidation in the repository layer.")),
)


class Times:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.now_ms = NOW
        self._ids = UlidSource()

    def now(self) -> int:
        return self.now_ms

    def new_id(self, at_ms: int | None = None) -> str:
        return self._ids(self.now_ms if at_ms is None else at_ms)


def fill(url: str) -> Ledger:
    clock = Times()
    ledger = Ledger.open(url, env=Env(now=clock.now, new_id=clock.new_id))
    for label, origin, days, turn in TALKS:
        clock.now_ms = NOW - days * DAY_MS
        ledger.append(label, turn, origin=Origin(origin=origin))
    clock.now_ms = NOW - DAY_MS
    ledger.compact("words", "They discussed an aardvark in the invalidation code.")
    with_title = Details("zoo", title="Stripes of the okapi", project="/home/dev/zoo")

    def remember(tx: Tx) -> None:
        batch = Batch(tx, ledger.env)
        Remember("zoo", with_title)(batch)
        batch.finish()

    ledger.database.write(remember)
    ledger.fork(ledger.session("zoo").thread_id or "", "zoo-again")
    clock.now_ms = NOW
    return ledger


@pytest.fixture(scope="package", params=["sqlite", "postgres"])
def talks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Eleven turns in eight sessions; the tests here only read."""
    if request.param == "postgres":
        url = request.getfixturevalue("server").new_url()
    else:
        url = f"sqlite:///{tmp_path_factory.mktemp('talks') / 'ledger.db'}"
    with fill(url) as ledger:
        yield ledger
