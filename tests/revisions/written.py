"""A history written to disk in the form of Pulumi's own files, of old versions and new."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import zstandard

from sandbox_components.spec.naming import SPEC_ANNOTATION
from sandbox_components.spec.revision import canonical

Json = dict[str, Any]
BEGIN = 1_795_980_000
STEP = 600
ENDINGS = {"plain": "", "gzip": ".gz", "zstd": ".zst"}
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc:def"}


def packed(data: bytes, compression: str) -> bytes:
    """The bytes, compressed."""
    if compression == "gzip":
        return gzip.compress(data, mtime=0)
    return zstandard.compress(data) if compression == "zstd" else data


def stateful_set(name: str, spec: Json | str, **more: Any) -> Json:
    """A sandbox's StatefulSet as a state holds it."""
    text = spec if isinstance(spec, str) else canonical(spec)
    metadata = {"name": name, "labels": {}, "annotations": {SPEC_ANNOTATION: text, "pulumi.com/skipAwait": "true"}}
    return {
        "urn": f"urn:pulumi:test::agents::sandbox-components:index:Sandbox$kubernetes:apps/v1:StatefulSet::{name}",
        "custom": True,
        "id": f"agents-test/{name}",
        "type": "kubernetes:apps/v1:StatefulSet",
        "inputs": {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": 1}},
        "outputs": {"metadata": {"annotations": {SPEC_ANNOTATION: "as the cluster has it"}}},
        "created": "2026-11-29T19:28:44.095584691Z",
        **more,
    }


def deployment(*resources: Json) -> Json:
    """A deployment with a stack, a provider and the given resources."""
    stack = {"urn": "urn:pulumi:test::agents::pulumi:pulumi:Stack::agents-test", "type": "pulumi:pulumi:Stack"}
    secret = {"urn": "urn:pulumi:test::agents::x::one-env", "type": "kubernetes:core/v1:Secret", "inputs": SECRET}
    return {"manifest": {"version": "v3.274.1"}, "resources": [stack, secret, *resources], "metadata": {}}


def checkpoint(*resources: Json, version: int = 3, features: list[str] | None = None) -> Json:
    """A checkpoint's JSON in the form of that version; 0 is from before there were versions."""
    body = {"stack": "organization/agents/test", "latest": deployment(*resources)}
    if version == 0:
        return {**body, "stack": "test", "config": {}}
    return {"version": version, **({"features": features} if features else {}), "checkpoint": body}


class Written:
    """A backend's folder in which a stack's history is written, one update after the other."""

    def __init__(self, root: Path, project: str = "agents", stack: str = "test") -> None:
        self.root, self.project, self.stack = root, project, stack
        self.folder = root / ".pulumi" / "history" / project / stack
        self.folder.mkdir(parents=True)
        (root / ".pulumi" / "meta.yaml").write_text("version: 1\n")
        stacks = root / ".pulumi" / "stacks" / project
        stacks.mkdir(parents=True)
        (stacks / f"{stack}.json").write_text("{}")
        self._count = 0

    def entry(
        self,
        sandboxes: Mapping[str, Json | str] | None = None,
        *,
        compression: str = "plain",
        ending: str | None = None,
        version: int = 3,
        history: Json | bytes | None = None,
        state: Json | bytes | None = None,
        config: Json | None = None,
        **fields: Any,
    ) -> str:
        """Write an update's two files, and return its stamp. `history` and `state` replace what would be in them."""
        self._count += 1
        began = BEGIN + self._count * STEP
        stamp = f"{began + 5}{self._count:09d}"
        if history is None:
            history = {
                "kind": "update",
                "startTime": began,
                "message": f"number {self._count}",
                "environment": {"exec.kind": "cli", "git.head": "abc", "pulumi.env.HOME": "set", "vcs.kind": "x"},
                "config": {"sandbox-components:namespace": "agents-test", **(config or {})},
                "version": 0,
                "result": "succeeded",
                "endTime": began + 4,
                "resourceChanges": {"update": 1},
                **fields,
            }
        if state is None:
            state = checkpoint(*(stateful_set(name, spec) for name, spec in (sandboxes or {}).items()), version=version)
        for part, content in (("history", history), ("checkpoint", state)):
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.path(part, stamp, ENDINGS[compression] if ending is None else ending).write_bytes(
                packed(data, compression)
            )
        return stamp

    def path(self, part: str, stamp: str, ending: str = "") -> Path:
        """Where an update's file is."""
        return self.folder / f"{self.stack}-{stamp}.{part}.json{ending}"
