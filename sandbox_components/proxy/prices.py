"""Which prices a model has: the operator's, else those bundled in the package `genai-prices`; else none, and no call.

Loading that list takes half a second and a look-up up to a tenth, so this is imported by a running proxy alone, and
every model's rates are worked out once a day. Nothing is fetched from anywhere: prices change with the release of
`genai-prices` that is installed, and the ledger's rows say which one it was.

A model without a price, with a price of zero that the operator didn't set, or with a price that has parts which aren't
counted here (per request, per second) is refused: a cap on it would not hold.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from datetime import date, datetime
from importlib.metadata import version

from genai_prices import data_snapshot
from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices, TimeOfDateConstraint

from sandbox_components.proxy.fault import Unpriced
from sandbox_components.proxy.model_table import Capacity, capacity
from sandbox_components.proxy.own_prices import OwnPrice, nanos
from sandbox_components.proxy.rates import STANDARD, ModelPrices, Rates, Steps

SOURCE = "genai-prices"

_MOST_KEPT = 1024
_PARTS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "input_audio_mtok": "audio_input",
    "output_audio_mtok": "audio_output",
    "output_reasoning_mtok": "reasoning",
}
_ONLY_BY_TOOLS = ("storage_searches_kcount", "web_searches_kcount")
"""Charged when a hosted tool is used, and hosted tools are refused before the call."""
_TIERS = ("flex", "priority", "fast")


class Prices:
    """All prices that this proxy knows.

    Args:
        own: the operator's, by model; see `own_prices`.
    """

    def __init__(self, own: Mapping[str, OwnPrice] | None = None) -> None:
        self._own = dict(own or {})
        self._version = version("genai-prices")
        self._kept = functools.lru_cache(_MOST_KEPT)(self._bundled)
        _find("openai", "gpt-4o")  # the first look-up is slow: better now than in a call

    def of(self, api: str, model: str, at: datetime) -> ModelPrices:
        """Return a model's prices at a moment.

        Args:
            api: `openai` or `anthropic`, or another provider of the bundled list.
            model: as the caller names it.
            at: an aware instant; keep what is returned until the call is settled.

        Raises:
            Unpriced: there is none, or the model can't be capped.
        """
        own = self._own.get(model)
        if own is not None and own.has_price:
            return own.prices(model, is_anthropic=api == "anthropic")
        found = self._kept(api, model, at.date())
        if found.capacity.refused:
            raise Unpriced(f"the model {model} can't be capped: {found.capacity.refused}", param="model")
        if own is not None:
            return ModelPrices(model, found.tiers, found.source, found.version, own.capacity(model), found.is_anthropic)
        return found

    def _bundled(self, api: str, model: str, day: date) -> ModelPrices:
        info = _find(api, model)
        if info is None:
            raise Unpriced(
                f"nobody here knows what the model {model} costs, so its spending can't be capped; the operator of "
                f"the proxy can set its price in the settings, under prices.{model}",
                param="model",
            )
        if _depends_on_the_hour(info):
            raise Unpriced(
                f"the model {model} costs less at some hours, which isn't counted here; the operator of the proxy can "
                f"set one price in the settings, under prices.{model}",
                param="model",
            )
        at = datetime(day.year, day.month, day.day, 12)
        tiers = {STANDARD: _rates(info.get_prices(at), model)}
        for variant in info.price_variants or ():
            if variant.constraint is not None and not variant.constraint.active(at):
                continue
            name = _tier(variant.when)
            if name:
                tiers[name] = _rates(info.get_prices(at, variant.when), model)
        return ModelPrices(model, tiers, SOURCE, self._version, _capacity(model, info), is_anthropic=api == "anthropic")


def _find(api: str, model: str) -> ModelInfo | None:
    provider = _providers().get(api)
    return provider.find_model(model) if provider is not None else None


@functools.cache
def _providers() -> Mapping[str, Provider]:
    return {provider.id: provider for provider in data_snapshot.get_snapshot().providers}


def _tier(when: Mapping[str, str]) -> str:
    """Return our name of a variant; empty for one that no call through this proxy can be."""
    if when.get("service_tier") in _TIERS and len(when) == 1:
        return when["service_tier"]
    return "speed=fast" if dict(when) == {"speed": "fast"} else ""


def _rates(prices: ModelPrice, model: str) -> Rates:
    parts: dict[str, Steps] = {}
    web_search = 0
    for key, value in vars(prices).items():
        if value is None or key.startswith("_"):
            continue
        if key in _PARTS:
            parts[_PARTS[key]] = _steps(value)
        elif key == "web_searches_kcount" and not isinstance(value, TieredPrices):
            web_search = nanos(value) * 1000
        elif key not in _ONLY_BY_TOOLS:
            raise Unpriced(f"the model {model} has a price ({key}) that can't be capped here", param="model")
    if not _is_some(parts.get("input")) or ("output" in parts and not _is_some(parts["output"])):
        raise Unpriced(
            f"the price list has no price, or zero, for the model {model}; the operator of the proxy can set one in "
            f"the settings, under prices.{model}, also free: true",
            param="model",
        )
    return Rates(**parts, web_search=web_search)


def _steps(value: object) -> Steps:
    if isinstance(value, TieredPrices):
        return ((0, nanos(value.base)), *((tier.start, nanos(tier.price)) for tier in value.tiers))
    return ((0, nanos(value)),)  # type: ignore[arg-type]  # a Decimal, by the list's own validation


def _is_some(steps: Steps | None) -> bool:
    return bool(steps) and all(rate > 0 for _, rate in steps or ())


def _capacity(model: str, info: ModelInfo) -> Capacity:
    """Return what is documented; the list's window only where our own table has none, and with room for rounding."""
    known = capacity(model)
    if known.window is None and info.context_window:
        return Capacity(info.context_window * 21 // 20, known.output, known.image, known.refused)
    return known


def _depends_on_the_hour(info: ModelInfo) -> bool:
    conditions = info.prices if isinstance(info.prices, list) else []
    return any(isinstance(one.constraint, TimeOfDateConstraint) for one in conditions)
