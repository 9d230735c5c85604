"""Arguments and values reach the agent byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.manifests.process import SHELL_LINE, exactly, first_process
from sandbox_components.manifests.workload import pod
from sandbox_components.spec.sandbox import read_sandbox
from tests.manifests.expansion import expand
from tests.manifests.sandboxes import FEWER, PLACEMENT, TEXTS, requests

VARIABLES = {"A": "expanded", "HOME": "/root", "": "blank"}
DOLLARS = ["$(A)", "$$(A)", "$$$(A)", "$$", "$", "$A", "$(A", "$()", "$(A)(A)", "a$", "$ä", "$(ä)", "$\n", "$(A$(A))"]


@pytest.mark.parametrize(
    ("text", "expanded"),
    [("$(A)", "expanded"), ("$$(A)", "$(A)"), ("$(B)", "$(B)"), ("$$", "$"), ("$", "$"), ("$A", "$A"), ("$(A", "$(A")],
)
def test_the_simulation_does_what_is_documented(text: str, expanded: str) -> None:
    assert expand(text, VARIABLES) == expanded.encode()


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("text", DOLLARS)
def test_dollars(text: str, narrow: bool) -> None:
    assert expand(exactly(text), VARIABLES, narrow=narrow) == text.encode()


@given(TEXTS | st.text(alphabet="$()Aä", max_size=20), st.booleans())
def test_any_text(text: str, narrow: bool) -> None:
    assert expand(exactly(text), VARIABLES, narrow=narrow) == text.encode()


@pytest.mark.parametrize("text", ["", "./start.sh", "$HOME/start.sh", "${A}", "a$", "5 $"])
def test_what_needs_no_doubling_stays_readable(text: str) -> None:
    assert exactly(text) == text


@FEWER
@given(requests(), st.booleans())
def test_every_argument_and_value_of_a_pod(data: dict[str, object], narrow: bool) -> None:
    spec = read_sandbox(data)
    container = pod(PLACEMENT, spec, (), "")["containers"][0]
    seen = dict(VARIABLES)
    values = {}
    for variable in container["env"]:
        value = expand(variable["value"], seen, narrow=narrow).decode()
        values[variable["name"]] = seen[variable["name"]] = value
    home = spec.workspace.mount_path if spec.workspace else "/workspace"
    assert values == {"HOME": home, **spec.env}
    argv = [expand(text, seen, narrow=narrow).decode() for text in container.get("command", [])]
    assert "args" not in container
    if spec.entrypoint is not None:
        assert argv == list(spec.entrypoint)
    elif spec.command is not None:
        assert argv == ["/bin/sh", "-c", SHELL_LINE, "sandbox", spec.command]
    else:
        assert argv == []


def test_the_image_s_own_entrypoint() -> None:
    assert first_process(read_sandbox({"image": "a", "resourceLimits": {"cpu": 1, "memory": "1Gi"}})) == {}
