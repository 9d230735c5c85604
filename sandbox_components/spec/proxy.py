"""`ProxySpec`: the one model of an inference proxy that its objects are rendered from; secrets only by name."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import naming, network, quantity
from sandbox_components.spec.health import check_port
from sandbox_components.spec.image import Image
from sandbox_components.spec.inference import DEFAULT_PORT, SpendingLimitSpec
from sandbox_components.spec.reading import Flag, Model, Text, Whole
from sandbox_components.spec.sandbox import ResourceRequests, Resources
from sandbox_components.spec.shown import show
from sandbox_components.spec.workspace import Deletion

DEFAULT_ADMIN_PORT = 8081
DEFAULT_STORAGE = "2Gi"
MOST_REPLICAS = 20
_LONGEST_NAME = 40


def check_base_url(value: str) -> str:
    """Return a provider's base URL; an error doesn't quote it, because a key may have been put there.

    Raises:
        InvalidInput: it is none, or has more than scheme, host, port and path.
    """
    try:
        parts = urlsplit(value)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_good = False
    if not is_good or parts.query or parts.fragment or parts.username is not None or not value.isascii():
        raise InvalidInput("", "is not http(s)://HOST[:PORT][/PATH]; keys have a field of their own")
    return value


class ProxyUpstream(Model):
    """A provider of models; its key stands beside it in a program, and in a Secret in the cluster.

    Attributes:
        name: of ours, in the ledger and in metrics.
        api: whose format it speaks.
        base_url: without the `/v1`.
        models: shell patterns of the models that it serves.
    """

    name: Annotated[Text, Field(examples=["openai"])]
    api: Annotated[Literal["openai", "anthropic"], Field(examples=["openai"])]
    base_url: Annotated[Text, Field(examples=["https://api.openai.com"])]
    models: tuple[Text, ...] = ("*",)

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not naming.is_dns_label(value) or len(value) > _LONGEST_NAME:
            raise InvalidInput(
                "", f'{show(value)} is not a name: at most {_LONGEST_NAME} lower-case letters, digits and "-"'
            )
        return value

    @field_validator("base_url")
    @classmethod
    def _base_url(cls, value: str) -> str:
        check_base_url(value)
        return value


class Storage(Model):
    """The claim of the ledger's SQLite file."""

    size: Text = DEFAULT_STORAGE
    storage_class: Text | None = None

    @field_validator("size", mode="before")
    @classmethod
    def _size(cls, value: object) -> object:
        return quantity.storage(value, "")

    @field_validator("storage_class")
    @classmethod
    def _storage_class(cls, value: str | None) -> str | None:
        if value is not None and not naming.is_dns_subdomain(value):
            raise InvalidInput("", f"{show(value)} is not the name of a StorageClass")
        return value


class ProxySpec(Model):
    """Everything that is decided of an inference proxy before an object is rendered.

    Attributes:
        is_postgres: the ledger is in a Postgres, whose URL is a secret; else in a SQLite file on a claim.
        replicas: more than one only with Postgres.
        admin_namespaces: whose pods reach the admin port: the API server's proxy where it comes through pods.
        admin_cidrs: addresses that reach it: the API server's, where its machines aren't the pods' nodes.
        request_limits: the proxy's own bounds of requests, in the words of its settings.
        timeouts: likewise, in seconds.
        prices: the operator's own, before the bundled ones.
    """

    image: Annotated[Image, Field(examples=["ghcr.io/acme/sandbox-components:0.1"])]
    upstreams: Annotated[tuple[ProxyUpstream, ...], Field(min_length=1)]
    is_postgres: Flag = False
    replicas: Whole = 1
    storage: Storage | None = None
    port: Whole = DEFAULT_PORT
    admin_port: Whole = DEFAULT_ADMIN_PORT
    admin_namespaces: tuple[Text, ...] = ("kube-system",)
    admin_cidrs: tuple[Text, ...] = ()
    resource_limits: Resources = Resources(cpu="2", memory="1Gi")
    resource_requests: ResourceRequests = ResourceRequests(cpu="250m", memory="256Mi")
    spending_limits: tuple[SpendingLimitSpec, ...] = ()
    request_limits: dict[str, Any] = Field(default_factory=dict)
    timeouts: dict[str, Any] = Field(default_factory=dict)
    prices: dict[str, Any] = Field(default_factory=dict)
    image_pull_secrets: tuple[Text, ...] = ()
    node_selector: dict[str, Text] = Field(default_factory=dict)
    labels: dict[str, Any] = Field(default_factory=dict)
    deletion: Deletion = "protect"
    wait_for_ready: Flag = False

    @field_validator("image", mode="before")
    @classmethod
    def _image(cls, value: object) -> object:
        return {"uri": value} if isinstance(value, str) else value

    @field_validator("port", "admin_port")
    @classmethod
    def _port(cls, value: int) -> int:
        check_port(value)
        if value < 1024:
            raise InvalidInput("", f"{value} is below 1024, which only root may listen on")
        return value

    @model_validator(mode="after")
    def _coherent(self) -> ProxySpec:
        if not 1 <= self.replicas <= MOST_REPLICAS:
            raise InvalidInput("replicas", f"{self.replicas} is not between 1 and {MOST_REPLICAS}")
        if self.replicas > 1 and not self.is_postgres:
            raise InvalidInput(
                "replicas", f"{self.replicas} need databaseUrl, a Postgres: a SQLite file has one writer"
            )
        if self.storage is not None and self.is_postgres:
            raise InvalidInput("storage", "is given beside databaseUrl: the ledger is in one of them")
        if self.port == self.admin_port:
            raise InvalidInput("adminPort", f"{self.admin_port} is the port of models too: sandboxes must not reach it")
        self._check_names()
        for key, value in self.labels.items():
            naming.check_label(key, value)
        for kind in ("cpu", "memory"):
            request, limit = getattr(self.resource_requests, kind), getattr(self.resource_limits, kind)
            if request is not None and quantity.as_number(request) > quantity.as_number(limit):
                problem = f'"{request}" is more than resourceLimits.{kind}, "{limit}"'
                raise InvalidInput(f"resourceRequests.{kind}", problem)
        seen: set[tuple[str, str, str]] = set()
        for index, one in enumerate(self.spending_limits):
            if one.actor_type == "sandbox":
                problem = "is sandbox: those limits are among the sandbox's own arguments"
                raise InvalidInput(f"spendingLimits[{index}].actorType", problem)
            actor = (one.actor_type, one.actor_id, one.period)
            if actor in seen:
                raise InvalidInput(f"spendingLimits[{index}]", "a second one of this actor and period: keep one")
            seen.add(actor)
        return self

    def _check_names(self) -> None:
        names = [one.name for one in self.upstreams]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise InvalidInput(f"upstreams[{index}].name", f"{show(name)} is given twice")
        for index, name in enumerate(self.admin_namespaces):
            if not naming.is_dns_label(name):
                raise InvalidInput(f"adminNamespaces[{index}]", f"{show(name)} is not a namespace")
        for index, text in enumerate(self.admin_cidrs):
            field = f"adminCidrs[{index}]"
            found: ipaddress.IPv4Network | ipaddress.IPv6Network = network.check_cidr(text, field)
            if found.prefixlen == 0:
                raise InvalidInput(field, f"{show(text)} is everything, sandboxes too: name the API server's addresses")
        for index, name in enumerate(self.image_pull_secrets):
            if not naming.is_dns_subdomain(name):
                raise InvalidInput(f"imagePullSecrets[{index}]", f"{show(name)} is not the name of a Kubernetes object")
