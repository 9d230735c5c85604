"""Reads a checkpoint: of a stack's whole state, what it says of its sandboxes.

Versions 1 to 4 and the time before there were any differ in nothing that is read here; a version or feature that
Pulumi 3.274 doesn't know means that the state can't be read, never that it is empty.
"""

from __future__ import annotations

import msgspec

from sandbox_components.revisions.compression import BrokenFile, plain
from sandbox_components.revisions.model import Checkpoint, SandboxState
from sandbox_components.spec.naming import SPEC_ANNOTATION

STATEFUL_SET = "kubernetes:apps/v1:StatefulSet"
SANDBOX = "sandbox-components:index:Sandbox$"
LATEST_VERSION = 4
FEATURES = frozenset(
    {
        "refreshBeforeUpdate",
        "views",
        "hooks",
        "taint",
        "replaceWith",
        "snippets-prototype",
        "extensionParameterization",
        "byteString",
    }
)
"""Of version 4, all that Pulumi 3.274 knows."""


class _Resource(msgspec.Struct, rename="camel"):
    urn: str
    type: str
    inputs: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    outputs: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    init_errors: list[str] | None = None
    created: str | None = None
    delete: bool = False
    pending_replacement: bool = False


class _Deployment(msgspec.Struct):
    resources: list[_Resource] | None = None


class _Body(msgspec.Struct):
    latest: _Deployment | None = None


class _File(msgspec.Struct):
    """`checkpoint` in backends that keep files, `deployment` in what `pulumi stack export` prints."""

    version: int = 0
    features: list[str] | None = None
    checkpoint: _Body | None = None
    deployment: _Deployment | None = None
    stack: str = ""
    latest: _Deployment | None = None


class _Version(msgspec.Struct):
    version: int = 0


class _Metadata(msgspec.Struct):
    name: str
    annotations: dict[str, msgspec.Raw]


class _Inputs(msgspec.Struct):
    metadata: _Metadata


_FILE = msgspec.json.Decoder(_File)
_VERSION = msgspec.json.Decoder(_Version)
_INPUTS = msgspec.json.Decoder(_Inputs)
_TEXT = msgspec.json.Decoder(str)


def read_checkpoint(data: bytes) -> Checkpoint:
    """Return what a file's bytes hold of each sandbox; whatever is wrong is its `problem`."""
    try:
        deployment = _deployment(plain(data))
    except BrokenFile as error:
        return Checkpoint({}, str(error))
    sandboxes: dict[str, SandboxState] = {}
    for resource in (deployment.resources or ()) if deployment is not None else ():
        if resource.type == STATEFUL_SET and not resource.delete and not resource.pending_replacement:
            found = _sandbox(resource)
            if found is not None:
                sandboxes[found[0]] = found[1]
    return Checkpoint(sandboxes)


def _deployment(text: bytes) -> _Deployment | None:
    try:
        file = _FILE.decode(text)
    except (ValueError, RecursionError):
        _check_version(text)
        raise BrokenFile("broken: not the JSON of a checkpoint") from None
    _check(file.version, file.features)
    if file.deployment is not None:
        return file.deployment
    if file.version > 0 and file.checkpoint is not None:
        return file.checkpoint.latest
    if file.version == 0 and (file.stack or file.latest is not None):
        return file.latest
    raise BrokenFile("broken: not the JSON of a checkpoint")


def _check(version: int, features: list[str] | None) -> None:
    if not 0 <= version <= LATEST_VERSION:
        raise BrokenFile(f"of version {version}, which isn't known here: a newer Pulumi wrote it")
    unknown = sorted(set(features or ()) - FEATURES)
    if unknown:
        raise BrokenFile(f"uses {', '.join(unknown)}, which isn't known here: a newer Pulumi wrote it")


def _check_version(text: bytes) -> None:
    """Name an unknown version, where that is why the rest doesn't fit."""
    try:
        version = _VERSION.decode(text).version
    except (ValueError, RecursionError):
        return
    _check(version, None)


def _sandbox(resource: _Resource) -> tuple[str, SandboxState] | None:
    """Return name and state, if the StatefulSet is a sandbox's; one whose annotation is a secret has no text.

    After an update that the API server took and that didn't become ready, the engine keeps the inputs of the one
    before; what was sent stands among the outputs, which are the live object.
    """
    name, spec = resource.urn.rsplit("::", 1)[-1], ""
    for part in (resource.outputs, resource.inputs) if resource.init_errors else (resource.inputs,):
        try:
            metadata = _INPUTS.decode(part).metadata
            name, spec = metadata.name, _TEXT.decode(metadata.annotations[SPEC_ANNOTATION])
            break
        except (ValueError, KeyError, RecursionError):
            continue
    else:
        if SANDBOX not in resource.urn:
            return None
    return name, SandboxState(spec, bool(resource.init_errors), resource.created)
