"""The disk that survives: where it is mounted, how large it is, of which class, and what deletes it."""

from __future__ import annotations

import posixpath
from typing import Literal

from pydantic import field_validator, model_validator

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import naming, quantity
from sandbox_components.spec.reading import Model, Text, read
from sandbox_components.spec.shown import show

DEFAULT_MOUNT_PATH = "/workspace"
DEFAULT_SIZE = "10Gi"

Deletion = Literal["protect", "delete"]

_SYSTEM_PATHS = ("/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/var/run/secrets")


def check_mount_path(path: str, field: str = "") -> str:
    """Return `path` if a volume can be mounted there: absolute, plain, and not hiding the system.

    Raises:
        InvalidInput: with the reason.
    """
    if not path.startswith("/"):
        raise InvalidInput(field, f'{show(path)} is not absolute: it must begin with "/", such as /data')
    if any(ord(c) < 32 for c in path) or ":" in path or len(path) > 512:
        raise InvalidInput(field, f'{show(path)} is not a mount path: no ":", no control characters, at most 512 long')
    plain = posixpath.normpath(path).replace("//", "/")
    if ".." in path.split("/") or (plain != path.rstrip("/").replace("//", "/") and path != "/"):
        raise InvalidInput(field, f"{show(path)} is not plain: write {plain}")
    if plain in _SYSTEM_PATHS or plain.startswith(("/proc/", "/sys/", "/dev/")):
        raise InvalidInput(
            field, f"{show(path)} would hide the system's own files: take a folder such as /data or /workspace"
        )
    return plain


class Workspace(Model):
    """A persistent workspace: one PersistentVolumeClaim.

    Attributes:
        mount_path: absolute; default `/workspace`. A change restarts the agent, the disk stays.
        size: Kubernetes quantity; default from config `agentVolumeSize`, else 10Gi. Grows in place, never shrinks.
        storage_class: default from config `agentVolumeStorageClass`, else the cluster's. Can't change afterwards.
        existing_claim: use this claim instead of making one; its size and class are its own.
        claim_name: name of the claim; default `NAME-workspace`. Keeps the disk when the sandbox is renamed.
    """

    mount_path: Text = DEFAULT_MOUNT_PATH
    size: str | None = None
    storage_class: Text | None = None
    existing_claim: Text | None = None
    claim_name: Text | None = None

    @field_validator("mount_path")
    @classmethod
    def _mount_path(cls, value: str) -> str:
        return check_mount_path(value)

    @field_validator("size", mode="before")
    @classmethod
    def _size(cls, value: object) -> object:
        return None if value is None else quantity.storage(value, "")

    @field_validator("storage_class", "existing_claim", "claim_name")
    @classmethod
    def _object_name(cls, value: str | None) -> str | None:
        if value is not None and not naming.is_dns_subdomain(value):
            raise InvalidInput(
                "", f'{show(value)} is not the name of a Kubernetes object: lower-case letters, digits, "-", "."'
            )
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Workspace:
        if self.existing_claim is not None:
            given = [key for key in ("size", "storage_class", "claim_name") if getattr(self, key) is not None]
            if given:
                raise InvalidInput(
                    "existingClaim",
                    f'"{self.existing_claim}" is used as it is, so {", ".join(given)} can\'t be given beside it',
                )
        return self


class _Extensions(Model):
    persistence: Text
    storage_class: Text | None = None
    storage_size: Text | None = None


def from_extensions(extensions: object, field: str) -> Workspace | None:
    """Read the first seed's `extensions`: all strings, class and size needed when persistence is `"true"`.

    Raises:
        InvalidInput: naming the field.
    """
    found = read(_Extensions, extensions, field)
    if found.persistence not in ("true", "false"):
        raise InvalidInput(f"{field}.persistence", f'{show(found.persistence)} is neither "true" nor "false"')
    if found.persistence == "false":
        return None
    for key, value in (("storageClass", found.storage_class), ("storageSize", found.storage_size)):
        if value is None:
            raise InvalidInput(f"{field}.{key}", 'is missing: persistence "true" needs it')
        if not value.strip():
            raise InvalidInput(f"{field}.{key}", 'is blank: persistence "true" needs it')
    quantity.storage(found.storage_size, f"{field}.storageSize")
    if found.storage_class is not None and not naming.is_dns_subdomain(found.storage_class):
        raise InvalidInput(f"{field}.storageClass", f"{show(found.storage_class)} is not the name of a StorageClass")
    return Workspace(size=found.storage_size, storage_class=found.storage_class)
