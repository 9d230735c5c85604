"""What is charged for a call that has been sent, by what its answer told.

- It told all: its price.
- It ended with an error: the input and output that it had told of; if it told of none, the input as it was held, and
  all that was held if output had come.
- It broke off: the input it told of, with the output as it was held; if it told of none, all that was held.
- What it told can't be right or has no price: all that was held.

All but the first are marked as estimated. A call that the provider refused, or never got, isn't charged at all; that
is decided where calls are sent.
"""

from __future__ import annotations

from dataclasses import replace

from sandbox_components.ledger.model import Cost
from sandbox_components.proxy.counts import Usage
from sandbox_components.proxy.rates import CannotPrice, ModelPrices
from sandbox_components.proxy.request import Plan
from sandbox_components.proxy.usage import UsageReader
from sandbox_components.proxy.worst_case import WorstCase


def bill(plan: Plan, worst: WorstCase, prices: ModelPrices, reader: UsageReader) -> Cost:
    """Return what a call cost.

    Args:
        plan: what was asked for.
        worst: what was held for it.
        prices: those it was held by.
        reader: has read all of the answer that came.
    """
    usage = reader.finish()
    if not plan.endpoint.is_billed or prices.is_free:
        return _cost(0, usage or Usage(), prices)
    try:
        if usage is not None and reader.is_complete:
            return _cost(prices.nanos(usage), usage, prices)
        if usage is not None and reader.failed:
            return _cost(prices.nanos(usage), usage, prices, is_estimated=True)
        if usage is not None:
            unknown = replace(usage, output_tokens=max(usage.output_tokens, worst.output_tokens))
            return _cost(min(prices.nanos(unknown), worst.nanos), usage, prices, is_estimated=True)
    except CannotPrice:
        return full(worst, prices)
    if reader.failed and not reader.has_output:
        nanos = prices.dearest_nanos(plan.tiers, worst.input_tokens, 0, geo=plan.geo)
        return _cost(nanos, Usage(), prices, is_estimated=True)
    return full(worst, prices)


def full(worst: WorstCase, prices: ModelPrices) -> Cost:
    """Return all that was held, as estimated: what a call costs of which nobody knows better. Tokens are unknown."""
    return _cost(worst.nanos, Usage(), prices, is_estimated=True)


def _cost(nanos: int, usage: Usage, prices: ModelPrices, *, is_estimated: bool = False) -> Cost:
    return Cost(
        nanos,
        input_tokens=usage.input_tokens,
        cached_input_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        price_source=prices.source,
        price_version=prices.version,
        is_estimated=is_estimated,
    )
