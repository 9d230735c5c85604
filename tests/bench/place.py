"""The cluster that a benchmark runs on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devcluster import build, cluster
from tests.harness.api import Api
from tests.harness.ground import TOOLS, Ground, on_the_node

NAME = "bench"


@contextmanager
def real_node() -> Iterator[tuple[Ground, Path]]:
    """A ground on the real node, and a folder for stacks."""
    tools = build.ensure(TOOLS)
    borrowed = os.environ.get("SANDBOX_TEST_CLUSTER")
    found = cluster.find(borrowed) if borrowed else cluster.start(NAME)
    if found is None:
        raise SystemExit(f"SANDBOX_TEST_CLUSTER: there is no running cluster {borrowed}")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home = Path(folder) / "pulumi-home"
        home.mkdir()
        api = Api(found.kubeconfig)
        try:
            yield on_the_node(api, found.kubeconfig, tools, home), Path(folder)
        finally:
            api.close()
            if not borrowed:
                cluster.stop(NAME)
