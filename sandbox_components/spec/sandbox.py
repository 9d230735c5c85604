"""`SandboxSpec`: the one model of a sandbox that every door ends in and every object is rendered from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import inference as spending
from sandbox_components.spec import naming, network, quantity, scheduling
from sandbox_components.spec.health import NO_HEALTH_CHECK, HealthCheck
from sandbox_components.spec.image import Image
from sandbox_components.spec.inference_key import MOST_GENERATIONS
from sandbox_components.spec.network import EgressRule, Expose, Port
from sandbox_components.spec.reading import Flag, Model, Text, Whole, read, unknown_key
from sandbox_components.spec.shown import in_quotes, show
from sandbox_components.spec.workspace import Deletion, Workspace, from_extensions

NOT_YET = ("expiresAt",)
"""Keys of the stack config's contract whose feature isn't built yet: one error, not an unknown key."""

_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_UNREADABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""The API server reads what is applied as YAML, which refuses these, or folds them away as line breaks."""
_LARGEST_ENV_VALUE = 128 * 1024
"""Linux refuses a longer single string at exec (MAX_ARG_STRLEN, 32 pages)."""


def check_env_name(key: str, field: str = "") -> str:
    """Return `key` if it names an environment variable that Kubernetes takes.

    Raises:
        InvalidInput: never with the value, which may be a secret.
    """
    if not _ENV_NAME.fullmatch(key) or len(key) > 253:
        raise InvalidInput(
            field or key, f'"{key[:60]}" is not a variable name: letters, digits, "_", "-", ".", no digit first'
        )
    return key


def check_text(value: str, field: str) -> str:
    """Return `value` if a process can be given it: no NUL, nothing that YAML refuses, at most 128 KiB.

    Raises:
        InvalidInput: never with the value, which may be a secret.
    """
    if "\0" in value:
        raise InvalidInput(field, "holds a NUL character, which no process can be given")
    unreadable = _UNREADABLE.search(value)
    if unreadable is not None:
        raise InvalidInput(
            field,
            f"holds the character U+{ord(unreadable[0]):04X}, which doesn't survive the way through the API server",
        )
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidInput(field, "is not valid Unicode") from None
    if size >= _LARGEST_ENV_VALUE:
        raise InvalidInput(field, f"has {size} bytes, Linux passes less than {_LARGEST_ENV_VALUE}")
    return value


def _env(value: object) -> object:
    if not isinstance(value, Mapping):
        kind = "a list" if isinstance(value, list | tuple) else f"of type {type(value).__name__}, which"
        raise ValueError(f"{kind} is not a mapping of names to strings")
    for key, text in value.items():
        if not isinstance(key, str):
            raise InvalidInput("", f"the name {show(key)} is not a string{in_quotes(key)}")
        check_env_name(key)
        if not isinstance(text, str):
            raise InvalidInput(key, f"is not a string but of type {type(text).__name__}: write it in quotes")
        check_text(text, key)
    return dict(value)


class Resources(Model):
    """CPU and memory, as Kubernetes quantities: `500m`, `0.5`, `2`; `512Mi`, `2Gi`."""

    cpu: Annotated[str, Field(examples=["500m"])]
    memory: Annotated[str, Field(examples=["2Gi"])]

    @field_validator("cpu", mode="before")
    @classmethod
    def _cpu(cls, value: object) -> object:
        return quantity.cpu(value, "")

    @field_validator("memory", mode="before")
    @classmethod
    def _memory(cls, value: object) -> object:
        return quantity.memory(value, "")


class ResourceRequests(Model):
    """What the scheduler reserves; each defaults to its limit."""

    cpu: str | None = None
    memory: str | None = None

    @field_validator("cpu", mode="before")
    @classmethod
    def _cpu(cls, value: object) -> object:
        return None if value is None else quantity.cpu(value, "")

    @field_validator("memory", mode="before")
    @classmethod
    def _memory(cls, value: object) -> object:
        return None if value is None else quantity.memory(value, "")


class SandboxSpec(Model):
    """Everything that is decided of a sandbox before an object is rendered; secrets only by name."""

    image: Image
    entrypoint: tuple[Text, ...] | None = None
    command: Text | None = None
    resource_limits: Resources
    resource_requests: ResourceRequests = ResourceRequests()
    env: Annotated[dict[str, str], BeforeValidator(_env)] = Field(default_factory=dict)
    workspace: Workspace | None = None
    health_check: HealthCheck = NO_HEALTH_CHECK
    ports: tuple[Port, ...] = ()
    labels: dict[str, Any] = Field(default_factory=dict)
    egress: Literal["internet", "none"] | tuple[EgressRule, ...] = "internet"
    runtime_class: Text | None = None
    security: Literal["restricted", "baseline"] = "restricted"
    run_as_user: Whole = 1000
    termination_grace_period_seconds: Whole = 30
    node_selector: dict[str, Text] = Field(default_factory=dict)
    tolerations: tuple[scheduling.Toleration, ...] = ()
    image_pull_secrets: tuple[Text, ...] = ()
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    deletion: Deletion = "protect"
    wait_for_ready: Flag = False
    expose: dict[int, Expose] = Field(default_factory=dict)
    inference: spending.Inference | None = None
    spending_limits: tuple[spending.OwnLimit, ...] = ()
    org: Text | None = None
    user: Text | None = None
    agent: Text | None = None
    key_generation: Whole = 1

    @field_validator("egress", mode="before")
    @classmethod
    def _egress(cls, value: object) -> object:
        if isinstance(value, str) and value not in ("internet", "none"):
            raise InvalidInput("", f'{show(value)} is neither "internet" nor "none" nor a list of rules')
        if isinstance(value, list | tuple):
            return tuple(
                one if isinstance(one, EgressRule) else read(EgressRule, one, f"[{index}]")
                for index, one in enumerate(value)
            )
        if not isinstance(value, str):
            raise InvalidInput("", f'{show(value)} is neither "internet" nor "none" nor a list of rules')
        return value

    @field_validator("entrypoint", mode="before")
    @classmethod
    def _entrypoint(cls, value: object) -> object:
        if isinstance(value, str):
            raise InvalidInput("", 'is a string: entrypoint is a list of arguments; for a shell line use "command"')
        return value

    @field_validator("expose", mode="before")
    @classmethod
    def _expose(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        found = {}
        for key, one in value.items():
            text = str(key)
            if isinstance(key, bool) or not re.fullmatch("[1-9][0-9]{0,4}", text):
                raise InvalidInput("", f"{show(key)} is not a port number")
            found[int(text)] = one
        return found

    @model_validator(mode="after")
    def _coherent(self) -> SandboxSpec:
        self._check_command()
        for key, value in self.labels.items():
            naming.check_label(key, value)
        network.check_unique(self.ports, "ports")
        hosts: set[str] = set()
        for number, one in self.expose.items():
            if not any(port.port == number and port.protocol == "TCP" for port in self.ports):
                raise InvalidInput(f"expose.{number}", f"{number} is not among the TCP ports")
            if one.host is not None and one.host in hosts:
                raise InvalidInput(
                    f"expose.{number}.host", f"{show(one.host)} is another port's already: give it its own"
                )
            hosts |= {one.host} if one.host is not None else set()
        for kind in ("cpu", "memory"):
            request, limit = getattr(self.resource_requests, kind), getattr(self.resource_limits, kind)
            if request is not None and quantity.as_number(request) > quantity.as_number(limit):
                raise InvalidInput(
                    f"resourceRequests.{kind}", f'"{request}" is more than resourceLimits.{kind}, "{limit}"'
                )
        if not 0 <= self.termination_grace_period_seconds <= 86400:
            raise InvalidInput(
                "terminationGracePeriodSeconds", f"{self.termination_grace_period_seconds} is not between 0 and 86400"
            )
        if not 0 <= self.run_as_user <= 2**31 - 1:
            raise InvalidInput("runAsUser", f"{self.run_as_user} is not a user id, 0 to 2147483647")
        if self.run_as_user == 0 and self.security == "restricted":
            raise InvalidInput("runAsUser", "0 is root, which only security baseline allows")
        object_names = (("runtimeClass", (self.runtime_class,)), ("imagePullSecrets", self.image_pull_secrets))
        for key, names in object_names:
            for index, name in enumerate(names):
                if name is not None and not naming.is_dns_subdomain(name):
                    raise InvalidInput(
                        f"{key}[{index}]" if key == "imagePullSecrets" else key,
                        f"{show(name)} is not the name of a Kubernetes object",
                    )
        try:
            scheduling.check_node_selector(self.node_selector)
        except InvalidInput as error:
            raise error.within("nodeSelector") from None
        self._check_spending()
        return self

    def _check_spending(self) -> None:
        payers = {"org": self.org, "user": self.user, "agent": self.agent}
        spending.check_payers(payers)
        if self.spending_limits and self.inference is None:
            raise InvalidInput("spendingLimits", "is given without inference: there is no proxy that could keep to it")
        spending.check_limits(self.spending_limits, payers, "spendingLimits")
        if not 1 <= self.key_generation <= MOST_GENERATIONS:
            raise InvalidInput("keyGeneration", f"{self.key_generation} is not a whole number from 1")
        if self.inference is not None:
            spending.check_variables(self.env, "env")

    def _check_command(self) -> None:
        if self.entrypoint is not None and self.command is not None:
            raise InvalidInput(
                "command", "is given beside entrypoint: entrypoint is exact arguments, command one shell line"
            )
        if self.entrypoint is not None:
            if not self.entrypoint:
                raise InvalidInput("entrypoint", 'is empty: leave it out for the image\'s own, or write ["./start.sh"]')
            if not self.entrypoint[0]:
                raise InvalidInput("entrypoint[0]", "is blank: it is the program to run")
            for index, text in enumerate(self.entrypoint):
                check_text(text, f"entrypoint[{index}]")
        if self.command is not None:
            if not self.command.strip():
                raise InvalidInput("command", "is blank: leave it out for the image's own")
            check_text(self.command, "command")


def read_sandbox(data: object, field: str = "") -> SandboxSpec:
    """Read a sandbox in any of its written forms: stack config, the seeds' request or YAML, program arguments.

    `volumes` (a list of one) and `extensions` (the first seed's strings) both mean the workspace, `workspace` is the
    program's own word for it; more than one of them is refused.

    Args:
        data: a mapping with camelCase or snake_case keys.
        field: path that errors are put below.

    Raises:
        InvalidInput: for the first thing that is wrong.
    """
    if not isinstance(data, Mapping):
        raise InvalidInput(field, "is not a mapping with image, resourceLimits and more")
    values: dict[str, Any] = dict(data)
    prefix = f"{field}." if field else ""
    for key in NOT_YET:
        if key in values or re.sub(r"([A-Z])", lambda m: "_" + m[1].lower(), key) in values:
            raise InvalidInput(f"{prefix}{key}", "is not available yet in this version")
    doors = [key for key in ("workspace", "volumes", "extensions") if values.get(key) is not None]
    if len(doors) > 1:
        raise InvalidInput(f"{prefix}{doors[1]}", f"is given beside {doors[0]}: both say what the disk is, keep one")
    if "extensions" in values:
        extensions = values.pop("extensions")
        if extensions is not None:
            values["workspace"] = from_extensions(extensions, f"{prefix}extensions")
    if values.get("volumes") is None:
        values.pop("volumes", None)
    else:
        values["workspace"] = _one_volume(values.pop("volumes"), f"{prefix}volumes")
    if isinstance(values.get("workspace"), Mapping):
        values["workspace"] = read(Workspace, values["workspace"], f"{prefix}workspace")
    if isinstance(values.get("image"), str):
        values["image"] = {"uri": values["image"]}
    present = {key: value for key, value in values.items() if value is not None}
    for key in values:
        if not isinstance(key, str):
            raise InvalidInput(field, f"the key {show(key)} is not a string{in_quotes(key)}")
    unknown = [key for key in present if key not in _known_spellings()]
    if unknown:
        raise unknown_key(str(unknown[0]), [*_wire_names(), "volumes", "extensions", *NOT_YET], field)
    return read(SandboxSpec, present, field)


def _one_volume(volumes: object, field: str) -> Workspace | None:
    if not isinstance(volumes, list | tuple):
        raise InvalidInput(field, "is not a list: write - mountPath: /data")
    if len(volumes) > 1:
        raise InvalidInput(field, f"{len(volumes)} volumes are given, a sandbox has one today")
    if not volumes:
        return None
    workspace = read(Workspace, volumes[0], f"{field}[0]")
    if "mount_path" not in workspace.model_fields_set:
        raise InvalidInput(f"{field}[0].mountPath", "is missing: an absolute path such as /data")
    return workspace


def _wire_names() -> list[str]:
    return [info.alias or name for name, info in SandboxSpec.model_fields.items()]


def _known_spellings() -> set[str]:
    return {*SandboxSpec.model_fields, *_wire_names()}
