"""Image references: what a registry could serve, told apart from what never pulls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.reading import Model, Text
from sandbox_components.spec.shown import show

_HOST = r"(?:\[[0-9a-fA-F:]+\]|[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?)(?::[0-9]{1,5})?"
_PATH = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:{_HOST}/)?{_PATH}(?:/{_PATH})*(?P<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?P<digest>@sha256:[0-9a-f]{{64}})?"
)

DOCKER_HUB = "https://index.docker.io/v1/"


def check_image(uri: str, field: str = "") -> str:
    """Return `uri` if it is an image reference: `[HOST[:PORT]/]PATH[:TAG][@sha256:DIGEST]`.

    Raises:
        InvalidInput: with the usual causes spelt out.
    """
    if not uri.strip():
        raise InvalidInput(field, "is blank: accepted is an image such as ghcr.io/acme/agent:1.2")
    if len(uri) > 512 or not _REFERENCE.fullmatch(uri):
        hint = ""
        if "://" in uri:
            hint = ", without a scheme"
        elif uri != uri.strip() or " " in uri:
            hint = ", without blanks"
        elif uri.split("@")[0].rsplit(":", 1)[0] != uri.split("@")[0].rsplit(":", 1)[0].lower():
            hint = ", with the repository in lower case"
        raise InvalidInput(
            field, f"{show(uri, 80)} is not an image reference: write HOST/PATH:TAG or HOST/PATH@sha256:DIGEST{hint}"
        )
    return uri


def pull_policy(uri: str) -> str:
    """Kubernetes' own default, spelt out: `Always` for `:latest` and untagged, else `IfNotPresent`."""
    match = _REFERENCE.fullmatch(uri)
    if match is None or match["digest"]:
        return "IfNotPresent"
    return "Always" if match["tag"] in (None, ":latest") else "IfNotPresent"


def registry(uri: str) -> str:
    """Return the registry of an image as pull credentials name it; Docker Hub's is its old URL.

    What stands before the first `/` is a host if it could be no folder there: it has a `.`, a `:` or an upper-case
    letter, or is `localhost`.
    """
    host, slash, _ = uri.partition("/")
    if not slash or not (host == "localhost" or host != host.lower() or "." in host or ":" in host):
        host = "docker.io"
    return DOCKER_HUB if host in ("docker.io", "index.docker.io") else host


class Image(Model):
    """The agent's image. A change restarts the agent and makes a revision."""

    uri: Annotated[Text, Field(examples=["ghcr.io/acme/agent:1.2"])]

    @model_validator(mode="before")
    @classmethod
    def _without_credential(cls, data: object) -> object:
        if isinstance(data, Mapping) and data.get("auth") is not None:
            raise InvalidInput(
                "auth",
                "is a credential, which doesn't stand in plain text: make a pull Secret and name it in "
                "imagePullSecrets; programs in Python may give image_auth",
            )
        return data

    @field_validator("uri")
    @classmethod
    def _uri(cls, value: str) -> str:
        return check_image(value)
