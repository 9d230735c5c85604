"""`InferenceProxy`: the one way of a cluster's sandboxes to models, which holds the real keys and keeps the limits.

No `from __future__ import annotations`: Pulumi's analyser reads the annotations.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from sandbox_components.components.args import InferenceProxyArgs
from sandbox_components.components.limit_overrides import stack_overrides, take_overrides
from sandbox_components.components.objects import KubernetesObject
from sandbox_components.components.platform import Platform
from sandbox_components.components.proxy_arguments import ProxyArguments
from sandbox_components.components.refusal import at_once
from sandbox_components.components.signing_key import read_signing_key
from sandbox_components.components.spending_limit import SpendingLimit
from sandbox_components.components.taken import take_proxy
from sandbox_components.errors import InvalidInput
from sandbox_components.manifests import proxy_access, proxy_settings
from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.manifests.proxy import data_claim, data_claim_name, proxy_workload
from sandbox_components.spec import naming
from sandbox_components.spec.limit_config import Overrides, actor_of, added, overridden
from sandbox_components.spec.proxy import ProxySpec
from sandbox_components.spec.spending import DeclaredLimit


class InferenceProxy(pulumi.ComponentResource):
    """An inference proxy: one pod with a SQLite ledger on a claim, or several before a Postgres; in its own namespace.

    Sandboxes name it in `inference`; the attribute of that name has what to give them. It makes the limits of orgs,
    users and agents, those that `sandbox set-limit` wrote into this stack's config too.

    Args:
        name: Kubernetes name of the Service and the workload; DNS-1035, at most 52 characters.
        args: see `InferenceProxyArgs`; snake_case or camelCase.
        opts: as of any component; the ledger's claim is guarded by `deletion`.

    Raises:
        InvalidInput: for a wrong argument, before anything is registered.
    """

    name: pulumi.Output[str]
    """Kubernetes name."""
    namespace: pulumi.Output[str]
    """Kubernetes namespace."""
    port: pulumi.Output[int]
    """Where sandboxes reach models."""
    claim_name: pulumi.Output[str | None]
    """The claim that holds the ledger; None with a Postgres."""

    def __init__(self, name: str, args: InferenceProxyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        with at_once():
            naming.check_name(name)
            given = ProxyArguments.split(args, name)
            platform = Platform.read()
            if given.namespace is None:
                raise InvalidInput(f"{name}.namespace", "is missing: a proxy has a namespace of its own")
            if given.namespace == platform.namespace:
                problem = f'"{given.namespace}" is where the sandboxes are: a proxy has a namespace of its own'
                raise InvalidInput(f"{name}.namespace", problem)
            place = platform.place(name, given.namespace, given.spec.labels)
            place = replace(place, component=naming.PROXY_COMPONENT, label=naming.PROXY_LABEL)
            signing_key = given.signing_key
            if signing_key is None:
                signing_key = pulumi.Output.secret(read_signing_key(name).decode())
            limits = _limits(given.spec, place, stack_overrides())
            take_proxy(place)
        super().__init__("sandbox-components:index:InferenceProxy", name, None, opts)
        self.inference = {"namespace": place.namespace, "name": name, "port": given.spec.port}
        """What to give a sandbox as `inference`: plain, where outputs wouldn't be taken."""
        self._register(place, given, {**given.keys, proxy_settings.SIGNING_KEY: signing_key}, limits)

    def _register(
        self,
        place: Placement,
        given: ProxyArguments,
        keys: Mapping[str, pulumi.Output[str]],
        limits: list[DeclaredLimit],
    ) -> None:
        name, spec = place.name, given.spec
        before: list[pulumi.Resource] = [SpendingLimit.below(self, limit, place) for limit in limits]
        claim: KubernetesObject | None = None
        if not spec.is_postgres:
            is_kept = spec.deletion == "protect"
            claim = self._child(data_claim_name(name), data_claim(place, spec), protect=is_kept)
            before.append(claim)
        settings = self._child(f"{name}-settings", proxy_settings.settings_config_map(place, spec))
        secret = self._child(f"{name}-keys", proxy_settings.keys_secret(place, keys))
        for manifest in (
            proxy_access.proxy_account(place),
            proxy_access.proxy_role(place),
            proxy_access.proxy_role_binding(place),
            proxy_access.proxy_policy(place, spec),
            proxy_access.proxy_service(place, spec),
        ):
            before.append(self._child(name, manifest))
        names = {"settings": settings.object_name, "keys": secret.object_name}
        options: dict[str, Any] = {"depends_on": before}
        if claim is not None:
            options |= {"replace_with": [claim], "delete_before_replace": True}
        self._child(name, proxy_workload(place, spec, image=given.image, **names), **options)
        outputs: dict[str, Any] = {
            "name": name,
            "namespace": place.namespace,
            "port": spec.port,
            "claim_name": None if claim is None else data_claim_name(name),
        }
        for key, value in outputs.items():
            setattr(self, key, pulumi.Output.from_input(value))
        self.register_outputs(outputs)

    def _child(self, name: str, manifest: Manifest, *, protect: bool = False, **options: Any) -> KubernetesObject:
        return KubernetesObject(name, manifest, pulumi.ResourceOptions(parent=self, protect=protect, **options))


def _limits(spec: ProxySpec, place: Placement, overrides: Overrides) -> list[DeclaredLimit]:
    """Return the limits of orgs, users and agents: declared ones with what was set over them, and those only set."""
    source = f"{place.project}/{place.stack}"
    found = [overridden(one.declared(one.actor_id, source), overrides, one.actor_id) for one in spec.spending_limits]
    for key in sorted(overrides):
        kind, name = actor_of(key, "spendingLimits")
        if kind != "sandbox":
            found += added(kind, name, name, found, overrides, source)
            take_overrides(kind, name, overrides[key])
    return found
