"""What `inference` and `spending_limits` make of a sandbox: an identity, a key, limits; all but the key in the open."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pulumi

from sandbox_components.components.limit_overrides import LIMITS, stack_overrides, take_overrides
from sandbox_components.components.objects import KubernetesObject
from sandbox_components.components.signing_key import read_signing_key
from sandbox_components.components.spending_limit import SpendingLimit
from sandbox_components.errors import InvalidInput
from sandbox_components.manifests.identity import identity_config_map, inference_secret, inference_secret_name
from sandbox_components.manifests.placement import Placement
from sandbox_components.spec import naming
from sandbox_components.spec.identity import Identity
from sandbox_components.spec.inference_key import make_key
from sandbox_components.spec.limit_config import added, overridden
from sandbox_components.spec.sandbox import SandboxSpec
from sandbox_components.spec.shown import show
from sandbox_components.spec.spending import DeclaredLimit


@dataclass(frozen=True)
class SandboxInference:
    """A sandbox's part in inference.

    Attributes:
        identity: what the proxy is told of it.
        limits: of its own stack, with what `sandbox set-limit` set over them.
        variables: key and base URLs of its agent.
        placement: the sandbox's, but in the proxy's namespace.
    """

    identity: Identity
    limits: tuple[DeclaredLimit, ...]
    variables: dict[str, pulumi.Output[str]]
    placement: Placement

    @staticmethod
    def of(spec: SandboxSpec, placement: Placement) -> SandboxInference | None:
        """Return the part of a sandbox with `inference`, None for one without.

        Raises:
            InvalidInput: the signing key is missing, or a limit isn't this sandbox's.
        """
        name, overrides = placement.name, stack_overrides()
        if spec.inference is None:
            if name in overrides:
                raise InvalidInput(
                    f"{LIMITS}.{name}",
                    "is given for a sandbox without inference: there is no proxy that could keep to it",
                    suggestions=[f"sandbox set-limit {name} --period {min(overrides[name])} --clear"],
                )
            return None
        if spec.inference.namespace == placement.namespace:
            problem = f"{show(spec.inference.namespace)} is where the sandboxes are: a proxy has a namespace of its own"
            raise InvalidInput(f"{name}.inference.namespace", problem)
        sandbox_id = naming.sandbox_id(placement.project, placement.stack, name)
        source = f"{placement.project}/{placement.stack}"
        own: list[DeclaredLimit] = []
        names = {"sandbox": name, "org": spec.org, "user": spec.user, "agent": spec.agent}
        for index, one in enumerate(spec.spending_limits):
            actor = names[one.actor_type] if one.actor_type != "sandbox" else sandbox_id
            if one.actor_id not in (None, actor):
                problem = f"{show(one.actor_id)} is not this sandbox, which is {actor}"
                raise InvalidInput(f"{name}.spendingLimits[{index}].actorId", problem)
            take_overrides(one.actor_type, str(names[one.actor_type]), [one.period])
            own.append(overridden(one.declared(str(actor), source), overrides, str(names[one.actor_type])))
        own += added("sandbox", name, sandbox_id, own, overrides, source)
        take_overrides("sandbox", name, overrides.get(name, ()))
        key = make_key(read_signing_key(f"{name}.inference"), sandbox_id, spec.key_generation)
        return SandboxInference(
            Identity(sandbox_id, spec.org, spec.user, spec.agent, spec.key_generation, limit_required=bool(own)),
            tuple(own),
            {key: pulumi.Output.secret(value) for key, value in spec.inference.variables(key).items()},
            replace(placement, namespace=spec.inference.namespace),
        )

    def make_limits(self, sandbox: pulumi.Resource) -> list[pulumi.Resource]:
        """Make identity and limits, which must be there before the agent spends."""
        options = pulumi.ResourceOptions(parent=sandbox, protect=False)
        identity = identity_config_map(self.placement, self.identity)
        made: list[pulumi.Resource] = [KubernetesObject(f"{self.placement.name}-identity", identity, options)]
        return [*made, *(SpendingLimit.below(sandbox, limit, self.placement) for limit in self.limits)]

    def make_secret(self, sandbox: pulumi.Resource, placement: Placement) -> KubernetesObject:
        """Make the Secret of the agent's variables, in the sandbox's own namespace."""
        options = pulumi.ResourceOptions(parent=sandbox, protect=False)
        name = inference_secret_name(placement.name)
        return KubernetesObject(name, inference_secret(placement, self.variables), options)

    def warn(self, sandbox: pulumi.Resource, spec: SandboxSpec) -> None:
        """Tell what the limits can't do: an agent with a key of its own needs no proxy."""
        if self.limits and spec.egress == "internet":
            pulumi.log.warn(
                f"{self.placement.name}: its spending limits bind only what goes through the inference proxy; with "
                "egress: internet the agent also reaches providers directly, if it comes by a key of theirs",
                resource=sandbox,
            )
