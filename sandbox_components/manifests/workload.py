"""The StatefulSet: one pod, one container `agent`, and no word about replicas.

Replicas are left out so that `sandbox pause` (scale to 0) belongs to nobody else: an `up`, a preview or a refresh
never undoes it. Parallel, because OrderedReady keeps a pod with a broken image for ever (kubernetes#67250). The pod
template must stay byte-identical for the same arguments within a major version: a change restarts every agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.manifests.probes import probes
from sandbox_components.manifests.process import exactly, first_process
from sandbox_components.spec import naming, network
from sandbox_components.spec.image import pull_policy
from sandbox_components.spec.sandbox import SandboxSpec
from sandbox_components.spec.workspace import DEFAULT_MOUNT_PATH

VOLUME = "workspace"
DELETED_AT_ONCE = {"pulumi.com/deletionPropagationPolicy": "background"}
"""By default the object would stay until its pod is gone; one that replaces it at once would go with it."""


def stateful_set(
    placement: Placement,
    spec: SandboxSpec,
    *,
    revision: str,
    secret_env: Sequence[str] = (),
    secret_name: str = "",
    pull_secret: str = "",
    inference_secret: str = "",
) -> Manifest:
    """Return the sandbox's StatefulSet.

    Args:
        placement: where, and marked as what.
        spec: what runs.
        revision: text of the annotation `sandbox-components/spec`.
        secret_env: names of the variables that stand in the Secret.
        secret_name: that Secret's generated name.
        pull_secret: generated name of the Secret with the registry's credential, used besides `imagePullSecrets`.
        inference_secret: generated name of the Secret with key and base URLs of the inference proxy.
    """
    annotations = {naming.SPEC_ANNOTATION: revision, **DELETED_AT_ONCE}
    if spec.inference is not None:
        annotations[naming.INFERENCE_ANNOTATION] = f"{spec.inference.namespace}/{spec.inference.name}"
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": placement.metadata(placement.name, await_ready=spec.wait_for_ready, annotations=annotations),
        "spec": {
            "serviceName": naming.headless_service_name(placement.name),
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": placement.selector},
            "template": {
                "metadata": {"labels": placement.selector},
                "spec": pod(placement, spec, secret_env, secret_name, pull_secret, inference_secret),
            },
        },
    }


def pod(
    placement: Placement,
    spec: SandboxSpec,
    secret_env: Sequence[str],
    secret_name: str,
    pull_secret: str = "",
    inference_secret: str = "",
) -> Manifest:
    """Return the pod's spec."""
    restricted = spec.security == "restricted"
    security: Manifest = {
        "runAsUser": spec.run_as_user,
        "runAsGroup": spec.run_as_user,
        "fsGroup": spec.run_as_user,
        "fsGroupChangePolicy": "OnRootMismatch",
    }
    if restricted:
        security |= {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    manifest: Manifest = {
        "serviceAccountName": placement.name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "shareProcessNamespace": True,
        "terminationGracePeriodSeconds": spec.termination_grace_period_seconds,
        "securityContext": security,
        "containers": [_container(spec, secret_env, secret_name, inference_secret)],
        "volumes": [_volume(placement, spec)],
    }
    pull_secrets = [*spec.image_pull_secrets, *([pull_secret] if pull_secret != "" else [])]
    optional: dict[str, Any] = {
        "runtimeClassName": spec.runtime_class,
        "nodeSelector": dict(spec.node_selector),
        "tolerations": [one.model_dump(by_alias=True, exclude_none=True) for one in spec.tolerations],
        "imagePullSecrets": [{"name": name} for name in pull_secrets],
    }
    return manifest | {key: value for key, value in optional.items() if value}


def mount_path(spec: SandboxSpec) -> str:
    """Where the workspace is mounted; an ephemeral sandbox has one too, on node disk, gone with the pod."""
    return spec.workspace.mount_path if spec.workspace else DEFAULT_MOUNT_PATH


def claim_of(placement: Placement, spec: SandboxSpec) -> str | None:
    """Name of the claim that the pod mounts, or None for an ephemeral sandbox."""
    if spec.workspace is None:
        return None
    return spec.workspace.existing_claim or spec.workspace.claim_name or naming.claim_name(placement.name)


def _volume(placement: Placement, spec: SandboxSpec) -> Manifest:
    claim = claim_of(placement, spec)
    if claim is None:
        return {"name": VOLUME, "emptyDir": {}}
    return {"name": VOLUME, "persistentVolumeClaim": {"claimName": claim}}


def _container(spec: SandboxSpec, secret_env: Sequence[str], secret_name: str, inference_secret: str = "") -> Manifest:
    limits = spec.resource_limits
    requests = spec.resource_requests
    env: list[Manifest] = []
    if "HOME" not in spec.env and "HOME" not in secret_env:
        env.append({"name": "HOME", "value": exactly(mount_path(spec))})
    env += [{"name": key, "value": exactly(value)} for key, value in sorted(spec.env.items())]
    env += [
        {"name": key, "valueFrom": {"secretKeyRef": {"name": secret_name, "key": key}}} for key in sorted(secret_env)
    ]
    manifest: Manifest = {
        "name": naming.CONTAINER,
        "image": spec.image.uri,
        "imagePullPolicy": spec.image_pull_policy or pull_policy(spec.image.uri),
        **first_process(spec),
        "env": env,
        "resources": {
            "limits": {"cpu": limits.cpu, "memory": limits.memory},
            "requests": {"cpu": requests.cpu or limits.cpu, "memory": requests.memory or limits.memory},
        },
        "volumeMounts": [{"name": VOLUME, "mountPath": mount_path(spec)}],
        **probes(spec.health_check),
    }
    if spec.inference is not None:  # not among `env`: a key that is rotated makes no revision
        manifest["envFrom"] = [{"secretRef": {"name": inference_secret}}]
    if spec.ports:
        manifest["ports"] = [
            {"name": port.port_name, "containerPort": port.port, "protocol": port.protocol}
            for port in network.in_order(spec.ports)
        ]
    if spec.security == "restricted":
        manifest["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return manifest
