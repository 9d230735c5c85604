"""What an agent finds in its environment, and limits as the stack's config has them."""

from __future__ import annotations

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.inference import VARIABLES, Inference, check_variables
from sandbox_components.spec.limit_config import Override, actor_key, actor_of, added, overridden, read_overrides
from sandbox_components.spec.reading import read
from sandbox_components.spec.spending import DeclaredLimit

MONTH = DeclaredLimit("org", "acme", "month", 5000, "Asia/Tokyo", "agents/dev")


def test_the_variables_are_those_of_the_official_sdks() -> None:
    found = read(Inference, {"namespace": "inference", "name": "proxy", "port": 9000.0}, "").variables("sbx1.k")
    assert tuple(sorted(found)) == tuple(sorted(VARIABLES))
    assert found["OPENAI_BASE_URL"] == "http://proxy.inference.svc:9000/v1"
    assert found["ANTHROPIC_BASE_URL"] == "http://proxy.inference.svc:9000"
    assert found["OPENAI_API_KEY"] == found["ANTHROPIC_API_KEY"] == "sbx1.k"


@pytest.mark.parametrize("name", VARIABLES)
def test_they_may_be_nobody_elses(name: str) -> None:
    with pytest.raises(InvalidInput, match=rf"env\.{name}: is set by inference"):
        check_variables(["A", name], "env")
    check_variables(["A", name.lower()], "env")


@pytest.mark.parametrize(
    ("kind", "name"), [("sandbox", "nightly"), ("org", "acme"), ("user", "ann@acme/team"), ("agent", "a")]
)
def test_keys_of_actors_are_told_apart(kind: str, name: str) -> None:
    assert actor_of(actor_key(kind, name), "") == (kind, name)


def test_what_is_set_goes_over_what_is_declared() -> None:
    set_limits = read_overrides({"org/acme": {"month": {"limitCents": "7"}, "day": {"limitCents": 1.0}}}, "")
    assert set_limits["org/acme"]["month"] == Override(7)
    assert overridden(MONTH, set_limits, "acme") == DeclaredLimit("org", "acme", "month", 7, "Asia/Tokyo", "agents/dev")
    assert added("org", "acme", "acme", [MONTH], set_limits, "s") == [
        DeclaredLimit("org", "acme", "day", 1, "UTC", "s")
    ]
    other = DeclaredLimit("user", "acme", "month", 5)
    assert overridden(other, set_limits, "acme") == other
    assert added("user", "acme", "acme", [], set_limits, "s") == []


def test_a_set_zone_goes_over_the_declared_one() -> None:
    set_limits = read_overrides({"org/acme": {"month": {"limitCents": 7, "timeZone": "UTC"}}}, "")
    assert overridden(MONTH, set_limits, "acme").time_zone == "UTC"
