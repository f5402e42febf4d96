"""Prices of models, as values: by date, by time of day, by the size of the prompt."""

from msgspec import Struct
from msgspec.structs import replace

# The sizes of prompts at which prices of models change. `usage_slots.prompt_over` is one of them, or 0.
SIZES = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
SLOT_MS = 900_000
SLOTS_A_DAY = 96
_MILLION = 1_000_000
_FAST = "-fast"
# What fast mode costs, as a multiple of the model's usual price: Anthropic's page on fast mode and OpenRouter's prices,
# OpenAI's page on priority processing (renamed fast mode in July 2026). By the name in the price table.
_FAST_MULTIPLES = {
    **dict.fromkeys(("claude-opus-4-6", "claude-opus-4.6", "claude-opus-4-7", "claude-opus-4.7"), 6.0),
    **dict.fromkeys(("claude-opus-4-8", "claude-opus-4.8", "claude-opus-5"), 2.0),
    **dict.fromkeys(("gpt-5", "gpt-5-codex", "gpt-5.1", "gpt-5.1-codex", "gpt-5.2", "gpt-5.2-codex"), 2.0),
    **dict.fromkeys(("gpt-5.3-codex", "gpt-5.4", "gpt-5.4-mini"), 2.0),
    **dict.fromkeys(("gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"), 2.0),
    "gpt-5-mini": 1.8,
    "gpt-5.5": 2.5,
}

Tiers = tuple[tuple[int, float], ...]
"""Dollars for a million tokens, each with the size that a prompt must be over: 0 first. The last that fits counts."""


class Price(Struct, frozen=True):
    """What tokens cost from a day on, perhaps only at a time of day (in slots, UTC)."""

    input: Tiers
    output: Tiers
    cached: Tiers
    cache_write: Tiers
    since_slot: int = 0
    from_slot: int | None = None
    to_slot: int | None = None

    def times(self, factor: float) -> "Price":
        """A multiple of it."""
        kinds = {kind: _times(getattr(self, kind), factor) for kind in ("input", "output", "cached", "cache_write")}
        return replace(self, **kinds)

    def holds_at(self, slot: int) -> bool:
        """Whether it is the price of a quarter of an hour."""
        if slot < self.since_slot:
            return False
        if self.from_slot is None or self.to_slot is None:
            return True
        at = slot % SLOTS_A_DAY
        if self.to_slot < self.from_slot:
            return at >= self.from_slot or at < self.to_slot
        return self.from_slot <= at < self.to_slot


class ModelPrices(Struct, frozen=True):
    """What is known of a model: its name in the price table, its prices (the last that holds counts), its limit."""

    name: str
    prices: tuple[Price, ...]
    context_tokens: int | None = None

    def rates(self, slot: int, prompt_over: int) -> tuple[float, float, float, float] | None:
        """Dollars for one token of input, output, cached input and cache writing; None if nothing was asked then."""
        held = next((price for price in reversed(self.prices) if price.holds_at(slot)), None)
        if held is None:
            return None
        kinds = (held.input, held.output, held.cached, held.cache_write)
        first, second, third, fourth = (_fitting(tiers, prompt_over) / _MILLION for tiers in kinds)
        return first, second, third, fourth

    @property
    def is_constant(self) -> bool:
        """Whether it costs the same at all times (and did so at the beginning of all: slot 0)."""
        return len(self.prices) == 1 and self.prices[0].holds_at(0)

    @property
    def in_fast_mode(self) -> "ModelPrices":
        """The same model in fast mode: at a multiple of its prices, or without prices if that is not known."""
        multiple = _FAST_MULTIPLES.get(self.name.rpartition("/")[2])
        return replace(self, prices=() if multiple is None else tuple(price.times(multiple) for price in self.prices))


class PriceTable(Struct, frozen=True):
    """Prices of some models, and whose they are. A model that is not in it has no known price."""

    source: str  # the library, and its version
    newest: str | None  # the day of its newest price that has one
    models: dict[tuple[str, str], ModelPrices]  # by provider and model


def fast_variant(model: str | None) -> str | None:
    """The name under which calls in a model's fast mode are counted: `claude-opus-4-6-fast`."""
    return model if model is None or model.endswith(_FAST) else model + _FAST


def usual_variant(model: str) -> str | None:
    """The model that a fast variant is of; None if it is not one."""
    return model.removesuffix(_FAST) if model.endswith(_FAST) else None


def _times(tiers: Tiers, factor: float) -> Tiers:
    return tuple((size, price * factor) for size, price in tiers)


def _fitting(tiers: Tiers, prompt_over: int) -> float:
    return next(price for size, price in reversed(tiers) if not size or prompt_over >= size)
