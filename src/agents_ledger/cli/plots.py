"""Small plots: bars and curves, made of characters."""

from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "▁▂▃▄▅▆▇█"


def bar(value: float, largest: float, width: int) -> str:
    """A bar, as long as a value is against the largest one; what is not nothing is seen."""
    if value <= 0 or largest <= 0:
        return ""
    eighths = max(1, round(value / largest * width * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def sparkline(values: Sequence[float]) -> str:
    """A small curve, a character for each value."""
    top = max(values, default=0)
    if top <= 0:
        return ""
    return "".join(_HEIGHTS[min(7, int(value / top * 8))] if value > 0 else " " for value in values)
