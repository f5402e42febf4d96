"""The named SQL statements, read from the `.sql` files and put into an engine's dialect."""

import re
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

Dialect = Literal["sqlite", "postgres"]

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PARAM = re.compile(r"(?<![:\w]):([a-z_]+)")
# `IN_LIST(:ids)`: one of the members of a JSON array
_LIST = re.compile(r"IN_LIST\((:\w+)\)")
_LISTS: dict[Dialect, str] = {
    "sqlite": r"IN (SELECT value FROM json_each(\1))",
    "postgres": r"IN (SELECT json_array_elements_text(CAST(\1 AS JSON)))",
}
_COMMENT = re.compile(r"--[^\n]*")
_WORDS = {"INTEGER": "BIGINT", "BLOB": "BYTEA", "TEXT": 'TEXT COLLATE "C"'}
_TYPES = re.compile(r"\b(INTEGER|BLOB|TEXT)\b(?! COLLATE)")


class Statement:
    """SQL in one dialect, and the names of its parameters in the order of binding."""

    __slots__ = ("_get", "names", "sql")

    def __init__(self, sql: str, names: tuple[str, ...]) -> None:
        self.sql = sql
        self.names = names
        self._get: Any = attrgetter(*names) if names else None

    def bind(self, params: dict[str, Any]) -> tuple[Any, ...]:
        """The values in the order of binding; a name that is missing is an error of ours."""
        return tuple([params[name] for name in self.names])

    def bind_value(self, value: object) -> tuple[Any, ...]:
        """The same, from the attributes of a value."""
        got = self._get(value)
        return got if len(self.names) > 1 else (got,)


@cache
def statements(dialect: Dialect) -> dict[str, Statement]:
    """Every named statement: the shared ones, then the dialect's own."""
    found: dict[str, Statement] = {}
    folder = sql_folder().joinpath("queries")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    for name in names:
        parts = name.split(".")
        if len(parts) == 2 or parts[1] == dialect:  # noqa: PLR2004 - `tree.sql`, `search.sqlite.sql`
            found.update(_parse(folder.joinpath(name).read_text("utf-8"), dialect))
    return found


def schema_script(stem: str, dialect: Dialect, folder: Path | None = None) -> str:
    """A schema or migration: the shared text in the dialect's words, then the dialect's own text."""
    place = folder or sql_folder()
    shared = place.joinpath(f"{stem}.sql")
    own = place.joinpath(f"{stem}.{dialect}.sql")
    text = translate(shared.read_text("utf-8"), dialect) if shared.is_file() else ""
    return text + ("\n" + own.read_text("utf-8") if own.is_file() else "")


def sql_folder() -> Path:
    """Where the `.sql` files are."""
    return Path(__file__).with_name("sql")


def without_comments(sql: str) -> str:
    """The statements alone."""
    return _COMMENT.sub("", sql)


def translate(sql: str, dialect: Dialect) -> str:
    """Types in the words of the dialect."""
    if dialect == "sqlite":
        return sql
    words = _TYPES.sub(lambda match: _WORDS[match[1]], without_comments(sql))
    return words.replace(" WITHOUT ROWID", "")


def _parse(text: str, dialect: Dialect) -> dict[str, Statement]:
    pieces = _NAME.split(text)[1:]
    pairs = zip(pieces[::2], pieces[1::2], strict=True)
    return {name: _statement(body, dialect) for name, body in pairs}


def _statement(body: str, dialect: Dialect) -> Statement:
    sql = " ".join(without_comments(body).strip().rstrip(";").split())
    used = _PARAM.findall(sql)
    sql = _LIST.sub(_LISTS[dialect], sql)
    if dialect == "sqlite":
        return Statement(sql, tuple(dict.fromkeys(used)))
    sql = re.sub(r"CAST\((:\w+) AS TEXT\)", r"CAST(\1 AS VARCHAR)", sql)
    sql = _PARAM.sub("%s", translate(sql.replace("%", "%%"), dialect))
    return Statement(sql, tuple(used))
