"""The named SQL statements, read from the `.sql` files and put into an engine's dialect."""

# ruff: noqa: PTH118, PTH120, PTH123, PTH208 - every command comes here, and `pathlib` takes 4 ms to load

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

Dialect = Literal["sqlite", "postgres"]

_FOLDER = os.path.join(os.path.dirname(__file__), "sql")
# (with the end of the line before it: a beginning that is always the same is found twice as fast)
_MARK = re.compile(r"\n-- (name|fragment): (\w+)$", re.MULTILINE)
# `{filters}`: a fragment, the same in every statement that names it. (Texts are what few statements need: `re` compiles
# them when they are first used.)
_USE = r"\{(\w+)\}"
_PARAM = re.compile(r":(?<![:\w]:)([a-z_]+)")  # (the colon first, as above)
# `IN_LIST(:ids)`: one of the members of a JSON array
_LIST = r"IN_LIST\((:\w+)\)"
_LISTS: dict[Dialect, str] = {
    "sqlite": r"IN (SELECT value FROM json_each(\1))",
    "postgres": r"IN (SELECT json_array_elements_text(CAST(\1 AS JSON)))",
}
# `MEMBERS(:texts)`: the same as a table `wanted` with one column, `value`
_MEMBERS = r"MEMBERS\((:\w+)\)"
_TABLES: dict[Dialect, str] = {
    "sqlite": r"json_each(\1) AS wanted",
    "postgres": r"json_array_elements_text(CAST(\1 AS JSON)) AS wanted(value)",
}
# `FACE(aix.sessions)`: a view of another system, in a schema of its own or under a name with a prefix
_FACE = r"FACE\((\w+)\.(\w+)\)"
_COMMENT = re.compile(r"--[^\n]*")
_WORDS = {"INTEGER": "BIGINT", "BLOB": "BYTEA", "TEXT": 'TEXT COLLATE "C"'}
_TYPES = r"\b(INTEGER|BLOB|TEXT)\b(?! COLLATE)"


class Statement:
    """SQL in one dialect, and the names of its parameters in the order of binding."""

    __slots__ = ("bind", "bind_value", "names", "sql")

    def __init__(self, sql: str, names: tuple[str, ...]) -> None:
        self.sql = sql
        self.names = names
        # The values in the order of binding, from a dict (a name that is missing is an error of ours) or from the
        # attributes of a value. No methods: they are called for every statement and for every row that is written.
        self.bind: Callable[[dict[str, Any]], tuple[Any, ...]] = _picked(names, itemgetter)
        self.bind_value: Callable[[Any], tuple[Any, ...]] = _picked(names, attrgetter)


def _picked(names: tuple[str, ...], getter: Callable[..., Callable[[Any], Any]]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return getter(*names)
    if not names:
        return lambda _: ()
    pick = getter(*names)
    return lambda given: (pick(given),)


class Statements(Mapping[str, Statement]):
    """Every named statement, put into its dialect when it is first asked for: a command needs a few of hundreds."""

    def __init__(self, dialect: Dialect, pieces: list[tuple[str, str, str]]) -> None:
        self._dialect = dialect
        self._bodies = {name: body for kind, name, body in pieces if kind == "name"}
        self._fragments = {name: without_comments(body) for kind, name, body in pieces if kind == "fragment"}
        self.made = _Made(self._make)  # the same, without a call of ours for one that was asked for before

    def __getitem__(self, name: str) -> Statement:
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._bodies)

    def __len__(self) -> int:
        return len(self._bodies)

    def _make(self, name: str) -> Statement:
        return _statement(self._bodies[name], self._dialect, self._fragments)


class _Made(dict[str, Statement]):
    """Statements by their names, each made when it is first asked for."""

    def __init__(self, make: Callable[[str], Statement]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> Statement:
        made = self[name] = self._make(name)
        return made


@cache
def statements(dialect: Dialect) -> Statements:
    """The shared ones, then the dialect's own."""
    folder = os.path.join(_FOLDER, "queries")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".sql"))
    # `tree.sql`, `search.sqlite.sql`
    mine = [name for name in names if name.count(".") == 1 or name.split(".")[1] == dialect]
    texts = [read_text(os.path.join(folder, name)) for name in mine]
    return Statements(dialect, list(_pieces("\n".join(["", *texts]))))


def read_text(path: str) -> str:
    """The text of a file of ours."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def schema_script(stem: str, dialect: Dialect, folder: "Path | None" = None) -> str:
    """A schema or migration: the shared text in the dialect's words, then the dialect's own text."""
    place = folder or sql_folder()
    shared = place.joinpath(f"{stem}.sql")
    own = place.joinpath(f"{stem}.{dialect}.sql")
    text = translate(shared.read_text("utf-8"), dialect) if shared.is_file() else ""
    return text + ("\n" + own.read_text("utf-8") if own.is_file() else "")


def whole_schema(dialect: Dialect) -> str:
    """The schema as it is now: tables, guards, then the faces."""
    return schema_script("schema", dialect) + "\n" + schema_script("faces", dialect)


def face_name(system: str, table: str, dialect: Dialect) -> str:
    """What a table of another system is called here."""
    if dialect == "postgres":
        return f"{system}.{table}"
    is_clear = table.startswith("agent_") or table == "events"
    return table if is_clear else f"{system.removesuffix('s')}_{table}"


def sql_folder() -> "Path":
    """Where the `.sql` files are."""
    from pathlib import Path  # noqa: PLC0415 - see above

    return Path(_FOLDER)


def checksums_of_migrations() -> str:
    """A line for each migration: its name, and its checksum for SQLite and for PostgreSQL."""
    return read_text(os.path.join(_FOLDER, "migrations", "checksums.txt"))


def without_comments(sql: str) -> str:
    """The statements alone."""
    return _COMMENT.sub("", sql)


def translate(sql: str, dialect: Dialect) -> str:
    """Types in the words of the dialect."""
    if dialect == "sqlite":
        return sql
    words = re.sub(_TYPES, lambda match: _WORDS[match[1]], without_comments(sql))
    return words.replace(" WITHOUT ROWID", "")


def _pieces(text: str) -> Iterator[tuple[str, str, str]]:
    """What kind of piece it is, its name, and its text up to the next one."""
    pieces = _MARK.split(text)[1:]
    return zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)


def _statement(body: str, dialect: Dialect, fragments: dict[str, str]) -> Statement:
    body = without_comments(body)
    found = body.count("{")
    while found:
        body, found = re.subn(_USE, lambda use: fragments[use[1]], body)
    sql = " ".join(body.strip().rstrip(";").split())
    used = _PARAM.findall(sql)
    if "IN_LIST(" in sql:
        sql = re.sub(_LIST, _LISTS[dialect], sql)
    if "MEMBERS(" in sql:
        sql = re.sub(_MEMBERS, _TABLES[dialect], sql)
    if "FACE(" in sql:
        sql = re.sub(_FACE, lambda face: face_name(face[1], face[2], dialect), sql)
    if dialect == "sqlite":
        return Statement(sql, tuple(dict.fromkeys(used)))
    sql = re.sub(r"CAST\((:\w+) AS TEXT\)", r"CAST(\1 AS VARCHAR)", sql)
    sql = _PARAM.sub("%s", translate(sql.replace("%", "%%"), dialect))
    return Statement(sql, tuple(used))
