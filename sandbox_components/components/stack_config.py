"""Sandboxes that are declared in stack config: the contract between `Pulumi.<stack>.yaml`, the command and programs.

Plain values stand in `sandbox-components:sandboxes`, secret variables alone in `sandbox-components:secretEnv`: one
secure leaf turns a whole config object into a secret. What a rollback pinned stands apart in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from sandbox_components.components.limit_overrides import warn_of_stray_limits
from sandbox_components.components.pins import warn_of_strays
from sandbox_components.components.platform import CONFIG, Platform, config_object
from sandbox_components.components.refusal import at_once
from sandbox_components.components.signing_key import check_is_secret
from sandbox_components.errors import InvalidInput
from sandbox_components.spec import naming
from sandbox_components.spec.inference import check_variables
from sandbox_components.spec.reading import unknown_key
from sandbox_components.spec.sandbox import SandboxSpec, check_env_name, read_sandbox

CONFIG_VERSION = 1
KEYS = (
    "agentVolumeSize",
    "agentVolumeStorageClass",
    "blockedCidrs",
    "configVersion",
    "inferenceSigningKey",
    "namespace",
    "pinSecrets",
    "pins",
    "sandboxes",
    "secretEnv",
    "spendingLimits",
)
SECRET_KEYS = ("inferenceSigningKey", "pinSecrets", "secretEnv")


@dataclass(frozen=True)
class StackConfig:
    """What a stack's config declares.

    Attributes:
        namespace: config `sandbox-components:namespace`, else `PROJECT-STACK`.
        sandboxes: name → arguments for `Sandbox`, secret variables put into `env` as Outputs.
        protects_a_disk: whether any sandbox here keeps its disk (`deletion: protect`); protect the Namespace then,
            because deleting it would delete every claim in it.
        pod_security: the level that the Namespace can enforce: `restricted` unless a sandbox asks for `baseline`.
    """

    namespace: str
    sandboxes: Mapping[str, Any]
    protects_a_disk: bool
    pod_security: str

    @staticmethod
    def read() -> StackConfig:
        """Read and check the whole config of the current stack.

        Raises:
            InvalidInput: for the first thing that is wrong, naming the config key.
        """
        with at_once():
            return StackConfig._read()

    @staticmethod
    def _read() -> StackConfig:
        config = pulumi.Config(CONFIG)
        _check_keys(config)
        declared = config_object(config, "sandboxes", {})
        field = f"{CONFIG}:sandboxes"
        if not isinstance(declared, Mapping):
            raise InvalidInput(field, "is not a mapping of names to sandboxes")
        secrets = _secret_env(config, declared)
        warn_of_strays()
        warn_of_stray_limits()
        specs: dict[str, SandboxSpec] = {}
        arguments: dict[str, Any] = {}
        for name, entry in declared.items():
            naming.check_name(name, field)
            specs[name] = read_sandbox(entry, f"{field}.{name}")
            if specs[name].inference is not None:
                check_variables(secrets.get(name, {}), f"{CONFIG}:secretEnv.{name}")
            both = set(specs[name].env) & set(secrets.get(name, {}))
            if both:
                raise InvalidInput(
                    f"{CONFIG}:secretEnv.{name}.{min(both)}", "stands in env of the sandbox too: keep one"
                )
            env = {**(entry.get("env") or {}), **secrets.get(name, {})}
            arguments[name] = {**entry, "env": env} if env else entry
        return StackConfig(
            namespace=Platform.read().namespace,
            sandboxes=arguments,
            protects_a_disk=any(one.workspace is not None and one.deletion == "protect" for one in specs.values()),
            pod_security="baseline" if any(one.security == "baseline" for one in specs.values()) else "restricted",
        )


def _check_keys(config: pulumi.Config) -> None:
    for full in pulumi.runtime.config.CONFIG.get():
        prefix, _, key = full.partition(":")
        if prefix != CONFIG:
            continue
        if key not in KEYS:
            error = unknown_key(key, list(KEYS), "")
            raise InvalidInput(full, error.problem, suggestions=error.suggestions)
        if key == "inferenceSigningKey":
            check_is_secret()
        if key not in SECRET_KEYS and pulumi.runtime.is_config_secret(full):
            raise InvalidInput(full, f"holds a secret: secrets stand in {CONFIG}:secretEnv alone")
    version = config.get("configVersion")
    if version is not None and version != str(CONFIG_VERSION):
        raise InvalidInput(
            f"{CONFIG}:configVersion", f'"{version}" is not {CONFIG_VERSION}, the one this package reads'
        )


def _secret_env(config: pulumi.Config, declared: Mapping[str, Any]) -> dict[str, dict[str, pulumi.Output[str]]]:
    field = f"{CONFIG}:secretEnv"
    found = config_object(config, "secretEnv", {})
    if not isinstance(found, Mapping):
        raise InvalidInput(field, "is not a mapping of sandbox names to variables")
    secrets: dict[str, dict[str, pulumi.Output[str]]] = {}
    for name, variables in found.items():
        if name not in declared:
            raise InvalidInput(f"{field}.{name}", "there is no sandbox of that name in sandbox-components:sandboxes")
        if not isinstance(variables, Mapping):
            raise InvalidInput(f"{field}.{name}", "is not a mapping of variables to secrets")
        secrets[name] = {}
        for key, value in variables.items():
            check_env_name(key, f"{field}.{name}.{key}")
            if not isinstance(value, str):
                raise InvalidInput(f"{field}.{name}.{key}", f"is not a string but of type {type(value).__name__}")
            secrets[name][key] = pulumi.Output.secret(value)
    return secrets
