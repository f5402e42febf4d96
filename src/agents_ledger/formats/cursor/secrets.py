"""Secrets inside rows that are kept: their values are blanked before anything else sees them, all else stays as it is.

Every composer of Cursor 2 and 3 holds the keys that its blobs are encrypted with on Cursor's servers.
"""

import binascii
import json
import re

import msgspec

# What a field is called whose value is a key or a token. Cursor's own objects have all of these …
_WORDS = (
    rb"(?:(?:encryption|private|secret|signing|api|access)_?keys?"
    rb"|(?:access|refresh|auth|session|bearer)_?tokens?|client_?secret|password|passphrase)"
)
_MATERIAL = re.compile(rb"\w*" + _WORDS, re.IGNORECASE)
# … but JSON inside a text may be anybody's (parameters of a tool): there only Cursor's own words count.
_OWN = re.compile(rb"\w*encryption_?keys?", re.IGNORECASE)
# Looked for before anything is taken apart (substrings are found ten times as fast as patterns).
_OWN_HINTS = (b"ncryptionKey", b"ncryption_key")
_HINTS = (
    *_OWN_HINTS, b"rivateKey", b"ecretKey", b"igningKey", b"piKey", b"ccessKey", b"ccessToken", b"efreshToken",
    b"uthToken", b"essionToken", b"earerToken", b"lientSecret", b"assword", b"assphrase", b"_key", b"_token",
    b"_secret",
)  # fmt: skip
_STRING = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"?(\s*:)?', re.DOTALL)  # (what it reads is valid JSON)
_BLUNT = re.compile(
    rb'(?<!\\)"\w{0,60}' + _WORDS + rb'"\s{0,20}:\s{0,20}"'
    rb'|(\\{0,7})"\w{0,60}encryption_?keys?\1"\s{0,20}:\s{0,20}\1"',
    re.IGNORECASE,
)
_LEVELS = 3  # of JSON inside texts
_json = msgspec.json.Decoder(msgspec.Raw)


def blanked(value: bytes, level: int = 0) -> bytes:
    """A row's value with empty texts for secrets."""
    if not any(hint in value for hint in (_OWN_HINTS if level else _HINTS)):
        return value
    try:
        _json.decode(value)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _bluntly(value)
    return _fields(value, level)


def blanked_hex(value: bytes) -> bytes:
    """The same for JSON that is written in hexadecimal digits."""
    try:
        plain = binascii.unhexlify(value.strip())
    except (binascii.Error, ValueError):
        return blanked(value)
    clean = blanked(plain)
    return value if clean == plain else clean.hex().encode()


def _fields(value: bytes, level: int) -> bytes:
    """Goes from text to text. What follows a secret's name is blanked: a text, or all texts of an object or a list."""
    is_secret = (_MATERIAL if not level else _OWN).fullmatch
    kept: list[bytes] = []
    done = end = depth = 0  # what is written already; where the text before ends; how deep inside a secret
    follows = False  # the text before was a secret's name
    for found in _STRING.finditer(value):
        between = value[end : found.start()]
        depth = _depth(between, depth, follows=follows)
        follows = follows and not between.strip()
        text, end = found[1], found.end()
        if found[2] is None:  # no name: a value
            clean = b"" if follows or depth else _inner(text, level)
            if clean != text:
                kept += (value[done : found.start(1)], clean)
                done = found.end(1)
        follows = not depth and found[2] is not None and is_secret(text) is not None
    return b"".join((*kept, value[done:]))


def _depth(between: bytes, depth: int, *, follows: bool) -> int:
    """How deep inside a secret one is behind this; 0 where it has ended, or none has begun."""
    if not depth and not (follows and between.lstrip()[:1] in (b"{", b"[")):
        return 0
    for byte in between:
        depth += (byte in b"{[") - (byte in b"}]")
        if not depth and byte in b"}]":
            return 0
    return depth


def _inner(text: bytes, level: int) -> bytes:
    """The text of a value, which may be JSON itself."""
    if level >= _LEVELS or text[:1] not in (b"{", b"[") or not any(hint in text for hint in _OWN_HINTS):
        return text
    try:
        plain: bytes = json.loads(b'"%b"' % text, strict=False).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return _bluntly(text)
    clean = blanked(plain, level + 1)
    if clean == plain:
        return text
    # as JavaScript writes it: nothing but what must be is escaped
    written = json.dumps(clean.decode("utf-8", "surrogatepass"), ensure_ascii=False)
    return written[1:-1].encode("utf-8", "backslashreplace")


def _bluntly(value: bytes) -> bytes:
    """The same for what is no JSON (a row that was cut): by the looks of it."""
    kept: list[bytes] = []
    done = 0
    while found := _BLUNT.search(value, done):
        kept.append(value[done : found.end()])
        done = _closed(value, found.end(), len(found[1] or b""))
    return b"".join((*kept, value[done:]))


def _closed(value: bytes, at: int, escapes: int) -> int:
    """Where a text ends whose quotes are written with so many backslashes."""
    start = at
    while (quote := value.find(b'"', at)) >= 0:
        head = value[max(start, quote - escapes - 1) : quote]
        slashes = len(head) - len(head.rstrip(b"\\"))
        if slashes <= escapes:
            return quote - slashes
        at = quote + 1
    return len(value)
