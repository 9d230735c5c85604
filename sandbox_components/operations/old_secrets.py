"""The secret variables that a sandbox had at an earlier update, out of that update's checkpoint.

The engine decrypts them: the checkpoint is put into a scratch backend as the state of a stack of the same name, and
exported from there with the secrets provider that the checkpoint itself names (passphrase, awskms and so on). What is
written there is encrypted; plain values exist in a pipe and in memory alone.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox_components.errors import Interrupted, SandboxError
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.plan import COMPONENT
from sandbox_components.revisions.checkpoint_file import read_checkpoint
from sandbox_components.spec import revision

_SECRET = "kubernetes:core/v1:Secret"
_SIGNATURE, _IS_SECRET = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"


def secret_env_of(engine: Engine, raw_checkpoint: bytes, name: str) -> dict[str, str]:
    """Return the secret variables of the sandbox `name` in a checkpoint, decrypted.

    Args:
        engine: of the stack that the checkpoint is of.
        raw_checkpoint: its JSON text, with encrypted secrets.
        name: of the sandbox.

    Raises:
        SandboxError: the secrets can't be decrypted, or are not there; never with a value.
    """
    wanted = _wanted(raw_checkpoint, name)
    if wanted is None:
        return {}
    names, object_name = wanted
    data = _loaded(raw_checkpoint)
    try:
        state = _decrypted(engine, data)
    except Interrupted:
        raise
    except SandboxError as error:
        raise _undecryptable(name, data, error) from None
    values = _values(_resources(state), name, object_name)
    missing = [key for key in names if not isinstance(values.get(key), str)]
    if missing:
        raise SandboxError(
            f"the checkpoint of that revision does not hold the secret variable {missing[0]} of {name}",
            code="secrets_missing",
        )
    return {key: values[key] for key in names}


def _loaded(raw_checkpoint: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw_checkpoint)
    except ValueError:
        raise SandboxError("the checkpoint of that revision is not JSON") from None
    if isinstance(data, dict) and "deployment" in data:  # as `pulumi stack export` writes it
        data = {"version": data.get("version"), "checkpoint": {"latest": data["deployment"]}}
    if not isinstance(data, dict) or not isinstance(data.get("checkpoint"), dict):
        raise SandboxError("the checkpoint of that revision is of an unknown form")
    return data


def _resources(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    part = data.get("deployment") or (data.get("checkpoint") or {}).get("latest") or {}
    return [one for one in part.get("resources") or [] if isinstance(one, dict)]


def _wanted(raw_checkpoint: bytes, name: str) -> tuple[list[str], str] | None:
    """Return the names of the secret variables and of the Secret with them, None where there are none."""
    found = read_checkpoint(raw_checkpoint)
    state = found.sandboxes.get(name)
    if state is None:
        why = f" ({found.problem})" if found.problem is not None else ""
        raise SandboxError(f"the checkpoint of that revision does not hold the sandbox {name}{why}")
    secret_env = revision.parse(state.spec).get("secretEnv")
    return None if secret_env is None else (list(secret_env["names"]), str(secret_env["secret"]))


def _decrypted(engine: Engine, data: Mapping[str, Any]) -> dict[str, Any]:
    stack = engine.stack.rsplit("/", 1)[-1]
    with tempfile.TemporaryDirectory(prefix="sandbox-checkpoint-") as folder:
        state = Path(folder, ".pulumi")
        file = state / "stacks" / engine.project.name / f"{stack}.json"
        file.parent.mkdir(parents=True)
        (state / "meta.yaml").write_text("version: 1\n")
        file.write_text(json.dumps(data))
        return replace(engine, stack=stack, backend=Path(folder).as_uri()).export_with_secrets()


def _values(resources: list[Mapping[str, Any]], name: str, object_name: str) -> Mapping[str, Any]:
    for one in resources:
        # The stack's name in the URN may be an older one, and the Secret one that is to be deleted.
        types = "".join(str(one.get("urn", "")).split("::")[2:3])
        is_child = str(one.get("parent", "")).split("::")[-1] == name
        if not is_child or not types.endswith(f"{COMPONENT}${_SECRET}"):
            continue
        made = ((one.get("outputs") or {}).get("metadata") or {}).get("name")
        if object_name in (made, str(one.get("id", "")).rpartition("/")[2]):
            inputs = one.get("inputs") or {}
            data, texts = _plain(inputs.get("data")) or {}, _plain(inputs.get("stringData")) or {}
            return {**{key: _decoded(value) for key, value in data.items()}, **texts}
    return {}


def _decoded(value: object) -> str | None:
    """Return a value as the provider keeps it among a Secret's `data`."""
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except ValueError:
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get(_SIGNATURE) == _IS_SECRET:
            text = value.get("plaintext")
            return _plain(json.loads(text)) if isinstance(text, str) else None
        return {key: _plain(one) for key, one in value.items()}
    return value


def _undecryptable(name: str, data: Mapping[str, Any], error: SandboxError) -> SandboxError:
    providers = (data["checkpoint"].get("latest") or {}).get("secrets_providers") or {}
    provider, state = str(providers.get("type", "unknown")), providers.get("state")
    url = state.get("url") if isinstance(state, dict) else None
    key = url.partition("?")[0] if isinstance(url, str) else provider
    hints = {
        "passphrase": "set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to the passphrase of that time",
        "service": "its secrets are kept by Pulumi Cloud, which reads none but the latest: set them anew with "
        f"sandbox update {name} --secret-env KEY",
    }
    hint = hints.get(provider, f"look whether you may use the key of the secrets provider {key} (credentials)")
    return SandboxError(
        f"the secrets that {name} had then can't be decrypted: {error.message}",
        suggestions=[hint],
        code="secrets_unreadable",
    )
