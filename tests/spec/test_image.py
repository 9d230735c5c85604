"""Image references, and the pull policy that follows from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.image import check_image, pull_policy

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("uri", "policy"),
    [
        ("python", "Always"),
        ("python:latest", "Always"),
        ("python:3.12-slim", "IfNotPresent"),
        ("ghcr.io/acme/agent:1.2", "IfNotPresent"),
        ("ghcr.io/acme/agent", "Always"),
        ("localhost:5000/agent:latest", "Always"),
        ("localhost:5000/agent", "Always"),
        ("localhost:5000/agent:1", "IfNotPresent"),
        ("10.250.0.2:5000/a/b/c:x", "IfNotPresent"),
        ("[::1]:5000/a:x", "IfNotPresent"),
        (f"agent@{DIGEST}", "IfNotPresent"),
        (f"ghcr.io/acme/agent:latest@{DIGEST}", "IfNotPresent"),
        ("a__b/c.d/e-f---g:A_1.-", "IfNotPresent"),
        ("REGISTRY.example/agent:1", "IfNotPresent"),
        ("agent:" + "t" * 128, "IfNotPresent"),
    ],
)
def test_references(uri: str, policy: str) -> None:
    assert check_image(uri) == uri
    assert pull_policy(uri) == policy


@pytest.mark.parametrize(
    "uri",
    ["a:", ":a", "a@", "a:b:c", "/a", "a/", "a//b", "a..b", "-a", "a-", "a___b", "a:-x", "a b", "a\n", "ä", "a@b"],
)
def test_references_that_never_pull(uri: str) -> None:
    with pytest.raises(InvalidInput, match="is not an image reference"):
        check_image(uri)


@given(st.text(alphabet="aA0.-_/:@[ ", max_size=600))
def test_any_text_is_answered_at_once(text: str) -> None:
    try:
        assert check_image(text) == text
    except InvalidInput as error:
        assert len(str(error)) < 250  # noqa: PT017
