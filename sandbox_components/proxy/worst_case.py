"""What a call can cost at most: the amount that is held before it is sent.

Every byte of text counts as a token, at the dearest of all input rates that may apply (cache writes and long input
included), and the output as long as the request or the model allows, times the choices. What isn't in the body counts
as the model's whole window. The provider refuses input that is larger than that, so no more is ever held for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sandbox_components.proxy.fault import BadRequest, Unpriced
from sandbox_components.proxy.rates import ModelPrices
from sandbox_components.proxy.request import Plan


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The most that a call can be.

    Attributes:
        nanos: nano-dollars.
        input_tokens: what it can read.
        output_tokens: what it can write, all choices together.
    """

    nanos: int
    input_tokens: int = 0
    output_tokens: int = 0


def worst_case(plan: Plan, prices: ModelPrices) -> WorstCase:
    """Return the most that a call can cost.

    Raises:
        BadRequest: nothing bounds it; the text names the field that would.
        Unpriced: what it asks for has no price.
    """
    if not plan.endpoint.is_billed or prices.is_free:
        return WorstCase(0)
    if plan.output_limit != 0 and not prices.writes:
        raise Unpriced(
            f"the model {plan.model} has no price for output, so it serves {plan.endpoint.name} not", param="model"
        )
    if plan.needs_tier and plan.needs_tier not in prices.tiers:
        field = "speed" if plan.needs_tier.startswith("speed") else "service_tier"
        raise BadRequest(
            f"{field} asks for a tier that has no price here for the model {plan.model}",
            param=field,
            code="cannot_be_capped",
        )
    read = input_bound(plan, prices)
    written = _output_bound(plan, prices) * plan.choices + plan.extra_output
    return WorstCase(prices.dearest_nanos(plan.tiers, read, written, geo=plan.geo), read, written)


def input_bound(plan: Plan, prices: ModelPrices) -> int:
    """Return how many tokens a call can read at most.

    Raises:
        BadRequest: input that isn't in the body, for a model whose window nobody documents.
    """
    found, size = plan.found, prices.capacity
    because = found.window_because
    tokens = plan.text_tokens
    for places, each in ((found.pictures, size.image), (found.stored_outputs, size.output)):
        tokens += len(places) * (each or 0)
        if places and not each:
            because = because or places[0]
    if not because:
        return min(tokens, size.window) if size.window else tokens
    if not size.window:
        raise BadRequest(
            f"{because} can hold as much as the model's window, and nobody here knows the window of {plan.model}; the "
            f"operator of the proxy can set it in the settings, under prices.{plan.model}.contextWindow",
            param=because,
            code="cannot_be_capped",
        )
    return size.window


def _output_bound(plan: Plan, prices: ModelPrices) -> int:
    if plan.output_limit is not None:
        return plan.output_limit
    known = prices.capacity.output or prices.capacity.window
    if not known:
        name = plan.limit_field
        raise BadRequest(
            f"{name} is missing, and nobody here knows how much the model {plan.model} writes at most: set {name}",
            param=name,
            code="cannot_be_capped",
        )
    return known
