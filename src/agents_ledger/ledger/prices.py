"""The price table: a library's. Loading it takes half a second, so what was asked for is kept in a small file."""

# ruff: noqa: PTH116, PTH118, PTH120, PTH123 - `pathlib` takes 4 ms to load, as long as everything else here

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from agents_ledger.model.prices import SLOT_MS, ModelPrices, Price, PriceTable, Tiers, usual_variant
from agents_ledger.model.times import iso, now_ms

if TYPE_CHECKING:
    from genai_prices.types import ConditionalPrice, ModelInfo, ModelPrice

_LIBRARY = "genai_prices"
_NAME = "genai-prices"
_MINUTES = 15
_MS_A_DAY = 86_400_000
_LARGEST = 1 << 20  # bytes of the kept file
_MOST = 2000  # models in it


class _Kept(msgspec.Struct):
    """What is in the file: for one state of the library, the models that were asked for; None has no price there."""

    stamp: str
    source: str
    days: list[str]  # on which prices begin, as far as it says
    models: list[tuple[str, str, ModelPrices | None]]


def prices_of(wanted: Iterable[tuple[str, str]], kept_in: "os.PathLike[str] | str | None" = None) -> PriceTable | None:
    """The prices of models, by (provider, model); None if the library is not installed."""
    spec = find_spec(_LIBRARY)
    if spec is None or spec.origin is None:
        return None
    stamp = _stamp(os.path.dirname(spec.origin))
    kept = _read(kept_in, stamp)
    known = {(provider, model): found for provider, model, found in kept.models} if kept else {}
    asked = list(dict.fromkeys(wanted))
    if kept is None or any(pair not in known for pair in asked):
        known |= {pair: _find(*pair) for pair in asked if pair not in known}
        rows = [(*pair, found) for pair, found in known.items()]
        kept = _Kept(stamp, *_source(), rows[-_MOST:])
        _write(kept_in, kept)
    models = {pair: found for pair in asked if (found := known[pair]) is not None}
    today = (iso(now_ms()) or "")[:10]
    return PriceTable(kept.source, max((day for day in kept.days if day <= today), default=None), models)


def _stamp(folder: str) -> str:
    """Which data the library has, without loading it."""
    found = os.stat(os.path.join(folder, "data.py"))
    return f"2:{found.st_size}:{found.st_mtime_ns}"


def _read(path: "os.PathLike[str] | str | None", stamp: str) -> _Kept | None:
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            kept = msgspec.json.decode(file.read(_LARGEST), type=_Kept)
    except (OSError, msgspec.DecodeError):
        return None
    return kept if kept.stamp == stamp else None


def _write(path: "os.PathLike[str] | str | None", kept: _Kept) -> None:
    """Keeps it for the next time; if that can't be, the library is loaded again."""
    if path is None:
        return
    from pathlib import Path  # noqa: PLC0415 - the library itself takes a hundred times as long

    path = Path(path)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        partial.write_bytes(msgspec.json.encode(kept))
        partial.replace(path)


def _source() -> tuple[str, list[str]]:
    from genai_prices import __version__  # noqa: PLC0415 - half a second, only when asked for
    from genai_prices.data import providers  # noqa: PLC0415 - as above

    prices = [info.prices for provider in providers for info in provider.models if isinstance(info.prices, list)]
    days = {str(begins) for each in prices for one in each if (begins := getattr(one.constraint, "start_date", None))}
    return f"{_NAME} {__version__}", sorted(days)


def _find(provider: str, model: str) -> ModelPrices | None:
    """A model by its name, or a fast variant of one.

    The library takes names by their beginnings, so it gives a fast variant that it does not know the usual price.
    """
    found = _look_up(provider, model)
    usual = usual_variant(model)
    if usual is None or (found is not None and "fast" in found.name):
        return found
    base = _look_up(provider, usual)
    return None if base is None else base.in_fast_mode


def _look_up(provider: str, model: str) -> ModelPrices | None:
    """A model by its provider's name and its own; by its own alone; as a router or a cloud names it."""
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - half a second, only when asked for

    last = model.rpartition("/")[2]
    tries: list[tuple[str | None, str]] = [(provider, model)] if provider else []
    tries += [(None, model)]
    tries += [("openrouter", model), (None, last)] if "/" in model else []
    tries += [("aws", model)] if "." in model else []
    for who, name in tries:
        with suppress(LookupError):
            found = get_snapshot().find_provider_model(name, None, who, None)[1]
            return ModelPrices(found.id, tuple(map(_price, _conditional(found))), found.context_window)
    return None


def _conditional(model: "ModelInfo") -> "list[ConditionalPrice]":
    from genai_prices.types import ConditionalPrice  # noqa: PLC0415 - as above

    return model.prices if isinstance(model.prices, list) else [ConditionalPrice(prices=model.prices)]


def _price(conditional: "ConditionalPrice") -> Price:
    prices, when = conditional.prices, conditional.constraint
    begins: date | None = getattr(when, "start_date", None)
    return Price(
        input=_tiers(prices, "input_mtok"),
        output=_tiers(prices, "output_mtok"),
        cached=_tiers(prices, "cache_read_mtok", "input_mtok"),
        cache_write=_tiers(prices, "cache_write_mtok", "input_mtok"),
        since_slot=0 if begins is None else (begins - date(1970, 1, 1)).days * (_MS_A_DAY // SLOT_MS),
        from_slot=_slot(getattr(when, "start_time", None)),
        to_slot=_slot(getattr(when, "end_time", None)),
    )


def _tiers(prices: "ModelPrice", *names: str) -> Tiers:
    """The first price that there is, with what it becomes for large prompts; free, if there is none."""
    value: Any = next((found for name in names if (found := getattr(prices, name)) is not None), None)
    if value is None:
        return ((0, 0.0),)
    tiers = [(tier.start, float(tier.price)) for tier in getattr(value, "tiers", ())]
    return ((0, float(getattr(value, "base", value))), *tiers)


def _slot(at: time | None) -> int | None:
    return None if at is None else (at.hour * 60 + at.minute) // _MINUTES
