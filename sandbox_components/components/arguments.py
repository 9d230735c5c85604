"""Split a component's arguments: plain ones are checked before anything is registered, Outputs as soon as known.

What decides which objects exist (a disk? which ports?) must be plain, because a preview doesn't know every Output.
For checking, an Output's place is held by a value that is right there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pydantic.alias_generators import to_camel

from sandbox_components.components.image_auth import ImageAuth, take_image_auth
from sandbox_components.components.refusal import once_known
from sandbox_components.errors import InvalidInput
from sandbox_components.spec import revision
from sandbox_components.spec.inference import check_variables
from sandbox_components.spec.sandbox import SandboxSpec, check_env_name, check_text, read_sandbox

_STAND_INS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("image",), "stand-in:1"),
    (("image", "uri"), "stand-in:1"),
    (("entrypoint", "*"), "stand-in"),
    (("command",), "stand-in"),
    (("resource_limits", "cpu"), "10000"),
    (("resource_limits", "memory"), "1Ei"),
    (("resource_requests", "cpu"), "1m"),
    (("resource_requests", "memory"), "4Mi"),
    (("labels", "*"), "stand-in"),
    (("health_check", "http", "path"), "/"),
)

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Arguments:
    """A sandbox's arguments after the split.

    Attributes:
        spec: checked; where Outputs are given their stand-ins are in it, so use it for the shape alone.
        later: the whole spec as an Output if there are Outputs outside `env`, else None.
        secret_env: variables that go into the Secret.
        namespace: as given, unchecked.
        image_auth: credential of the image's registry.
    """

    spec: SandboxSpec
    later: pulumi.Output[SandboxSpec] | None
    secret_env: dict[str, pulumi.Output[str]]
    namespace: object
    image_auth: ImageAuth | None = None

    @staticmethod
    def split(args: Mapping[str, Any], name: str) -> Arguments:
        """Check and split `args`; errors are put below the sandbox's name.

        Raises:
            InvalidInput: naming the field, before anything is registered.
        """
        if not isinstance(args, Mapping):
            raise InvalidInput(name, "args is not a mapping with image, resource_limits and more")
        values: dict[str, Any] = {}
        for key, value in args.items():
            if _snake(key) in values:
                snake = _snake(key)
                raise InvalidInput(f"{name}.{snake}", f'is given twice, also as "{to_camel(snake)}"')
            values[_snake(key)] = value
        namespace = values.pop("namespace", None)
        if "egress_rules" in values:
            if values.get("egress") is not None:
                raise InvalidInput(f"{name}.egress_rules", "is given beside egress: keep one")
            values["egress"] = values.pop("egress_rules")
        secret_env = _take_secret_env(values, name)
        image_auth = take_image_auth(values, name)
        outputs: dict[Path, pulumi.Output[Any]] = {}
        sample = _without_outputs(values, (), outputs, name)
        spec = read_sandbox(sample, name)
        if spec.inference is not None:
            check_variables(secret_env, f"{name}.env")
        revision.check_size(spec, sorted(secret_env), name)
        later = None
        if outputs:
            paths = list(outputs)

            def whole(found: list[Any]) -> SandboxSpec:
                with once_known():
                    return read_sandbox(_filled(sample, dict(zip(paths, found, strict=True))), name)

            later = pulumi.Output.all(*(_not_secret(outputs[path], path, name) for path in paths)).apply(whole)
        return Arguments(spec=spec, later=later, secret_env=secret_env, namespace=namespace, image_auth=image_auth)


def _snake(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput("", f"the argument's name {key!r} is not a string")
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in key)


def _take_secret_env(values: dict[str, Any], name: str) -> dict[str, pulumi.Output[str]]:
    env = values.get("env")
    if isinstance(env, pulumi.Output):
        raise InvalidInput(f"{name}.env", "must be a plain mapping: its values may be Outputs, its names may not")
    if not isinstance(env, Mapping):
        return {}
    secret = {key: value for key, value in env.items() if isinstance(value, pulumi.Output)}
    for key in secret:
        check_env_name(key, f"{name}.env.{key}")
    values["env"] = {key: value for key, value in env.items() if key not in secret}
    return {key: pulumi.Output.secret(value.apply(_text_of(name, key))) for key, value in secret.items()}


def _text_of(name: str, key: str) -> Any:
    def text(value: object) -> str:
        with once_known():
            if not isinstance(value, str):
                raise InvalidInput(f"{name}.env.{key}", f"is not a string but of type {type(value).__name__}")
            return check_text(value, f"{name}.env.{key}")

    return text


def _without_outputs(value: Any, path: Path, outputs: dict[Path, pulumi.Output[Any]], name: str) -> Any:
    if isinstance(value, pulumi.Output):
        for pattern, stand_in in _STAND_INS:
            if len(pattern) == len(path) and all(
                one == "*" or one == _snake(str(part)) for one, part in zip(pattern, path, strict=True)
            ):
                outputs[path] = value
                return stand_in
        field = ".".join(str(part) for part in path)
        raise InvalidInput(f"{name}.{field}", "must be a plain value, not an Output: a preview has to know it")
    if isinstance(value, Mapping):
        return {key: _without_outputs(one, (*path, key), outputs, name) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_outputs(one, (*path, index), outputs, name) for index, one in enumerate(value)]
    return value


def _filled(value: Any, known: Mapping[Path, Any], path: Path = ()) -> Any:
    if path in known:
        return known[path]
    if isinstance(value, Mapping):
        return {key: _filled(one, known, (*path, key)) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, known, (*path, index)) for index, one in enumerate(value)]
    return value


def _not_secret(output: pulumi.Output[Any], path: Path, name: str) -> pulumi.Output[Any]:
    async def plain() -> Any:
        with once_known():
            if await output.is_secret():
                field = ".".join(str(part) for part in path)
                problem = "is a secret: secrets are for env alone, where they go into a Secret"
                raise InvalidInput(f"{name}.{field}", problem)
        return output

    return pulumi.Output.from_input(plain())
