"""Whatever users and engine do, in any order: what is paused stays paused, what runs stays, the disk is the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.engine.lifecycle import CHANGES, NAMES, Lifecycle
from tests.harness.ground import Ground

pytestmark = [pytest.mark.engine, pytest.mark.timeout(7200 if os.environ.get("SANDBOX_SOAK") else 900)]

WALKS, STEPS = (25, 20) if os.environ.get("SANDBOX_SOAK") else (5, 5)
"""Several walks on the same two sandboxes: each begins where the last one ended, with other actions likely."""


@pytest.fixture(scope="module")
def life(engine_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lifecycle]:
    with engine_ground.stack(tmp_path_factory.mktemp("lifecycle")) as stack:
        found = Lifecycle(engine_ground, stack)
        yield found
        found.close()


def test_each_action_once(life: Lifecycle) -> None:
    life.up("posted", "image")
    life.check()
    life.pause("posted", "command")
    life.pause("applied", "kubectl")
    life.check()
    life.up("posted", "env")
    life.refresh()
    life.check()
    life.resume("posted", "command")
    life.resume("applied", "kubectl")
    life.up("applied", "labels")
    life.check()
    life.up_while_paused_or_resumed("posted", "image", 1.2)
    life.check()
    life.killed_up("posted", "probe", 1.2)
    life.check()
    life.up_while_paused_or_resumed("posted", "env", 1.0)
    life.check()


def test_a_deleted_statefulset_comes_back_running(life: Lifecycle) -> None:
    """The pause goes with the object: `up --refresh` after `kubectl delete statefulset` resumes, on the same disk."""
    life.pause("applied", "command")
    life.delete_and_up("applied")
    life.check()


class _Noted:
    """The lifecycle, with the first failure of an action kept: where a walk has begun as an earlier one did, hypothesis
    would tell only that the two have gone different ways.
    """

    def __init__(self, life: Lifecycle) -> None:
        self._life = life
        self.failure: Exception | None = None

    def __getattr__(self, name: str) -> Callable[..., None]:
        def act(*arguments: object) -> None:
            try:
                getattr(self._life, name)(*arguments)
            except Exception as error:
                self.failure = self.failure or error
                raise

        return act


def test_a_random_walk(life: Lifecycle) -> None:
    walker = _Noted(life)
    names, delays = st.sampled_from(NAMES), st.floats(0.1, 3.0)
    changes, ways = st.sampled_from(CHANGES), st.sampled_from(["command", "kubectl"])

    class Walk(RuleBasedStateMachine):
        @rule()
        def a_look(self) -> None:
            """Nothing; the first walk of hypothesis is made of the simplest action alone."""

        @rule(name=names, by=ways)
        def pause(self, name: str, by: str) -> None:
            walker.pause(name, by)

        @rule(name=names, by=ways)
        def resume(self, name: str, by: str) -> None:
            walker.resume(name, by)

        @rule(name=names, change=changes)
        def up(self, name: str, change: str) -> None:
            walker.up(name, change)

        @rule(name=names, change=changes, delay=delays)
        def up_while_paused_or_resumed(self, name: str, change: str, delay: float) -> None:
            walker.up_while_paused_or_resumed(name, change, delay)

        @rule(name=names, change=changes, delay=delays)
        def killed_up(self, name: str, change: str, delay: float) -> None:
            walker.killed_up(name, change, delay)

        @rule()
        def preview(self) -> None:
            walker.preview()

        @rule()
        def refresh(self) -> None:
            walker.refresh()

        @invariant()
        def holds(self) -> None:
            walker.check()

    try:
        run_state_machine_as_test(
            Walk,
            settings=settings(
                max_examples=WALKS + 1,  # the first one looks only
                stateful_step_count=STEPS,
                phases=[Phase.generate],
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                print_blob=False,
            ),
        )
    except FlakyStrategyDefinition:
        assert walker.failure is not None
        raise walker.failure from None
