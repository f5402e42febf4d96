"""What a format is: how its sources are found, recognised and read. Formats are pure: no disk, no clock."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from agents_ledger.model.later import later

if TYPE_CHECKING:
    from agents_ledger.model.steps import Event
    from agents_ledger.model.story import Held
    from agents_ledger.model.writing import Native

# lines: a file of JSON lines that grows at its end (also as .zst)
# document: one file, replaced as a whole
# bundle: a folder of small files that belong together
# database: rows of an SQLite file, grouped by what they belong to
Shape = Literal["lines", "document", "bundle", "database"]


class Machine(Struct, frozen=True):
    """The computer as far as a format may know it."""

    home: str
    environ: Mapping[str, str]
    platform: str  # sys.platform


class Root(Struct, frozen=True):
    """A folder where an agent keeps sessions; `pattern` is a regular expression for paths below it (with /)."""

    path: str
    pattern: str
    is_own: bool = True  # the agent's own folder: other transcripts in it are kept, too


class Kind(Struct, frozen=True):
    """What a file was recognised as."""

    name: str  # 'transcript', 'index', 'meta' …: the format's own word
    shape: Shape
    score: int = 50  # when several formats claim a file, the surest one has it
    order: int = 50  # small ones are read first (archives before what continues them)
    is_fallback: bool = False  # a poorer copy: read only where the session has no other source
    session: str = ""  # of such a copy: the session that its path names
    group: str = ""  # of a bundle, where its folder holds several: the one that the file belongs to


class Source(Struct, frozen=True):
    """What a reader is told about what it reads."""

    path: str
    kind: str
    until: int | None = None  # read only what lies before this record, by the agent's own count


class Reader(Protocol):
    """Turns records into events. A reader is a msgspec Struct of plain values: its fields are its whole state."""

    def read(self, record: bytes, name: str) -> "Iterable[Event]":
        """The events of one record: a line (without its end), or a file or row with its name."""

    def end(self) -> "Iterable[Event]":
        """What is known only when all records were read (documents, bundles, databases)."""


class Row(Struct, frozen=True):
    """One row of another program's database, by table and key."""

    table: str
    key: str
    value: bytes


class Owned(Struct, frozen=True):
    """A table whose rows name their group in a column. Their value is some columns as a JSON object, then the data."""

    key: str
    owner: str  # the column that names the group
    columns: tuple[str, ...]  # small ones; those that a database does not have are left out
    # the column that holds the most, or several of which a row fills one: its bytes as they are, behind a line end
    data: tuple[str, ...]
    # columns of which the greatest value, with the number of rows and the last key, shows that something has changed
    stamp: tuple[str, ...] = ()
    is_apart: bool = False  # what changes all the time: a group of its own, beside the one that it belongs to


class Tables(Struct, frozen=True):
    """How a format looks into a database: which rows it takes, and which belong together."""

    # table → (key column, value column)
    columns: Mapping[str, tuple[str, str]]
    # the group of a row ('' for none of its own: it goes where it is referred to); None: never read (secrets)
    group: Callable[[str, str], str | None]
    # the keys that a value refers to, to be read into its group
    refers: Callable[[str, str, bytes], Iterable[tuple[str, str]]] = lambda _table, _key, _value: ()
    # a value without the secrets that stand inside it: these are not even kept as evidence
    clean: Callable[[str, str, bytes], bytes] = lambda _table, _key, value: value
    # tables whose rows say themselves to which group they belong
    owned: Mapping[str, Owned] = {}
    # rows are added at the end of a group, as a rule: then only those are read
    is_growing: bool = False
    # the line of a file that a row stands for, where a program keeps in rows what it (or its kin) keeps in lines
    line: Callable[[Row], bytes | None] | None = None


class Format(Struct, frozen=True):
    """An agent's way of keeping sessions. Each module of `formats` has one, called FORMAT."""

    name: str
    recognise: Callable[[str, bytes], Kind | None]  # path, first bytes (at most 64 KiB, unpacked)
    reader: Callable[[Source], Reader]
    roots: Callable[[Machine], Iterable[Root]]
    bundle: Callable[[str], str | None] = lambda _path: None  # the folder that a file of a bundle belongs to
    tables: Callable[[], Tables] | None = None  # of databases
    # what a record of lines holds besides the text that the ledger has: signatures, pictures
    held: "Callable[[bytes], Held]" = later("agents_ledger.model.story", "nothing_held")
    # how its sessions are written, for each agent that reads them
    natives: "Callable[[], Mapping[str, Native]]" = dict
    # of sources that do not begin with the very bytes of a fork: the session that a step was written for, by the one in
    # which it stands and by its id; None if it was not written from here
    wrote: Callable[[str, str], str | None] | None = None
