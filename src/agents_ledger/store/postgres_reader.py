"""The role as which somebody's own SQL is run when the user of the connection may do more than read.

`SET ROLE` alone confines nothing: a query may call `set_config('role', …)` and then run SQL that it has in a text
(`query_to_xml`). The server refuses that inside of a function that belongs to the role and runs with its rights
(`SECURITY DEFINER`). So the query is the argument of such a function. The function is temporary and its transaction is
rolled back; what stays is the role, which may read the ledger's schemas and cannot log in.
"""

import re
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg import sql as build
from psycopg.adapt import Transformer
from psycopg.pq import ExecStatus, Format

from agents_ledger.errors import BadInput, ReadOnlyStore
from agents_ledger.store.database import ALL, Row

_LONGEST_NAME = 63
_PREFIX = "agents_ledger_reader_"
# Whether nobody but owners and the roles made here has rights in this database.
NO_GRANTS_BUT_OURS = r"""
SELECT NOT EXISTS (
    SELECT 1 FROM (
        SELECT c.relnamespace AS schema, c.relowner AS owner, a.grantee FROM pg_class c, aclexplode(c.relacl) a
        UNION ALL
        SELECT n.oid, n.nspowner, a.grantee FROM pg_namespace n, aclexplode(n.nspacl) a WHERE a.grantee <> 0) given
    JOIN pg_namespace n ON n.oid = given.schema LEFT JOIN pg_roles r ON r.oid = given.grantee
    WHERE given.grantee <> given.owner AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
        AND coalesce(r.rolname, '') NOT LIKE 'agents\_ledger\_reader\_%')
"""
# Everything that the user of this session may become: superusers, those who replicate, members of the server's own
# roles (pg_read_server_files …), and those who may call what not everybody may call (pg_read_file, pg_reload_conf …).
_IS_PRIVILEGED = r"""
SELECT EXISTS (
    SELECT 1 FROM pg_roles r WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND (
        r.rolsuper OR r.rolreplication OR (r.rolname LIKE 'pg\_%' AND r.rolname <> 'pg_database_owner')
        OR EXISTS (
            SELECT 1 FROM pg_proc f
            WHERE f.pronamespace = CAST('pg_catalog' AS REGNAMESPACE) AND f.proacl IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM aclexplode(f.proacl) a WHERE a.grantee = 0)
                AND has_function_privilege(r.oid, f.oid, 'EXECUTE'))))
"""
# The role, whether it is what it should be, and whether there is anything in the ledger that it may not read.
_FIND = """
SELECT r.rolsuper OR r.rolreplication OR r.rolcanlogin OR r.rolbypassrls OR r.rolcreaterole OR r.rolcreatedb
    OR EXISTS (SELECT 1 FROM pg_auth_members m WHERE m.member = r.oid),
    EXISTS (SELECT 1 FROM pg_namespace n WHERE n.nspname = ANY(%(schemas)s)
        AND NOT has_schema_privilege(r.oid, n.oid, 'USAGE'))
    OR EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = ANY(%(schemas)s) AND c.relkind IN ('r', 'v', 'm', 'p')
        AND NOT has_table_privilege(r.oid, c.oid, 'SELECT'))
FROM pg_roles r WHERE r.rolname = %(role)s
"""
_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname = current_schema() OR nspname = ANY(%s) ORDER BY nspname"
_OURS = ["faces", "mnemonic", "events", "aix", "agent_os"]
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('/agents-ledger/reader', 0))"
_FUNCTION = """
CREATE FUNCTION pg_temp.ledger_ask(query TEXT, most BIGINT) RETURNS SETOF TEXT LANGUAGE plpgsql SECURITY DEFINER
AS $ask$
DECLARE
    asked REFCURSOR;
    line RECORD;
    given BIGINT := 0;
BEGIN
    OPEN asked NO SCROLL FOR EXECUTE query;
    WHILE given < most LOOP
        FETCH asked INTO line;
        EXIT WHEN NOT FOUND;
        RETURN NEXT CAST(line AS TEXT);
        given := given + 1;
    END LOOP;
END $ask$
"""
# A field of a row as a text: in quotes, where both quotes and backslashes are doubled, or plain; nothing is NULL.
_FIELD = re.compile(rb'(?:"((?:[^"\\]|""|\\.)*+)"|([^,()"]*+))[,)]', re.DOTALL)
_DOUBLED = re.compile(rb'""|\\(.)', re.DOTALL)


class _Bytes(psycopg.adapt.Loader):
    """A text as it was sent."""

    def load(self, data: Any) -> bytes:
        """Its bytes."""
        return bytes(data)


def is_privileged(connection: "psycopg.Connection[Row]") -> bool:
    """Whether SQL on this connection can do more than read and write tables."""
    found = connection.execute(_IS_PRIVILEGED).fetchone()
    return found is None or bool(found[0])


def ask(
    connection: "psycopg.Connection[Row]",
    sql: str,
    limit: int | None,
    loaders: dict[str, type[psycopg.adapt.Loader]],
) -> tuple[list[str], list[Row]]:
    """Column names and rows of one query that is run as the role that only reads; leaves no trace of it."""
    role = _prepared_role(connection)
    cursor = connection.cursor()
    try:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE")
        _confine(cursor, role)
        names, types = _described(connection, sql)
        cursor.adapters.register_loader("text", _Bytes)
        cursor.execute("SELECT * FROM pg_temp.ledger_ask(%s, %s)", (sql, ALL if limit is None else limit))
        lines = cursor.fetchall()
    except pg.InsufficientPrivilege as problem:
        raise ReadOnlyStore(f"only reading the ledger is allowed here ({problem.diag.message_primary})") from problem
    except (pg.InvalidCursorDefinition, pg.FeatureNotSupported) as problem:
        raise ReadOnlyStore(f"only reading is allowed here ({problem.diag.message_primary})") from problem
    except pg.SyntaxError as problem:
        told = problem.diag.message_primary or ""
        raise BadInput("give one statement at a time" if "multiple commands" in told else told) from problem
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")
    plain = connection.cursor()
    for name, loader in loaders.items():
        plain.adapters.register_loader(name, loader)
    transformer = Transformer(plain)
    load = [transformer.get_loader(oid, Format.TEXT).load for oid in types]
    return names, [_row(line, load) for (line,) in lines]


def _confine(cursor: "psycopg.Cursor[Row]", role: str) -> None:
    """From here on to the end of the transaction: the role's rights, and only reading."""
    try:
        cursor.execute(_FUNCTION)
        owned = build.SQL("ALTER FUNCTION pg_temp.ledger_ask(TEXT, BIGINT) OWNER TO {}").format(build.Identifier(role))
        cursor.execute(owned)
        cursor.execute(build.SQL("SET LOCAL ROLE {}").format(build.Identifier(role)))
        cursor.execute("SET TRANSACTION READ ONLY")
    except (pg.InsufficientPrivilege, pg.ReadOnlySqlTransaction) as problem:
        raise _not_confined(role, problem) from problem


def _described(connection: "psycopg.Connection[Row]", sql: str) -> tuple[list[str], list[int]]:
    """The names and types of what a query gives: it is parsed, and nothing of it is run."""
    server = connection.pgconn
    for result in (server.prepare(b"", sql.encode()), server.describe_prepared(b"")):
        if result.status != ExecStatus.COMMAND_OK:
            raise psycopg.errors.error_from_result(result)
    return (
        [(result.fname(at) or b"").decode("utf-8", "replace") for at in range(result.nfields)],
        [result.ftype(at) for at in range(result.nfields)],
    )


def _row(line: bytes, load: list[Any]) -> Row:
    """A row out of its text, like `(1,"two words",)`: each field by the loader of its column."""
    values: list[Any] = []
    at = 1
    for loader in load:
        field = _FIELD.match(line, at)
        if field is None:
            raise BadInput("a row of this answer can't be read: name its columns one by one")
        at = field.end()
        quoted, plain = field.groups()
        text = plain if quoted is None else _DOUBLED.sub(lambda mark: mark[1] or b'"', quoted)
        values.append(None if quoted is None and not plain else loader(text))
    return tuple(values)


def _prepared_role(connection: "psycopg.Connection[Row]") -> str:
    """The role that may read this ledger and nothing else; made, and shown new tables, when it is first needed."""
    schemas = [str(name) for (name,) in connection.execute(_SCHEMAS, (_OURS,))]
    schema = connection.execute("SELECT current_schema()").fetchone()
    role = f"{_PREFIX}{schema[0] if schema else ''}"
    if len(role.encode()) > _LONGEST_NAME:
        raise _not_confined(role, "the name of the schema is too long")
    asked = {"schemas": schemas, "role": role}
    known = connection.execute(_FIND, asked).fetchone()
    if known is None or known[1]:
        try:
            with connection.transaction():
                connection.execute(_LOCK)  # two at once would both make it
                known = connection.execute(_FIND, asked).fetchone()
                _make_role(connection, role, schemas, is_new=known is None)
                known = connection.execute(_FIND, asked).fetchone()
        except (pg.InsufficientPrivilege, pg.ReadOnlySqlTransaction) as problem:
            raise _not_confined(role, problem) from problem
    if known is None or known[0] or known[1]:
        raise _not_confined(role, "that role may do more, or less, than read")
    return role


def _make_role(connection: "psycopg.Connection[Row]", role: str, schemas: list[str], *, is_new: bool) -> None:
    name = build.Identifier(role)
    if is_new:
        connection.execute(build.SQL("CREATE ROLE {} NOLOGIN").format(name))
    for schema in map(build.Identifier, schemas):
        connection.execute(build.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, name))
        connection.execute(build.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}").format(schema, name))


def _not_confined(role: str, why: object) -> ReadOnlyStore:
    return ReadOnlyStore(
        f"the user of this connection may do more than read, and a query can't be confined ({why}): connect as a user "
        f"that may only read, or let a superuser run `ldg sql` once on the primary server: it makes the role {role}"
    )
