"""A source as it was captured: a row of the evidence."""

from msgspec import Struct

PACKED = b"\x28\xb5\x2f\xfd"  # how a file begins that zstd packed
UNRECOGNISED = "unrecognised"  # the format of a file that no format knows, and that is kept as evidence all the same


class Capture(Struct):
    """A row of `captures`, without where its reading goes on."""

    id: int
    path: str
    format: str
    kind: str
    shape: str
    bundle: str | None
    generation: int
    state: str
    size_bytes: int
    digest: bytes
    modified_ns: int
    first_seen_at: int
    seen_at: int
    read_bytes: int
    can_resume: int = 0
    is_awaiting: int = 0
