"""The proxy's settings: one YAML file, read once at the start. Secrets are named in it, never written in it.

listen: 0.0.0.0:8080            # what sandboxes reach
admin: 0.0.0.0:8081             # metrics, readiness, spend queries; not for sandboxes
database: {url: sqlite:////data/ledger.sqlite}
signingKey: {file: /run/secrets/inference/signing-key}
source: {namespace: inference}  # or {file: /etc/proxy/source.yaml}
upstreams:
  - name: openai
    api: openai                 # or anthropic
    baseUrl: https://api.openai.com
    key: {env: OPENAI_API_KEY}
    models: ["gpt-4o*", "o3"]   # default: all that have a price
limits: {bodyBytes: 33554432}
prices: {}                      # the operator's own, before the bundled ones
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.naming import is_dns_label
from sandbox_components.spec.proxy import check_base_url
from sandbox_components.spec.reading import Model, Text, Whole, read
from sandbox_components.spec.shown import show

Positive = Annotated[Whole, Field(gt=0, le=2**40)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]


class Secret(Model):
    """Where a secret stands: in a file or in an environment variable."""

    file: Text | None = None
    env: Text | None = None

    @model_validator(mode="after")
    def _one(self) -> Secret:
        if (self.file is None) == (self.env is None):
            raise InvalidInput("", "is one of {file: PATH} and {env: NAME}")
        return self

    def read(self, field: str) -> str:
        """Return the secret without the line end of its file.

        Raises:
            InvalidInput: it isn't there, or empty. The text never shows what was read.
        """
        if self.env is not None:
            value, where = os.environ.get(self.env, ""), f"the variable {self.env}"
        else:
            where = f"the file {self.file}"
            try:
                value = Path(str(self.file)).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
                raise InvalidInput(field, f"{where} can't be read: {reason}") from None
        value = value.strip("\r\n")
        if not value or not value.isascii() or not value.isprintable():
            raise InvalidInput(field, f"{where} holds no key: one line of printable ASCII is accepted")
        return value


class DataBase(Model):
    """Where the ledger is; a URL with a password comes from a file or variable."""

    url: Text | None = None
    file: Text | None = None
    env: Text | None = None

    @model_validator(mode="after")
    def _one(self) -> DataBase:
        if sum(one is not None for one in (self.url, self.file, self.env)) != 1:
            raise InvalidInput("", "is one of {url: URL}, {file: PATH} and {env: NAME}")
        return self

    def read(self, field: str) -> str:
        """Return the URL."""
        return self.url or Secret(file=self.file, env=self.env).read(field)


class Upstream(Model):
    """A provider of models, or another server that speaks its format."""

    name: Annotated[Text, Field(examples=["openai"])]
    api: Annotated[Literal["openai", "anthropic"], Field(examples=["openai"])]
    base_url: Annotated[Text, Field(examples=["https://api.openai.com"])]
    key: Secret
    models: tuple[Text, ...] = ("*",)
    """Shell patterns of the models that it serves."""
    ca_file: Text | None = None
    """Certificates to trust instead of the system's."""

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not is_dns_label(value):
            raise InvalidInput("", f'{show(value)} is not a name: lower-case letters, digits and "-"')
        return value

    @field_validator("base_url")
    @classmethod
    def _base_url(cls, value: str) -> str:
        return check_base_url(value).rstrip("/").removesuffix("/v1")


class SourceSettings(Model):
    """Where identities and limits come from."""

    namespace: Text | None = None
    """The proxy's own namespace, whose ConfigMaps are read."""
    file: Text | None = None
    """A YAML file, for a proxy without a cluster."""

    @model_validator(mode="after")
    def _one(self) -> SourceSettings:
        if (self.namespace is None) == (self.file is None):
            raise InvalidInput("", "is one of {namespace: NAME} and {file: PATH}")
        return self


class Bounds(Model):
    """What a client may ask of us. Beyond them a request is refused."""

    body_bytes: Positive = 32 * 2**20
    """Of one request."""
    buffered_bytes: Positive = 256 * 2**20
    """Of all requests that are being answered; one sandbox may have half of it."""
    header_bytes: Positive = 32 * 2**10
    connections: Positive = 2048
    connections_per_address: Positive = 512
    calls_per_sandbox: Positive = 128
    """In flight at one moment."""
    answer_bytes: Positive = 256 * 2**20
    """Of one answer: more is cut off and charged in full."""


class Timeouts(Model):
    """How long, in seconds, we wait for whom."""

    request: Seconds = 60
    """For a client's whole request; its head must come within 15 s in any case."""
    connect: Seconds = 10
    """For a connection to the upstream, and for a free one."""
    first_byte: Seconds = 600
    """For the upstream's answer to begin."""
    between_bytes: Seconds = 300
    """For the next bytes of an answer that has begun."""
    client: Seconds = 120
    """For a client that doesn't read its answer; afterwards it is hung up on."""
    drain: Seconds = 120
    """For the rest of an answer whose client is gone; it tells what the call cost."""
    shutdown: Seconds = 25
    """For calls in flight when the proxy is told to end."""


class Settings(Model):
    """All of the file."""

    listen: Text = "0.0.0.0:8080"
    admin: Text = "0.0.0.0:8081"
    database: DataBase
    signing_key: Secret
    source: SourceSettings
    upstreams: Annotated[tuple[Upstream, ...], Field(min_length=1)]
    limits: Bounds = Bounds()
    timeouts: Timeouts = Timeouts()
    prices: Mapping[str, Any] = {}
    upstream_connections: Positive = 512

    @field_validator("listen", "admin")
    @classmethod
    def _address(cls, value: str) -> str:
        address(value)
        return value

    @field_validator("upstreams")
    @classmethod
    def _names(cls, value: tuple[Upstream, ...]) -> tuple[Upstream, ...]:
        names = [one.name for one in value]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise InvalidInput("", f"the name {show(twice)} is given twice")
        return value


def address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`; port 0 takes a free one.

    Raises:
        InvalidInput: it is something else.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise InvalidInput("", f"{show(text)} is not HOST:PORT, such as 0.0.0.0:8080")
    return host.strip("[]"), int(port)


def load(path: Path) -> Settings:
    """Read a settings file.

    Raises:
        InvalidInput: naming the field, or the file when it can't be read.
    """
    return read(Settings, document(path), "")


def document(path: Path) -> Any:
    """Read a YAML file.

    Raises:
        InvalidInput: it can't be read; nothing of its content is shown.
    """
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(str(path), f"can't be read: {error.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise InvalidInput(str(path), f"is not YAML{where}") from None
