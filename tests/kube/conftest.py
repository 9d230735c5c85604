"""Fixtures of the cluster's side."""

from __future__ import annotations

import pytest

from tests.kube.api import FakeApi


@pytest.fixture
def api() -> FakeApi:
    """An API server in memory, empty."""
    return FakeApi()
