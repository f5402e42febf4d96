"""Where OpenCode keeps its sessions."""

import re
from collections.abc import Iterator

from agents_ledger.model.formats import Machine, Root

_PATTERN = r"^opencode(?:-[^/]*)?\.db$|^(?:project/[^/]+/)?storage/(?:session|message|part)/.+\.json$"


def roots(machine: Machine) -> Iterator[Root]:
    """`opencode` below `$XDG_DATA_HOME` and `~/.local/share` (on all systems), and the database of `$OPENCODE_DB`."""
    named = machine.environ.get("XDG_DATA_HOME")
    for place in dict.fromkeys(home.rstrip("/\\") for home in (named, f"{machine.home}/.local/share") if home):
        yield Root(f"{place}/opencode", _PATTERN)
    database = (machine.environ.get("OPENCODE_DB") or "").replace("\\", "/")
    folder, _, name = database.rpartition("/")
    if folder and name:
        yield Root(folder, f"^{re.escape(name)}$", is_own=False)
