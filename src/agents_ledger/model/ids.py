"""Identity: ULIDs. Born here: monotonic within a process. Read from a source: derived from what it is."""

import os
import threading
import time

from agents_ledger.model.later import later

_sha256 = later("hashlib", "sha256")  # who only looks has no new ids, and OpenSSL takes 3 ms to load
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALID = frozenset(_ALPHABET)
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_RANDOM_BITS = 80
_MAX = (1 << 128) - 1
_LAST_STAMP = (1 << 48) - 1
LENGTH = 26
LAST = "\U0010ffff"  # behind every id, also those that a program gave: none may have this character


class UlidSource:
    """Gives ULIDs, each greater than the last one of this process, also when the clock goes back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may write in the middle of it
        self._last = 0
        self._pid = 0

    def __call__(self, now_ms: int | None = None) -> str:
        """The next ULID, stamped `now_ms` (now, if not given)."""
        stamp = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        with self._lock:
            pid = os.getpid()
            if stamp > self._last >> _RANDOM_BITS or pid != self._pid:
                # A forked child starts anew: its parent may be at the same millisecond.
                stamp = max(stamp, self._last >> _RANDOM_BITS)
                self._last = stamp << _RANDOM_BITS | int.from_bytes(os.urandom(10), "big")
                self._pid = pid
            else:
                self._last += 1
            return encode(self._last)


def encode(value: int) -> str:
    """128 bits as 26 characters of Crockford's base 32."""
    value &= _MAX
    pairs = _PAIRS  # unrolled: an append makes half a dozen ids
    high, low = value >> 70, value & ((1 << 70) - 1)
    return (
        f"{pairs[high >> 50]}{pairs[high >> 40 & 1023]}{pairs[high >> 30 & 1023]}{pairs[high >> 20 & 1023]}"
        f"{pairs[high >> 10 & 1023]}{pairs[high & 1023]}{pairs[low >> 60]}{pairs[low >> 50 & 1023]}"
        f"{pairs[low >> 40 & 1023]}{pairs[low >> 30 & 1023]}{pairs[low >> 20 & 1023]}{pairs[low >> 10 & 1023]}"
        f"{pairs[low & 1023]}"
    )


def derived(at_ms: int, *parts: str | int) -> str:
    """The ULID of something that was not born here: its time, and a hash of what it is. The same again, always."""
    digest = _sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
    stamp = min(max(at_ms, 0), _LAST_STAMP)
    return encode(stamp << _RANDOM_BITS | int.from_bytes(digest[:10], "big"))


def ulid(at_ms: int, random: bytes) -> str:
    """A ULID out of (at least) 10 random bytes."""
    return encode(min(max(at_ms, 0), _LAST_STAMP) << _RANDOM_BITS | int.from_bytes(random[:10], "big"))


def uuid4(random: bytes) -> str:
    """A UUID of version 4 out of 16 random bytes."""
    return _uuid(int.from_bytes(random, "big"), 4)


def written_id(session: str, count: int) -> str:
    """The UUID of the n-th line that is written for a session whose format wants one."""
    return uuid4(_sha256(f"{session}/{count}".encode("utf-8", "surrogatepass")).digest()[:16])


def uuid7(at_ms: int, random: bytes) -> str:
    """A UUID of version 7 (ordered by time) out of 16 random bytes."""
    number = min(max(at_ms, 0), _LAST_STAMP) << _RANDOM_BITS | int.from_bytes(random[-10:], "big")
    return _uuid(number, 7)


def _uuid(number: int, version: int) -> str:
    """128 bits as a UUID of RFC 9562."""
    number = number & ~(0xF << 76) & ~(0x3 << 62) | version << 76 | 0x2 << 62
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_ulid(text: str) -> bool:
    """Whether the text has the shape of an id of ours."""
    return len(text) == LENGTH and _VALID.issuperset(text)
