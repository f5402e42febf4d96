"""What a search asks beside its words, as parameters of its statements."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import msgspec

from agents_ledger.ledger import sessions
from agents_ledger.model.filters import EVERYTHING, Filters, pattern
from agents_ledger.model.queries import OTHER_ROLES, Query, Term
from agents_ledger.model.times import parse, parse_end
from agents_ledger.store import Database, Tx
from agents_ledger.store.matching import all_of, noted_words

_MOST_SESSIONS = 1000
_MOST_TURNS = 100_000
_MOST_PATHS = 2000
_NOBODY = ["\x1f"]  # a list that nothing is in


class Asked(msgspec.Struct, frozen=True):
    """The parameters, and whether they ask for anything at all."""

    params: dict[str, Any]
    is_bound: bool
    of_parts: bool  # something is asked of the message or call, not only of its turn
    not_roles: bool = False  # some must not have said it


def asked(database: Database, tx: Tx, query: Query, filters: Filters, now: int) -> Asked:
    """The conditions of a query together with filters that were given beside it."""
    if filters == EVERYTHING and not query.conditions and not any(term.literal for term in query.wanted):
        return _nothing()
    params = _dated(query, filters, now).bound()
    lists: dict[str, list[str]] = {}
    for name, is_excluded in (("", False), ("not_", True)):
        lists[f"{name}origins"] = [pattern(value) for value in query.values("origin", is_excluded=is_excluded)]
        lists[f"{name}models"] = [_anywhere(value) for value in query.values("model", is_excluded=is_excluded)]
        lists[f"{name}projects"] = [_folder(value) for value in query.values("project", is_excluded=is_excluded)]
        lists[f"{name}tools"] = [pattern(value) for value in query.values("tool", is_excluded=is_excluded)]
        lists[f"{name}roles"] = [_role(value) for value in query.values("role", is_excluded=is_excluded)]
        lists[f"{name}paths"] = _paths(database, tx, query.values("file", is_excluded=is_excluded))
        lists[f"{name}sessions"] = _labels(tx, query.values("session", is_excluded=is_excluded))
    lists["turns"] = _turns(tx, lists["sessions"])
    lists["literals"] = [_anywhere(literal) for term in query.wanted if (literal := term.literal)]
    params["is_filtered"] = int(msgspec.structs.replace(filters, since=None, until=None) != EVERYTHING)
    params["is_homed"] = int(any(lists[name] for name in ("origins", "not_origins", "projects", "not_projects")))
    params |= {name: msgspec.json.encode(values).decode() for name, values in lists.items()}
    is_bound = filters != EVERYTHING or bool(query.conditions) or bool(lists["literals"])
    of_parts = any(lists[name] for name in ("roles", "tools", "literals"))
    return Asked(params, is_bound, of_parts, bool(lists["not_roles"]))


@cache
def _nothing() -> Asked:
    """What is asked when nothing is."""
    lists = ("origins", "models", "projects", "tools", "roles", "paths", "sessions")
    params = {f"{no}{name}": "[]" for no in ("", "not_") for name in lists}
    more = {"turns": "[]", "literals": "[]", "is_filtered": 0, "is_homed": 0}
    return Asked(EVERYTHING.bound() | params | more, is_bound=False, of_parts=False)


def _dated(query: Query, filters: Filters, now: int) -> Filters:
    """The filters with the times of the query: the narrower one counts."""
    since = [parse(value, now) for value in query.values("since")]
    until = [parse_end(value, now) for value in query.values("until")]
    begins = max([*since, *([] if filters.since is None else [filters.since])], default=None)
    ends = min([*until, *([] if filters.until is None else [filters.until])], default=None)
    return msgspec.structs.replace(filters, since=begins, until=ends)


def _anywhere(value: str) -> str:
    return f"%{pattern(value)}%"


def _folder(value: str) -> str:
    """A folder by its name, the end of its path, or one that it is in."""
    return f"%/{pattern(value.replace(chr(92), '/').strip('/'))}/%"


def _role(value: str) -> str:
    return OTHER_ROLES.get(value.lower(), value.lower())


def _labels(tx: Tx, values: Iterable[str]) -> list[str]:
    """Labels by name, alias, or pattern; the name of nothing is the name of nothing."""
    found: list[str] = []
    for value in values:
        known = sessions.resolve(tx, value)
        if known is not None:
            found.append(known.label)
        else:
            like = pattern(value if "*" in value else f"*{value}*")
            found += [row[0] for row in tx.rows("labels_like", pattern=like, most=_MOST_SESSIONS)] or _NOBODY
    return found


def _turns(tx: Tx, labels: Sequence[str]) -> list[str]:
    """All turns that sessions have had, also those that they share with others."""
    turns = [row[0] for label in labels for row in tx.rows("turns_in_session", label=label, most=_MOST_TURNS)]
    return turns or (_NOBODY if labels else [])


def _paths(database: Database, tx: Tx, values: Iterable[str]) -> list[str]:
    """The files whose path has these parts, one after the other; `*` at the end leaves the last one open."""
    found: list[str] = []
    for value in values:
        wanted = Term(value.rstrip("*"), is_prefix=value.endswith("*"))
        words = all_of(database.dialect, [wanted], [], noted_words)
        found += [row[0] for row in tx.rows("found_paths", words=words, most=_MOST_PATHS)] if words else []
    return found or (_NOBODY if values else [])
