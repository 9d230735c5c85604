"""The proxy's metrics in Prometheus's format. Labels are of bounded sets: endpoints, upstreams, models, actors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from sandbox_components.ledger.model import Standing
from sandbox_components.spec.money import NANOS_PER_DOLLAR

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """All metrics of one proxy."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own = self.registry
        self._calls = Counter(
            "sandbox_proxy_calls_total",
            "Calls by what became of them.",
            ["endpoint", "upstream", "outcome"],
            registry=own,
        )
        self._spent = Counter(
            "sandbox_proxy_spent_dollars_total", "What calls cost.", ["upstream", "model", "estimated"], registry=own
        )
        self._overrun = Counter(
            "sandbox_proxy_overrun_dollars_total",
            "What calls cost beyond the most that was held for them.",
            ["upstream", "model"],
            registry=own,
        )
        self._free = Counter(
            "sandbox_proxy_free_calls_total",
            "Calls passed on that cost nothing.",
            ["endpoint", "upstream"],
            registry=own,
        )
        self._hold = Histogram("sandbox_proxy_hold_seconds", "For the ledger's leave.", buckets=_SECONDS, registry=own)
        self._first_byte = Histogram(
            "sandbox_proxy_first_byte_seconds",
            "From sending to the head of the answer.",
            ["upstream"],
            buckets=_SECONDS,
            registry=own,
        )
        self._faults = Counter(
            "sandbox_proxy_faults_total", "Faults in the background, by code.", ["code"], registry=own
        )
        self._expired = Counter(
            "sandbox_proxy_expired_holds_total", "Holds charged as nobody renewed them.", registry=own
        )
        self._keys_refused = Counter(
            "sandbox_proxy_upstream_key_refused_total", "The provider didn't take our key.", ["upstream"], registry=own
        )
        limit = ["actor_type", "actor_id", "period", "limit"]
        self._used = Gauge("sandbox_spending_used_ratio", "Spent of a limit in this period.", limit, registry=own)
        self._held = Gauge("sandbox_spending_held_ratio", "Held of a limit by calls in flight.", limit, registry=own)

        self._wrong = Gauge(
            "sandbox_ledger_discrepancies", "Counters that aren't the sums of their rows.", registry=own
        )

    def watch(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read when it is asked for."""
        Gauge(f"sandbox_proxy_{name}", help_text, registry=self.registry).set_function(read)

    def call(self, endpoint: str, upstream: str, outcome: str) -> None:
        """Count a call."""
        self._calls.labels(endpoint, upstream, outcome).inc()

    def spent(self, endpoint: str, upstream: str, model: str, nanos: int, *, is_estimated: bool) -> None:
        """Add what a call cost."""
        self._spent.labels(upstream, model, str(is_estimated).lower()).inc(nanos / NANOS_PER_DOLLAR)
        if nanos == 0:
            self._free.labels(endpoint, upstream).inc()

    def overrun(self, upstream: str, model: str, nanos: int) -> None:
        """Add what a call cost beyond its hold: what is held for such calls is too little."""
        self._overrun.labels(upstream, model).inc(nanos / NANOS_PER_DOLLAR)

    def held_for(self, seconds: float) -> None:
        """Note how long a hold took."""
        self._hold.observe(seconds)

    def first_byte_after(self, upstream: str, seconds: float) -> None:
        """Note how long the upstream took to answer."""
        self._first_byte.labels(upstream).observe(seconds)

    def fault(self, code: str) -> None:
        """Count a fault."""
        self._faults.labels(code).inc()

    def expired(self, count: int) -> None:
        """Count holds that were charged unrenewed."""
        self._expired.inc(count)

    def key_refused(self, upstream: str) -> None:
        """Count an upstream that refuses our key."""
        self._keys_refused.labels(upstream).inc()

    def limits(self, standings: Sequence[Standing]) -> None:
        """Tell how far each limit is used; limits that are gone vanish."""
        self._used.clear()
        self._held.clear()
        for one in standings:
            scope, amount = one.limit.scope, one.limit.limit_nanos
            labels = (scope.actor_type, scope.actor_id, one.limit.period, one.limit.id)
            self._used.labels(*labels).set(one.used_nanos / amount if amount else 1.0)
            self._held.labels(*labels).set(one.held_nanos / amount if amount else 0.0)

    def discrepancies(self, count: int) -> None:
        """Tell how many counters are wrong: never any, unless there is a fault of ours."""
        self._wrong.set(count)

    def text(self) -> bytes:
        """Everything, as `/metrics` answers it."""
        return generate_latest(self.registry)
