"""Run a program against Pulumi mocks and keep every registration request as the engine would get it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from google.protobuf import json_format
from pulumi.runtime import mocks, settings
from pulumi.runtime.proto import engine_pb2

PROJECT, STACK = "agents", "dev"
_SIGNATURE, _SECRET = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""A value that a preview doesn't know."""


@dataclass(frozen=True)
class Secret:
    """A value that the engine keeps encrypted."""

    value: Any


@dataclass(frozen=True)
class Registration:
    """One request to register a resource."""

    type: str
    name: str
    inputs: dict[str, Any]
    request: Any

    @property
    def kind(self) -> str:
        return self.type.rsplit(":", 1)[-1]

    @property
    def parent(self) -> str:
        """Type and name of the parent."""
        parts = self.request.parent.split("::")
        return f"{parts[2].rsplit('$', 1)[-1]}::{parts[3]}" if len(parts) > 3 else ""

    @property
    def protect(self) -> bool | None:
        return self.request.protect if self.request.HasField("protect") else None

    @property
    def depends_on(self) -> set[str]:
        """Types and names of what it waits for."""
        return {"::".join(urn.split("::")[2:]).rsplit("$", 1)[-1] for urn in self.request.dependencies}


@dataclass
class Recording:
    """All registrations of a run, in order."""

    registrations: list[Registration] = field(default_factory=list)
    result: Any = None
    warnings: list[str] = field(default_factory=list)

    def of(self, kind: str, name: str | None = None) -> list[Registration]:
        return [one for one in self.registrations if one.kind == kind and name in (None, one.name)]

    def one(self, kind: str, name: str | None = None) -> Registration:
        found = self.of(kind, name)
        assert len(found) == 1, f"{len(found)} of kind {kind}, name {name}"
        return found[0]

    @property
    def names(self) -> list[str]:
        return [f"{one.type}::{one.name}" for one in self.registrations]


class Elsewhere(pulumi.CustomResource):
    """Something else in the program, whose output is unknown in a preview."""

    value: pulumi.Output[Any]

    def __init__(self, name: str, value: Any) -> None:
        super().__init__("other:index:Thing", name, {"given": value, "value": None})


class _Monitor(mocks.MockMonitor):
    def __init__(self, recording: Recording, preview: bool) -> None:
        super().__init__(_Answers(preview))
        self._recording = recording

    def RegisterResource(self, request: Any) -> Any:
        if request.type not in ("pulumi:pulumi:Stack", "other:index:Thing"):
            inputs = _plain(json_format.MessageToDict(request.object))
            self._recording.registrations.append(Registration(request.type, request.name, inputs, request))
        return super().RegisterResource(request)


class _Answers(mocks.Mocks):
    def __init__(self, preview: bool) -> None:
        self._preview = preview

    def call(self, args: mocks.MockCallArgs) -> Any:
        raise AssertionError(f"no program here calls {args.token}")

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if args.typ == "other:index:Thing":
            return "id", {} if self._preview else {"value": args.inputs["given"]}
        state = dict(args.inputs)
        metadata = state.get("metadata")
        if isinstance(metadata, dict) and "name" not in metadata:
            if self._preview:
                state.pop("metadata")
            else:
                state["metadata"] = {**metadata, "name": f"{args.name}-0a1b2c3d"}
        return f"{args.name}-id", state


class _Engine:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def Log(self, request: Any) -> None:
        if request.severity == engine_pb2.WARNING:
            self._recording.warnings.append(request.message)


def record(
    program: Callable[[], Any],
    *,
    config: Mapping[str, Any] | None = None,
    secret_config: Mapping[str, Any] | None = None,
    preview: bool = False,
) -> Recording:
    """Run `program` to its end, Outputs included, and return what it registered.

    Args:
        program: makes resources; may return an Output, whose value is then in the recording.
        config: of the stack; a key without a prefix is one of `sandbox-components:`.
        secret_config: like it, marked as secret.
        preview: outputs of other resources and made-up names are unknown.
    """
    try:
        asyncio.get_event_loop_policy().get_event_loop()
    except RuntimeError:  # another test's asyncio.run has taken it away
        asyncio.set_event_loop(asyncio.new_event_loop())
    recording = Recording()
    record.last = recording  # type: ignore[attr-defined]
    texts, secret_keys = {}, []
    for values, secret in ((config, False), (secret_config, True)):
        for key, value in (values or {}).items():
            full = key if ":" in key else f"sandbox-components:{key}"
            texts[full] = value if isinstance(value, str) else json.dumps(value)
            secret_keys += [full] if secret else []
    settings.set_root_resource(None)  # type: ignore[arg-type]
    mocks.set_mocks(
        _Answers(preview), project=PROJECT, stack=STACK, preview=preview, monitor=_Monitor(recording, preview)
    )
    settings.SETTINGS.engine = _Engine(recording)
    pulumi.runtime.set_all_config(texts, secret_keys)

    async def resolved(output: pulumi.Output[Any]) -> None:
        recording.result = await output.future()

    @mocks.test
    def run() -> Any:
        made = program()
        return pulumi.Output.from_input(resolved(made)) if isinstance(made, pulumi.Output) else None

    # Futures that nobody waits for after an error are no news, whenever they are collected.
    logging.getLogger("asyncio").disabled = True
    try:
        run()
    finally:
        pulumi.runtime.set_all_config({}, [])
    return recording


def registered_before_error() -> list[str]:
    """What the last run registered, also when it raised."""
    last: Recording = record.last  # type: ignore[attr-defined]
    return last.names


def _plain(value: Any) -> Any:
    if value == _UNKNOWN:
        return UNKNOWN
    if isinstance(value, dict):
        if value.get(_SIGNATURE) == _SECRET:
            return Secret(_plain(value["value"]))
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value
