"""A registry's credential among a sandbox's arguments: taken out before the rest is read, so it never meets plain text.

Programs write `image_auth`, which the schema knows; a creation request's `image.auth` means the same.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import pulumi

from sandbox_components.components.refusal import once_known
from sandbox_components.errors import InvalidInput
from sandbox_components.manifests.pull_secret import docker_config
from sandbox_components.spec.reading import unknown_key
from sandbox_components.spec.sandbox import check_text

_KEYS = ("username", "password")


@dataclass(frozen=True)
class ImageAuth:
    """A credential of the image's registry, each part as given: plain or an Output."""

    username: pulumi.Input[str]
    password: pulumi.Input[str]
    field: str

    def docker_config(self, uri: pulumi.Input[str]) -> pulumi.Output[str]:
        """Return the docker config for the image's registry, a secret."""
        known = pulumi.Output.all(uri, self.username, self.password)
        return pulumi.Output.secret(known.apply(self._text))

    def _text(self, parts: list[Any]) -> str:
        uri, *credential = parts
        with once_known():
            for key, value in zip(_KEYS, credential, strict=True):
                _check(value, f"{self.field}.{key}")
        return docker_config(uri, *credential)


def take_image_auth(values: MutableMapping[str, Any], name: str) -> ImageAuth | None:
    """Take `image_auth`, or `auth` of an `image` that is a mapping, out of a sandbox's arguments.

    Raises:
        InvalidInput: never with the credential.
    """
    image = values.get("image")
    nested = image.get("auth") if isinstance(image, Mapping) else None
    if nested is not None and isinstance(image, Mapping):
        values["image"] = {key: value for key, value in image.items() if key != "auth"}
    given = values.pop("image_auth", None)
    if given is not None and nested is not None:
        raise InvalidInput(f"{name}.image_auth", "is given beside image.auth: keep one")
    field = f"{name}.image.auth" if given is None else f"{name}.image_auth"
    found = nested if given is None else given
    if found is None:
        return None
    if not isinstance(found, Mapping):
        raise InvalidInput(field, "is not a mapping of username and password")
    for key in found:
        if key not in _KEYS:
            raise unknown_key(str(key), list(_KEYS), field)
    for key in _KEYS:
        if found.get(key) is None:
            raise InvalidInput(f"{field}.{key}", "is missing")
        if not isinstance(found[key], pulumi.Output):
            _check(found[key], f"{field}.{key}")
    return ImageAuth(found["username"], found["password"], field)


def _check(value: object, field: str) -> None:
    if not isinstance(value, str):
        raise InvalidInput(field, f"is not a string but of type {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(field, "is blank")
    check_text(value, field)
