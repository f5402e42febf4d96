"""Triggers and views: what the schema's own scripts make, and what of it a ledger has no more."""

import re
from functools import cache
from typing import cast

from msgspec import Struct

from agents_ledger.store.database import Database
from agents_ledger.store.statements import Dialect, whole_schema

_REMEDY = "restore a backup (`ldg restore BACKUP`), or `ldg rebuild` captured sessions into a new file"
# A statement ends with a semicolon, but not in a comment, a text, the body of a function or of a trigger.
_STATEMENT = r"(?s)(?:[^;'$B-]+|--[^\n]*|'[^']*'|\$\$.*?\$\$|\bBEGIN\b.*?\bEND(?=;)|[^;])++"
_BEGINNING = r"(?:\s|--[^\n]*)*+"
_VERB = rf"{_BEGINNING}(CREATE|DROP) (TRIGGER|VIEW) ([\w.]+)"
_TABLE = r"\sON\s+(\w+)"
# The one function of the PostgreSQL script that makes triggers: some for each table of an array.
_FUNCTION = rf"{_BEGINNING}CREATE FUNCTION ledger_protect\("
_ENDINGS = r"(?s)format\('CREATE TRIGGER %I BEFORE .*?name \|\| '(\w+)'"
_CALL = rf"{_BEGINNING}SELECT ledger_protect\("
_TEXTS = r"'(\w+)'"
# What SQL is made of, apart from white space and comments.
_WORD = r"(?s)--[^\n]*|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?|('(?:[^']|'')*+'?|\"[^\"]*+\"?|\w+|[^\w\s])"

Key = tuple[str, str, str]  # 'trigger' or 'view', its name (on PostgreSQL with its schema), a trigger's table or ''


class Lost(Struct, frozen=True):
    """A trigger or view of the schema that is missing or another one."""

    kind: str
    name: str
    what: str


def lost(database: Database) -> list[Lost]:
    """What is not there as the schema makes it, triggers first; what others have added is theirs."""
    with database.read() as tx:
        there = {(kind, name, table): sql for kind, name, table, sql in tx.rows("triggers_and_views")}
    found = []
    for key, sql in sorted(made(cast("Dialect", database.dialect)).items()):
        if key not in there:
            is_hidden = key[0] == "trigger" and database.dialect == "postgres"
            state = "is missing or switched off" if is_hidden else "is missing"
        elif there[key] is not None and not _is_same(there[key], sql):
            state = "is another one than the schema's"
        else:
            continue
        found.append(Lost(key[0], key[1], f"{state}: {_meaning(key, sql)}; {_REMEDY}"))
    return found


@cache
def made(dialect: Dialect) -> dict[Key, str]:
    """Every trigger and view that the schema makes, with its text."""
    found: dict[Key, str] = {}
    endings: list[str] = []
    for statement in re.findall(_STATEMENT, whole_schema(dialect)):
        if verb := re.match(_VERB, statement):
            table = re.search(_TABLE, statement)
            key = (verb[2].lower(), verb[3], table[1] if table and verb[2] == "TRIGGER" else "")
            if verb[1] == "DROP":
                del found[key]
            else:
                found[key] = statement[verb.start(1) :]
        elif re.match(_FUNCTION, statement):
            endings = re.findall(_ENDINGS, statement)
        elif re.match(_CALL, statement):
            tables = re.findall(_TEXTS, statement)
            found |= {("trigger", table + ending, table): "" for table in tables for ending in endings}
    return found


def _is_same(one: str, other: str) -> bool:
    """Whether two texts say the same, white space and comments aside."""
    return one == other or _words(one) == _words(other)


def _words(sql: str) -> list[str]:
    return [word for word in re.findall(_WORD, sql) if word]


def _meaning(key: Key, sql: str) -> str:
    kind, name, table = key
    if kind == "view":
        return "questions that use it fail, or are answered wrongly"
    if sql.startswith(f"CREATE TRIGGER {name} AFTER "):
        return f"what is looked up by is not kept up with {table}"
    return f"plain SQL can change {table} where the ledger refuses it"
