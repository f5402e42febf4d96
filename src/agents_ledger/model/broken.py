"""What can still be said of a record that is not JSON any more: the ids that place it in a chain."""

import re

# An unterminated string matches up to the end of the record (see `lines`): the search does not start again inside it.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?)|[{}\[\]]', re.DOTALL)
_COLON = re.compile(rb"\s{0,16}:\s{0,16}")
_LONGEST = 200  # bytes of an id


def texts_of(record: bytes, keys: tuple[str, ...]) -> dict[str, str]:
    """The texts of an object's own keys (not those of objects inside it), as far as the record can be followed.

    A record that was cut off keeps what stands before the cut. `null` and everything else that is no text is left out.
    """
    wanted = {f'"{key}"'.encode(): key for key in keys}
    found: dict[str, str] = {}
    depth = 0
    key: str | None = None
    key_end = 0
    for token in _TOKEN.finditer(record):
        first = token[0][:1]
        if first != b'"':
            depth += 1 if first in b"{[" else -1
            key = None
            continue
        if not token["end"]:
            break
        if key is not None and _COLON.fullmatch(record, key_end, token.start()) and len(token[0]) <= _LONGEST:
            found.setdefault(key, token[0][1:-1].decode("utf-8", "replace"))
        key, key_end = (wanted.get(token[0]), token.end()) if depth == 1 else (None, 0)
        if len(found) == len(keys):
            break
    return found
