"""Where to cut a file, and how it grows: few places, always the same ones, the awkward ones among them."""

from random import Random


def cuts(data: bytes, count: int, seed: str) -> list[int]:
    """Some positions: at line ends, one byte before and behind them, inside lines, inside characters."""
    random = Random(seed)  # noqa: S311 - the same places each time
    ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
    inside = [at for at, byte in enumerate(data) if byte & 0xC0 == 0x80]
    found: set[int] = set()
    for end in _some(random, ends, count):
        found |= {end - 1, end, end + 1}
    found |= set(_some(random, inside, count // 2))
    found |= {random.randrange(1, len(data)) for _ in range(count) if len(data) > 1}
    usable = sorted(at for at in found if 0 < at < len(data))
    return sorted(_some(random, usable, count))


def growth(data: bytes) -> list[bytes]:
    """A file after each of its lines."""
    return [data[: at + 1] for at, byte in enumerate(data) if byte == 0x0A and at + 1 < len(data)]


def _some(random: Random, values: list[int], count: int) -> list[int]:
    return values if len(values) <= count else random.sample(values, count)
