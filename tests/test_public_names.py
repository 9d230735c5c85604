"""What others may build on: the names of the package, and the one table of error codes and exit codes."""

from __future__ import annotations

import inspect

import pytest

import sandbox_components
from sandbox_components import errors

COMPONENTS = {"HealthProbe", "InferenceProxy", "PersistentWorkspace", "Sandbox", "SpendingLimit"}
REST = {
    "HealthProbeArgs",
    "InferenceProxyArgs",
    "SpendingLimitArgs",
    "InvalidInput",
    "PersistentWorkspaceArgs",
    "SandboxArgs",
    "SandboxError",
    "StackConfig",
}

CODES = {
    "SandboxError": ("failed", 1),
    "InvalidInput": ("invalid_input", 2),
    "ConfirmationNeeded": ("confirmation_needed", 2),
    "AccessDenied": ("access_denied", 3),
    "Refused": ("refused", 4),
    "NotFound": ("not_found", 6),
    "Declined": ("declined", 8),
    "TimedOut": ("timed_out", 9),
    "Unreachable": ("unreachable", 1),
}


def test_names_are_added_but_never_taken_away() -> None:
    assert set(sandbox_components.__all__) >= COMPONENTS | REST


@pytest.mark.parametrize("name", sorted(sandbox_components.__all__))
def test_public_names_are_documented(name: str) -> None:
    assert (inspect.getdoc(getattr(sandbox_components, name)) or "").strip()


@pytest.mark.parametrize("name", sorted(COMPONENTS))
def test_components_are_made_of_name_args_and_opts(name: str) -> None:
    parameters = list(inspect.signature(getattr(sandbox_components, name).__init__).parameters)
    assert parameters[:4] == ["self", "name", "args", "opts"]


@pytest.mark.parametrize("name", CODES)
def test_error_codes(name: str) -> None:
    kind = getattr(errors, name)
    assert (kind.code, kind.exit_code) == CODES[name]
    assert issubclass(kind, errors.SandboxError)


def test_a_field_is_put_below_a_prefix() -> None:
    for field, whole in (("cpu", "limits.cpu"), ("[0].port", "limits[0].port"), ("", "limits")):
        error = errors.InvalidInput(field, "is wrong", suggestions=["right"]).within("limits")
        assert (error.field, error.problem, error.suggestions) == (whole, "is wrong", ("right",))
        assert str(error) == f"{whole}: is wrong"
