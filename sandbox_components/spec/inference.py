"""A sandbox's side of inference: which proxy it talks to, under which variables, and what its stack lets it spend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, field_validator

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import naming
from sandbox_components.spec.health import check_port
from sandbox_components.spec.identity import check_payer
from sandbox_components.spec.money import cents
from sandbox_components.spec.period import DEFAULT_ZONE, check_period, check_zone
from sandbox_components.spec.reading import Model, Text, Whole
from sandbox_components.spec.shown import show
from sandbox_components.spec.spending import DeclaredLimit

DEFAULT_PORT = 8080
ADMIN_PORT_NAME = "admin"
"""Name of the port of the proxy's Service that tells what was spent."""
KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
URL_VARIABLES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")
VARIABLES = (*KEY_VARIABLES, *URL_VARIABLES)
"""What the official SDKs read; an agent with `inference` has them without declaring them."""

ActorType = Literal["sandbox", "agent", "user", "org"]


class Inference(Model):
    """Which inference proxy a sandbox talks to.

    Attributes:
        namespace: the proxy's own.
        name: of the `InferenceProxy`.
        port: that it serves models at.
    """

    namespace: Annotated[Text, Field(examples=["inference"])]
    name: Annotated[Text, Field(examples=["proxy"])]
    port: Whole = DEFAULT_PORT

    @field_validator("namespace")
    @classmethod
    def _namespace(cls, value: str) -> str:
        if not naming.is_dns_label(value):
            raise InvalidInput("", f'{show(value)} is not a namespace: lower-case letters, digits and "-"')
        return value

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return naming.check_name(value, "")

    @field_validator("port")
    @classmethod
    def _port(cls, value: int) -> int:
        return check_port(value)

    def variables(self, key: str) -> dict[str, str]:
        """Return the variables of an agent whose key is `key`."""
        url = f"http://{self.name}.{self.namespace}.svc:{self.port}"
        return {
            "OPENAI_API_KEY": key,
            "OPENAI_BASE_URL": f"{url}/v1",
            "ANTHROPIC_API_KEY": key,
            "ANTHROPIC_BASE_URL": url,
        }


class OwnLimit(Model):
    """A limit among a sandbox's arguments: of the sandbox itself, or of the org, user or agent that pays for it.

    Attributes:
        actor_type: whose spending is capped.
        actor_id: left out, the sandbox itself, or its own org, user or agent.
        period: day, week (from Monday) or month.
        time_zone: in whose midnight the period ends.
        limit_cents: US cents; 0 blocks all calls.
    """

    actor_type: ActorType = "sandbox"
    actor_id: Text | None = None
    period: Annotated[Text, Field(examples=["month"])]
    time_zone: Text = DEFAULT_ZONE
    limit_cents: Annotated[Whole, Field(examples=["5000"])]

    @field_validator("period", mode="before")
    @classmethod
    def _period(cls, value: object) -> object:
        return check_period(value, "")

    @field_validator("time_zone", mode="before")
    @classmethod
    def _time_zone(cls, value: object) -> object:
        return check_zone(value, "")

    @field_validator("limit_cents", mode="before")
    @classmethod
    def _limit_cents(cls, value: object) -> object:
        return cents(value, "")

    def declared(self, actor_id: str, source: str) -> DeclaredLimit:
        """Return it as the proxy reads it."""
        return DeclaredLimit(self.actor_type, actor_id, self.period, self.limit_cents, self.time_zone, source)


class SpendingLimitSpec(OwnLimit):
    """A limit that stands alone: whose it is must be said."""

    actor_type: Annotated[ActorType, Field(examples=["org"])]
    actor_id: Annotated[Text, Field(examples=["acme"])]


def check_variables(names: Iterable[str], field: str) -> None:
    """Refuse variables that `inference` sets itself.

    Raises:
        InvalidInput: naming the first one.
    """
    for name in sorted(names):
        if name in VARIABLES:
            raise InvalidInput(
                f"{field}.{name}", "is set by inference, so that calls go through the proxy: take it out of env"
            )


def check_limits(limits: Sequence[OwnLimit], payers: Mapping[str, str | None], field: str) -> None:
    """Check the limits of a sandbox against who it says pays for it.

    Args:
        limits: as declared.
        payers: actor type → name, None where it isn't said; the sandbox's own id isn't known here.
        field: path that errors are put below.

    Raises:
        InvalidInput: a limit of somebody else, or two of one actor and period.
    """
    seen: set[tuple[str, str]] = set()
    for index, one in enumerate(limits):
        place = f"{field}[{index}]"
        if one.actor_type != "sandbox":
            own = payers.get(one.actor_type)
            if own is None:
                raise InvalidInput(f"{place}.actorType", f"the sandbox has no {one.actor_type}: set {one.actor_type}")
            if one.actor_id is not None and one.actor_id != own:
                problem = f"{show(one.actor_id)} is not the sandbox's {one.actor_type}, which is {show(own)}"
                raise InvalidInput(
                    f"{place}.actorId", problem, suggestions=["limits of others: SpendingLimit or InferenceProxy"]
                )
        if (one.actor_type, one.period) in seen:
            raise InvalidInput(place, f"a second limit of this {one.actor_type} and a {one.period}: keep one")
        seen.add((one.actor_type, one.period))


def check_payers(payers: Mapping[str, str | None]) -> None:
    """Check the names of org, user and agent.

    Raises:
        InvalidInput: naming the first that is none.
    """
    for kind, name in payers.items():
        if name is not None:
            check_payer(name, kind)
