"""Prices and sizes that the operator gives: they win over the bundled list, and are the only ones for local models.

In the proxy's settings, by the model's name as agents send it; money as text or number of dollars per million tokens:

prices:
  our-finetune: {input: "0.60", output: "2.40", cachedInput: "0.06", contextWindow: 131072, maxOutputTokens: 8192}
  llama-on-our-nodes: {free: true, contextWindow: 131072}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from sandbox_components.errors import InvalidInput
from sandbox_components.proxy.model_table import Capacity, capacity
from sandbox_components.proxy.rates import STANDARD, ModelPrices, Rates, Steps
from sandbox_components.spec.reading import Flag, Model, Whole, read
from sandbox_components.spec.shown import show

LEAST_DOLLARS = Decimal("0.0001")
MOST_DOLLARS = Decimal(10_000)
NANOS = 10**9


def _dollars(value: object) -> Decimal:
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or len(text) > 30:
        raise ValueError(f'{show(value)} is not a price: accepted are dollars per million tokens, such as "2.50"')
    if not LEAST_DOLLARS <= amount <= MOST_DOLLARS:
        raise ValueError(
            f"{show(value)} is no likely price: accepted are {LEAST_DOLLARS} to {MOST_DOLLARS} dollars per million "
            "tokens; what costs nothing is free: true"
        )
    return amount


Dollars = Annotated[Decimal, BeforeValidator(_dollars)]
Tokens = Annotated[Whole, Field(ge=1, le=10_000_000)]


class OwnPrice(Model):
    """One model's entry."""

    free: Flag = False
    input: Dollars | None = None
    output: Dollars | None = None
    cached_input: Dollars | None = None
    cache_write: Dollars | None = None
    cache_write_1h: Annotated[Dollars | None, Field(alias="cacheWrite1h")] = None
    context_window: Tokens | None = None
    max_output_tokens: Tokens | None = None
    image_tokens: Tokens | None = None

    @model_validator(mode="after")
    def _whole(self) -> OwnPrice:
        prices = (self.input, self.output, self.cached_input, self.cache_write, self.cache_write_1h)
        if self.free and any(one is not None for one in prices):
            raise InvalidInput("free", "is true, so there can be no price beside it")
        if self.input is None and any(one is not None for one in prices):
            raise InvalidInput("input", "is missing: the other prices need it")
        return self

    @property
    def has_price(self) -> bool:
        """Whether it gives a price, and not only sizes."""
        return self.free or self.input is not None

    def capacity(self, model: str) -> Capacity:
        """Return the sizes given here, and for the rest the documented ones."""
        known = capacity(model)
        return Capacity(
            self.context_window or known.window,
            self.max_output_tokens or known.output,
            self.image_tokens or known.image,
        )

    def prices(self, model: str, *, is_anthropic: bool) -> ModelPrices:
        """Return what it says of prices; its version changes whenever it does."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        version = hashlib.sha256(text.encode()).hexdigest()[:12]
        tiers: dict[str, Rates] = {}
        if self.input is not None:
            tiers[STANDARD] = Rates(
                _flat(self.input),
                _flat(self.output),
                _flat(self.cached_input),
                _flat(self.cache_write),
                _flat(self.cache_write_1h),
            )
        return ModelPrices(model, tiers, "operator", version, self.capacity(model), is_anthropic)


def read_own_prices(given: Mapping[str, Any], field: str = "prices") -> dict[str, OwnPrice]:
    """Read the operator's prices.

    Raises:
        InvalidInput: naming model and field; also for a price that is likely per token or in cents.
    """
    return {model: read(OwnPrice, entry, f"{field}.{model}") for model, entry in given.items()}


def _flat(amount: Decimal | None) -> Steps:
    return () if amount is None else ((0, nanos(amount)),)


def nanos(dollars: Decimal) -> int:
    """Return dollars as nano-dollars, rounded up."""
    return int(-(-dollars * NANOS // 1))
