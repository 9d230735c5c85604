"""What a model costs, as whole numbers: nano-dollars per million tokens, and the two questions asked of them.

What did this call cost, and what may that call cost at most. Both go through the same rates, so that a call can't be
admitted at one price and charged at another. Sums are exact; a call's price is rounded up once, at its end.

Long input makes all tokens of a call dearer (a cliff, not a slope), so every rate is a list of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox_components.proxy.counts import Usage
from sandbox_components.proxy.model_table import Capacity

Steps = tuple[tuple[int, int], ...]
"""Ascending: above how many input tokens, and nano-dollars per million tokens from there on; the first begins at 0."""

_PER = 10**6
_GEO_PERCENT = 110
"""Anthropic charges 1.1 times the price for `inference_geo: us`
(https://platform.claude.com/docs/en/manage-claude/data-residency)."""

STANDARD = "standard"
_STANDARD_WORDS = ("", "default", "scale", "auto", STANDARD)
"""Of OpenAI's. Capacity bought beforehand (`scale`) is charged as if it weren't."""
_DEARER = ("priority", "fast", "speed=fast", "ultrafast")


class CannotPrice(ValueError):
    """What was used has no price here; the message says what. The caller charges what was held."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one service tier. An absent part costs what its whole costs, as providers do it."""

    input: Steps
    output: Steps = ()
    cached: Steps = ()
    cache_write: Steps = ()
    cache_write_1h: Steps = ()
    audio_input: Steps = ()
    audio_output: Steps = ()
    reasoning: Steps = ()
    web_search: int = 0
    """Nano-dollars for a million searches; 0: there is no price for them."""

    def price(self, usage: Usage) -> int:
        """Return a call's price in millionths of nano-dollars, so that nothing is rounded yet."""

        def at(*steps: Steps) -> int:
            return _step(next((one for one in steps if one), ()), usage.input_tokens)

        written_1h = usage.cache_write_1h_tokens
        written = usage.cache_write_tokens - written_1h
        audio = usage.audio_input_tokens
        # Cached audio is reported in both counts: it is charged once, as audio.
        cached = max(0, min(usage.cached_tokens, usage.input_tokens - usage.cache_write_tokens - audio))
        plain = max(0, usage.input_tokens - usage.cache_write_tokens - audio - cached)
        spoken, reasoned = usage.audio_output_tokens, usage.reasoning_tokens if self.reasoning else 0
        written_out = max(0, usage.output_tokens - spoken - reasoned)
        return (
            plain * at(self.input)
            + cached * at(self.cached, self.input)
            + written * at(self.cache_write, self.input)
            + written_1h * at(self.cache_write_1h, self.cache_write, self.input)
            + audio * at(self.audio_input, self.input)
            + written_out * at(self.output)
            + reasoned * at(self.reasoning, self.output)
            + spoken * at(self.audio_output, self.output)
        )

    def dearest(self, input_tokens: int, output_tokens: int) -> int:
        """Return the most that so many tokens can cost, whatever kind they are; unit as of `price`."""
        read = (self.input, self.cached, self.cache_write, self.cache_write_1h, self.audio_input)
        made = (self.output, self.audio_output, self.reasoning)
        return input_tokens * _most(read, input_tokens) + output_tokens * _most(made, input_tokens)


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """All rates of a model at one moment: kept with a call from its hold to its settlement.

    Attributes:
        model: as the caller named it.
        tiers: by `standard`, OpenAI's service tiers and Anthropic's `speed=fast`; empty if the operator made it free.
        source: whose price list: `genai-prices`, or `operator`.
        version: which edition of it.
        capacity: what a call can use at most.
        is_anthropic: its answers and prices are Anthropic's, which know `speed` and where the model ran.
    """

    model: str
    tiers: Mapping[str, Rates]
    source: str
    version: str
    capacity: Capacity = field(default_factory=Capacity)
    is_anthropic: bool = False

    @property
    def is_free(self) -> bool:
        """Whether the operator says that it costs nothing."""
        return not self.tiers

    @property
    def writes(self) -> bool:
        """Whether output has a price; models of embeddings have none."""
        return self.is_free or bool(self.tiers[STANDARD].output)

    def nanos(self, usage: Usage) -> int:
        """Return what a call cost in nano-dollars.

        Raises:
            CannotPrice: the counts can't be right, or tell of work without a price.
        """
        if self.is_free:
            return 0
        if usage.problem:
            raise CannotPrice(usage.problem)
        rates = self._served_by(usage)
        total = rates.price(usage)
        if self.is_anthropic and usage.inference_geo == "us":
            total = -(-total * _GEO_PERCENT // 100)
        if usage.web_searches:
            if not rates.web_search:
                raise CannotPrice("web searches have no price here")
            total += usage.web_searches * rates.web_search
        if usage.output_tokens and not rates.output:
            raise CannotPrice("output of this model has no price here")
        return -(-total // _PER)

    def dearest_nanos(self, tiers: tuple[str, ...], input_tokens: int, output_tokens: int, *, geo: bool = True) -> int:
        """Return the most that a call may cost in nano-dollars, in whichever of the tiers it is served.

        Args:
            tiers: which can serve it; those without rates here can't.
            input_tokens: the most it can read.
            output_tokens: the most it can write, all choices together.
            geo: it may run where it costs more.
        """
        rates = [self.tiers[tier] for tier in tiers if tier in self.tiers]
        most = max((one.dearest(input_tokens, output_tokens) for one in rates), default=0)
        if self.is_anthropic and geo:
            most = -(-most * _GEO_PERCENT // 100)
        return -(-most // _PER)

    def _served_by(self, usage: Usage) -> Rates:
        """Return the rates of the tier that served a call, by the provider's word for it."""
        if self.is_anthropic:
            # Capacity bought beforehand (`priority`) is charged as if it weren't.
            name = "speed=fast" if usage.speed == "fast" else STANDARD
        else:
            name = STANDARD if usage.service_tier in _STANDARD_WORDS else usage.service_tier
        if name == "flex" and name not in self.tiers:
            name = STANDARD
        if name in self.tiers:
            return self.tiers[name]
        if len(self.tiers) == 1 and name not in _DEARER:
            return self.tiers[STANDARD]
        raise CannotPrice(f"the service tier {name if name in _DEARER else 'in the answer'} has no price here")


def _step(steps: Steps, input_tokens: int) -> int:
    return next((rate for start, rate in reversed(steps) if start == 0 or input_tokens > start), 0)


def _most(kinds: tuple[Steps, ...], input_tokens: int) -> int:
    return max((rate for steps in kinds for start, rate in steps if start == 0 or input_tokens > start), default=0)
