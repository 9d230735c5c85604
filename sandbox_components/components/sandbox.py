"""`Sandbox`: one agent's sandbox out of plain Kubernetes objects.

No `from __future__ import annotations`: Pulumi's analyser reads the annotations.
"""

from collections.abc import Mapping
from typing import Any

import pulumi

from sandbox_components.components.args import SandboxArgs
from sandbox_components.components.arguments import Arguments
from sandbox_components.components.health_probe import HealthProbe
from sandbox_components.components.inference import SandboxInference
from sandbox_components.components.objects import KubernetesObject
from sandbox_components.components.persistent_workspace import PersistentWorkspace
from sandbox_components.components.pins import Pinned
from sandbox_components.components.platform import Platform
from sandbox_components.components.refusal import at_once
from sandbox_components.components.taken import take_claim, take_name
from sandbox_components.manifests import services
from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.manifests.policy import network_policy
from sandbox_components.manifests.pull_secret import pull_secret
from sandbox_components.manifests.workload import claim_of, stateful_set
from sandbox_components.spec import naming, revision
from sandbox_components.spec.sandbox import SandboxSpec


class Sandbox(pulumi.ComponentResource):
    """An AI agent's sandbox: a StatefulSet of one pod, its disk, Services, ServiceAccount, NetworkPolicy and Secret.

    Whether it runs is no argument: `sandbox pause` and `sandbox resume` scale it, and no `pulumi up` undoes that.

    Args:
        name: Kubernetes name of the StatefulSet and stem of the others; DNS-1035, at most 52 characters. Never
            change it without an alias and `workspace.claim_name`: another name is another disk.
        args: see `SandboxArgs`; snake_case or camelCase.
        opts: as of any component; `protect` guards the component, the disk has its own `deletion`.

    Raises:
        InvalidInput: for a wrong argument, before anything is registered.
    """

    name: pulumi.Output[str]
    """Kubernetes name."""
    namespace: pulumi.Output[str]
    """Kubernetes namespace."""
    sandbox_id: pulumi.Output[str]
    """`PROJECT/STACK/NAME`, the same after delete and re-create."""
    claim_name: pulumi.Output[str | None]
    """The claim that holds the workspace; None for an ephemeral sandbox."""
    endpoints: pulumi.Output[dict[str, str]]
    """Port name → `NAME.NAMESPACE.svc:PORT` inside the cluster, or the public URL."""

    def __init__(self, name: str, args: SandboxArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        with at_once():
            naming.check_name(name)
            given = Arguments.split(args, name)
            pinned = Pinned.over(args, given, name)
            if pinned is not None:
                given = pinned.given
            labels = dict(args.get("labels") or {})
            placement = Platform.read().place(name, given.namespace, labels)
            take_name(placement)
            if given.spec.workspace is not None and given.spec.workspace.existing_claim is None:
                claim = str(claim_of(placement, given.spec))
                take_claim(placement.namespace, claim, f"{name}.workspace.claim_name")
            inference = SandboxInference.of(given.spec, placement)
        super().__init__("sandbox-components:index:Sandbox", name, None, opts)
        if pinned is not None:
            pinned.warn(self)
        if inference is not None:
            inference.warn(self, given.spec)
        self._register(placement, given, inference)

    @classmethod
    def from_request(
        cls, name: str, request: Mapping[str, Any] | str, opts: pulumi.ResourceOptions | None = None
    ) -> "Sandbox":
        """Make a sandbox from a creation request: image, entrypoint, resourceLimits and `extensions` or `volumes`.

        Args:
            name: as of `Sandbox`.
            request: a mapping, or the text of one in JSON or YAML.
            opts: as of `Sandbox`.

        Raises:
            InvalidInput: naming the field.
        """
        if isinstance(request, str):
            from sandbox_components.spec.document import load_document

            with at_once():
                request = load_document(request, f"request of {name}")
        data: Any = request
        return cls(name, data, opts)

    def _register(self, placement: Placement, given: Arguments, inference: SandboxInference | None) -> None:
        name, spec = placement.name, given.spec
        if spec.security == "baseline":
            pulumi.log.warn(
                f"{name}: security: baseline: the pod may do what Pod Security level restricted forbids; its namespace "
                "must allow that (label pod-security.kubernetes.io/enforce: baseline)",
                resource=self,
            )
        before: list[pulumi.Resource] = []
        claim: KubernetesObject | None = None
        if spec.workspace is not None:
            workspace = PersistentWorkspace.below(self, spec.workspace, placement, spec.deletion)
            claim = workspace.claim
            before.append(workspace)
        if spec.health_check.type != "none":
            HealthProbe.below(self, name, spec.health_check)
        secret = self._secret(name, placement, given.secret_env)
        pull_secret = self._pull_secret(placement, given)
        key_secret: KubernetesObject | None = None
        if inference is not None:
            before += inference.make_limits(self)
            key_secret = inference.make_secret(self, placement)
        before.append(self._child(name, services.service_account(placement)))
        before.append(self._child(naming.headless_service_name(name), services.headless_service(placement)))
        before.append(self._child(name, network_policy(placement, spec)))
        for manifest in (services.service(placement, spec), services.ingress(placement, spec)):
            if manifest is not None:
                self._child(name, manifest)
        self._child(
            name,
            _workload(
                placement,
                given,
                secret.object_name if secret else None,
                pull_secret.object_name if pull_secret else "",
                key_secret.object_name if key_secret else "",
            ),
            depends_on=before,
            ignore_changes=["spec.replicas"],
            replace_with=[claim] if claim is not None else None,
            delete_before_replace=True,  # or it would be made anew under its name, and then deleted as the old one
        )
        outputs: dict[str, Any] = {
            "name": name,
            "namespace": placement.namespace,
            "sandbox_id": naming.sandbox_id(placement.project, placement.stack, name),
            "claim_name": claim_of(placement, spec),
            "endpoints": services.endpoints(placement, spec),
        }
        for key, value in outputs.items():
            setattr(self, key, pulumi.Output.from_input(value))
        self.register_outputs(outputs)

    def _secret(
        self, name: str, placement: Placement, values: Mapping[str, pulumi.Output[str]]
    ) -> KubernetesObject | None:
        if not values:
            return None
        manifest: Manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": placement.metadata(None),
            "type": "Opaque",
            "stringData": dict(values),
        }
        return self._child(f"{name}-env", manifest)

    def _pull_secret(self, placement: Placement, given: Arguments) -> KubernetesObject | None:
        if given.image_auth is None:
            return None
        uri = given.spec.image.uri if given.later is None else given.later.apply(lambda spec: spec.image.uri)
        manifest = pull_secret(placement, given.image_auth.docker_config(uri))
        return self._child(f"{placement.name}-pull", manifest)

    def _child(self, name: str, manifest: Manifest, **options: Any) -> KubernetesObject:
        """Register one object; never protected, or a protected sandbox could not rotate a secret."""
        return KubernetesObject(name, manifest, pulumi.ResourceOptions(parent=self, protect=False, **options))


def _workload(
    placement: Placement,
    given: Arguments,
    secret_name: pulumi.Output[str] | None,
    pull: pulumi.Input[str],
    key: pulumi.Input[str],
) -> Manifest:
    names = sorted(given.secret_env)

    def text(spec: SandboxSpec, secret: str) -> str:
        return revision.canonical(revision.revision_groups(spec, names, secret))

    if given.later is None:
        spec = given.spec
        annotation: Any = text(spec, "") if secret_name is None else secret_name.apply(lambda found: text(spec, found))
        leaves: dict[str, Any] = {"secret_name": secret_name, "pull_secret": pull, "inference_secret": key}
        return stateful_set(placement, spec, revision=annotation, secret_env=names, **leaves)
    whole = pulumi.Output.all(given.later, secret_name or "", pull, key).apply(
        lambda parts: stateful_set(
            placement,
            parts[0],
            revision=text(parts[0], parts[1]),
            secret_env=names,
            secret_name=parts[1],
            pull_secret=parts[2],
            inference_secret=parts[3],
        )
    )
    shape = stateful_set(placement, given.spec, revision="")
    shape["metadata"]["annotations"][naming.SPEC_ANNOTATION] = whole.apply(
        lambda manifest: manifest["metadata"]["annotations"][naming.SPEC_ANNOTATION]
    )
    # The template alone: were the whole spec unknown, a preview would have to take it for another StatefulSet.
    template = whole.apply(lambda manifest: manifest["spec"]["template"])
    return {**shape, "spec": {**shape["spec"], "template": template}}
