"""Which Secret of a checkpoint is taken, and what is said where it can't be; decrypting is the engine's."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.errors import Interrupted, SandboxError
from sandbox_components.operations.old_secrets import secret_env_of
from sandbox_components.operations.project import Project

SANDBOX = "sandbox-components:index:Sandbox"
SIGNED = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


def urn(kind: str, name: str, stack: str = "dev") -> str:
    return f"urn:pulumi:{stack}::agents::{SANDBOX}${kind}::{name}"


def resource(kind: str, name: str, of: str = "nightly", stack: str = "dev", **parts: Any) -> dict[str, Any]:
    parent = f"urn:pulumi:{stack}::agents::{SANDBOX}::{of}"
    return {"urn": urn(kind, name, stack), "type": kind, "custom": True, "parent": parent, **parts}


def workload(secret: str = "nightly-env-2", names: tuple[str, ...] = ("A", "B"), **parts: Any) -> dict[str, Any]:
    text = {"v": 1, "image": {"uri": "a:1"}, "secretEnv": {"names": list(names), "secret": secret}}
    inputs = {"metadata": {"name": "nightly", "annotations": {"sandbox-components/spec": json.dumps(text)}}}
    return resource("kubernetes:apps/v1:StatefulSet", "nightly", inputs=inputs, **parts)


def secret(made: str, values: dict[str, str] | None, of: str = "nightly", **parts: Any) -> dict[str, Any]:
    """A Secret as the engine exports it: decrypted, or with `values` None as it stands in the file."""
    if values is None:
        data: Any = {**SIGNED, "ciphertext": "v1:x"}
    else:
        coded = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        data = {**SIGNED, "plaintext": json.dumps(coded)}
    kind = "kubernetes:core/v1:Secret"
    return resource(kind, f"{of}-env", of, id=f"agents/{made}", inputs={"data": data}, **parts)


@dataclass
class Exporting:
    """Stands for the engine: looks at what it is given, and returns what it would decrypt."""

    project: Project
    resources: list[dict[str, Any]] = field(default_factory=list)
    error: SandboxError | None = None
    stack: str = "organization/agents/dev"
    backend: str | None = None
    seen: list[Any] = field(default_factory=list)

    def export_with_secrets(self) -> dict[str, Any]:
        assert self.backend is not None
        folder = Path(self.backend.removeprefix("file://"))
        assert folder.stat().st_mode & 0o077 == 0
        assert (folder / ".pulumi/meta.yaml").read_text() == "version: 1\n"
        self.seen += [self.stack, json.loads((folder / ".pulumi/stacks/agents/dev.json").read_text()), folder]
        if self.error is not None:
            raise self.error
        return {"version": 3, "deployment": {"resources": self.resources}}


def found(resources: list[dict[str, Any]], decrypted: list[dict[str, Any]], **how: Any) -> dict[str, str]:
    engine = Exporting(Project(Path(), "agents", Path(), "."), decrypted, **how)
    text = checkpoint(resources)
    try:
        return secret_env_of(engine, text, "nightly")  # type: ignore[arg-type]
    finally:
        for at, one in enumerate(engine.seen):
            if at % 3 == 2:
                assert not one.exists()


def checkpoint(resources: list[dict[str, Any]], provider: str = "passphrase") -> bytes:
    latest = {"secrets_providers": {"type": provider, "state": {}}, "resources": resources}
    return json.dumps({"version": 3, "checkpoint": {"stack": "x", "latest": latest}}).encode()


NEW, OLD = {"A": "a", "B": "ö\n"}, {"A": "x", "B": "y"}


def test_the_secret_that_the_workload_names() -> None:
    decrypted = [secret("nightly-env-1", OLD, delete=True), secret("nightly-env-2", NEW), secret("x", OLD, of="other")]
    assert found([workload()], decrypted) == NEW
    assert found([workload("nightly-env-1")], decrypted) == OLD


def test_an_older_name_of_the_stack() -> None:
    assert found([workload(stack="old")], [secret("nightly-env-2", NEW, stack="old")]) == NEW


def test_texts_as_the_component_gives_them() -> None:
    given = secret("nightly-env-2", {})
    given["inputs"] = {"stringData": {**SIGNED, "plaintext": json.dumps(NEW)}}
    assert found([workload()], [given]) == NEW
    given["inputs"] = {"stringData": {key: {**SIGNED, "plaintext": json.dumps(text)} for key, text in NEW.items()}}
    assert found([workload()], [given]) == NEW


def test_after_a_failed_update_what_was_sent_counts() -> None:
    sent = workload("nightly-env-2")["inputs"]
    state = workload("nightly-env-1", initErrors=["not ready"], outputs=sent)
    assert found([state], [secret("nightly-env-1", OLD), secret("nightly-env-2", NEW)]) == NEW


def test_without_secrets_the_engine_isnt_asked() -> None:
    text = json.dumps({"v": 1, "image": {"uri": "a:1"}})
    inputs = {"metadata": {"name": "nightly", "annotations": {"sandbox-components/spec": text}}}
    plain = resource("kubernetes:apps/v1:StatefulSet", "nightly", inputs=inputs)
    assert found([plain], [], error=SandboxError("asked")) == {}


@pytest.mark.parametrize("values", [None, {"A": "a"}, {}])
def test_a_value_that_is_not_there(values: dict[str, str] | None) -> None:
    with pytest.raises(SandboxError, match=r"does not hold the secret variable [AB] of nightly"):
        found([workload()], [secret("nightly-env-2", values)])


def test_a_checkpoint_that_is_none() -> None:
    with pytest.raises(SandboxError, match="does not hold the sandbox nightly"):
        found([], [])
    engine = Exporting(Project(Path(), "agents", Path(), "."))
    for text in (b"{", b"[]", b"null", b'{"version": 9, "checkpoint": {}}'):
        with pytest.raises(SandboxError, match=r"does not hold the sandbox nightly \("):
            secret_env_of(engine, text, "nightly")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("provider", "hint"),
    [("passphrase", "set PULUMI_CONFIG_PASSPHRASE"), ("service", "kept by Pulumi Cloud"), ("cloud", "provider cloud")],
)
def test_a_provider_that_says_no(provider: str, hint: str) -> None:
    engine = Exporting(Project(Path(), "agents", Path(), "."), error=SandboxError("no key"))
    with pytest.raises(SandboxError, match="the secrets that nightly had then can't be decrypted: no key") as caught:
        secret_env_of(engine, checkpoint([workload()], provider), "nightly")  # type: ignore[arg-type]
    assert hint in caught.value.suggestions[0]
    engine.error = Interrupted("stopped")
    with pytest.raises(Interrupted):
        secret_env_of(engine, checkpoint([workload()], provider), "nightly")  # type: ignore[arg-type]
