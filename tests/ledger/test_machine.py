"""Any order of holds, ends, leases, limits and months: the ledger says what a plain list of calls says."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from sandbox_components.errors import NotFound
from sandbox_components.ledger.ledger import Ledger
from sandbox_components.ledger.model import LEASE, Call, Cost, Hold, Limit, LimitMissing, Refusal, Scope
from sandbox_components.spec.period import Period, period_at
from tests.harness.postgres import Postgres
from tests.ledger.ground import at

pytestmark = pytest.mark.server

SCOPES = [Scope("sandbox", "p/s/a"), Scope("sandbox", "p/s/b"), Scope("agent", "x"), Scope("org", "o")]
PAYERS = [(SCOPES[0],), (SCOPES[0], SCOPES[3]), (SCOPES[1], SCOPES[2], SCOPES[3])]
ZONES = ["UTC", "Asia/Tokyo", "America/New_York"]
LIMITS = st.lists(
    st.builds(
        lambda scope, period, nanos, zone, twin: Limit(
            f"{scope.actor_id}-{period}-{twin}".replace("/", "."), scope, period, nanos, zone
        ),
        st.sampled_from(SCOPES),
        st.sampled_from(["day", "week", "month"]),
        st.sampled_from([0, 1, 50, 100, 101, 200, 1000]),
        st.sampled_from(ZONES),
        st.sampled_from("ab"),
    ),
    max_size=5,
    unique_by=lambda limit: limit.id,
)


@dataclass
class Known:
    """A call as the test knows it."""

    call: Call
    held_at: datetime
    expires_at: datetime
    state: str = "held"
    cost: int = 0


class LedgerMachine(RuleBasedStateMachine):
    """The ledger beside a list."""

    def url(self) -> str:
        return f"sqlite:///{self.folder}/ledger.db"

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = self.runner.run(Ledger.open(self.url()))
        self.runner.run(self.ledger.replace_limits([], at("1990-01-01")))
        self.now = at("2026-10-31T12:00")
        self.limits: list[Limit] = []
        self.calls: dict[str, Known] = {}

    def spent_and_held(self, scope: Scope, period: Period) -> tuple[int, int]:
        concerned = [
            one
            for one in self.calls.values()
            if scope in one.call.scopes and period.begins_at <= one.held_at < period.ends_at
        ]
        spent = sum(one.cost for one in concerned if one.state in ("settled", "expired"))
        return spent, sum(one.call.worst_case_nanos for one in concerned if one.state == "held")

    def room(self, call: Call) -> bool:
        for limit in self.limits:
            if limit.scope in call.scopes:
                spent, held = self.spent_and_held(limit.scope, period_at(limit.period, limit.time_zone, self.now))
                if call.worst_case_nanos == 0 and limit.limit_nanos > 0:
                    continue
                if limit.limit_nanos == 0 or spent + held + call.worst_case_nanos > limit.limit_nanos:
                    return False
        return True

    @rule(hours=st.sampled_from([0.01, 1, 11, 24, 24 * 7, 24 * 29]))
    def time_passes(self, hours: float) -> None:
        self.now += timedelta(hours=hours)

    @rule(limits=LIMITS)
    def limits_change(self, limits: list[Limit]) -> None:
        changed = {one.id: one for one in limits} != {one.id: one for one in self.limits}
        assert self.runner.run(self.ledger.replace_limits(limits, self.now)) == changed
        self.limits = limits

    @rule(who=st.sampled_from(PAYERS), nanos=st.sampled_from([0, 1, 49, 50, 51, 100]), requires=st.booleans())
    def hold(self, who: tuple[Scope, ...], nanos: int, requires: bool) -> None:
        self.admit([Call("r", who, "m", "u", "e", nanos, requires)])

    @rule(calls=st.lists(st.tuples(st.sampled_from(PAYERS), st.sampled_from([1, 50, 100])), min_size=2, max_size=6))
    def hold_at_once(self, calls: list[tuple[tuple[Scope, ...], int]]) -> None:
        self.admit([Call("r", who, "m", "u", "e", nanos) for who, nanos in calls])

    def admit(self, calls: list[Call]) -> None:
        async def all_at_once() -> list[Hold | Refusal | BaseException]:
            return await asyncio.gather(*(self.ledger.hold(call, self.now) for call in calls), return_exceptions=True)

        for call, answer in zip(calls, self.runner.run(all_at_once()), strict=True):
            if isinstance(answer, LimitMissing):
                assert call.requires_limit
                assert not any(limit.scope in call.scopes for limit in self.limits)
            elif isinstance(answer, Hold):
                assert self.room(call)
                self.calls[answer.id] = Known(call, self.now, self.now + LEASE)
                assert answer.expires_at == self.now + LEASE
            else:
                assert isinstance(answer, Refusal)
                assert not self.room(call)
                self.check_refusal(call, answer)

    def check_refusal(self, call: Call, refusal: Refusal) -> None:
        limit = refusal.limit
        period = period_at(limit.period, limit.time_zone, self.now)
        assert limit in self.limits
        assert limit.scope in call.scopes
        assert refusal.ends_at == period.ends_at
        assert (refusal.used_nanos, refusal.held_nanos) == self.spent_and_held(limit.scope, period)
        left = limit.limit_nanos - refusal.used_nanos
        kind = "spent" if left <= 0 else "too_large" if call.worst_case_nanos > left else "busy"
        assert refusal.kind == kind

    @rule(data=st.data(), nanos=st.sampled_from([0, 1, 50, 100, 300]), times=st.integers(1, 2))
    def settle(self, data: st.DataObject, nanos: int, times: int) -> None:
        if self.calls:
            hold_id = data.draw(st.sampled_from(list(self.calls)))
            known = self.calls[hold_id]
            for _ in range(times):
                if known.state == "gone":
                    with pytest.raises(NotFound):
                        self.runner.run(self.ledger.settle(hold_id, Cost(nanos), self.now))
                    continue
                self.runner.run(self.ledger.settle(hold_id, Cost(nanos), self.now))
                if known.state in ("held", "expired"):
                    known.state, known.cost = "settled", nanos

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        if self.calls:
            hold_id = data.draw(st.sampled_from(list(self.calls)))
            known = self.calls[hold_id]
            self.runner.run(self.ledger.release(hold_id, self.now))
            if known.state == "held":
                known.state = "gone"
            elif known.state == "expired":
                known.state, known.cost = "settled", 0

    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        if self.calls:
            some = data.draw(st.lists(st.sampled_from(list(self.calls)), max_size=4))
            self.runner.run(self.ledger.renew(some, self.now))
            for known in (self.calls[hold_id] for hold_id in some):
                known.expires_at = max(known.expires_at, self.now + LEASE)

    @rule()
    def expire(self) -> None:
        overdue = [one for one in self.calls.values() if one.state == "held" and one.expires_at <= self.now]
        assert self.runner.run(self.ledger.expire(self.now)) == len(overdue)
        for known in overdue:
            known.state, known.cost = "expired", known.call.worst_case_nanos

    @invariant()
    def standings_are_sums(self) -> None:
        if hasattr(self, "ledger"):
            found = {one.limit.id: one for one in self.runner.run(self.ledger.standings(self.now))}
            assert found.keys() == {limit.id for limit in self.limits}
            for limit in self.limits:
                period = period_at(limit.period, limit.time_zone, self.now)
                standing = found[limit.id]
                assert (standing.used_nanos, standing.held_nanos) == self.spent_and_held(limit.scope, period)
                assert (standing.begins_at, standing.ends_at) == (period.begins_at, period.ends_at)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            [usage] = self.runner.run(self.ledger.usage(None, at("2000-01-01"), at("2100-01-01")))
            ended = [one for one in self.calls.values() if one.state in ("settled", "expired")]
            assert (usage.calls, usage.nanos) == (len(ended), sum(one.cost for one in ended))
            assert self.runner.run(self.ledger.audit()) == []
            self.runner.run(self.ledger.close())
            self.runner.close()
            shutil.rmtree(self.folder)


MANY = 20 if os.environ.get("SANDBOX_SOAK") else 1


def run(machine: type[LedgerMachine], examples: int) -> None:
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples * MANY, stateful_step_count=30, suppress_health_check=quiet)
    )


def test_on_sqlite() -> None:
    run(LedgerMachine, 12)


def test_on_postgres(postgres_server: Postgres) -> None:
    class OnPostgres(LedgerMachine):
        def url(self) -> str:
            return postgres_server.new_database()

    run(OnPostgres, 4)
