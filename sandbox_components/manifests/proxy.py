"""The inference proxy's pods: a StatefulSet of one with a SQLite file on a claim, or a Deployment before a Postgres.

They keep to Pod Security level restricted, with a root file system that can't be written. They alone hold the
providers' keys, so they are in a namespace of their own, never beside sandboxes.
"""

from __future__ import annotations

from typing import Any

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.manifests.proxy_settings import (
    DATA_FOLDER,
    KEYS_FOLDER,
    SETTINGS_FILE,
    SETTINGS_FOLDER,
)
from sandbox_components.manifests.workload import DELETED_AT_ONCE
from sandbox_components.spec.image import pull_policy
from sandbox_components.spec.inference import ADMIN_PORT_NAME
from sandbox_components.spec.proxy import DEFAULT_STORAGE, ProxySpec, Storage

CONTAINER = "proxy"
USER = 1000
_FAREWELL_SECONDS = 4
"""For word to go round that a pod is leaving, before it takes no more calls."""
_SHUTDOWN_SECONDS = 25
"""For calls in flight, by the proxy's own settings where `timeouts.shutdown` doesn't say otherwise."""
_LAST_SECONDS = 20
"""For the calls that were cut off then to tell the ledger so."""
_READABLE_BY_GROUP = 0o440


def data_claim_name(proxy: str) -> str:
    """Name of the claim that holds the ledger."""
    return f"{proxy}-ledger"


def data_claim(placement: Placement, spec: ProxySpec) -> Manifest:
    """Return the claim of the ledger's SQLite file."""
    storage = spec.storage or Storage()
    claim: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage.size or DEFAULT_STORAGE}},
    }
    storage_class = storage.storage_class or placement.storage_class
    if storage_class is not None:
        claim["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": placement.metadata(data_claim_name(placement.name)),
        "spec": claim,
    }


def proxy_workload(placement: Placement, spec: ProxySpec, *, image: Any, settings: Any, keys: Any) -> Manifest:
    """Return the StatefulSet or Deployment.

    Args:
        placement: where, and marked as what.
        spec: what runs.
        image: reference of the image.
        settings: generated name of the ConfigMap with the settings file.
        keys: generated name of the Secret.
    """
    template = {
        "metadata": {"labels": placement.selector},
        "spec": _pod(placement, spec, image, settings, keys),
    }
    body: Manifest = {
        "replicas": spec.replicas,
        "selector": {"matchLabels": placement.selector},
        "template": template,
    }
    if spec.is_postgres:
        # A new pod is there before an old one goes, so that a rollout refuses no call.
        body["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    else:
        body |= {"serviceName": placement.name, "podManagementPolicy": "Parallel"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment" if spec.is_postgres else "StatefulSet",
        "metadata": placement.metadata(
            placement.name, await_ready=spec.wait_for_ready, annotations=None if spec.is_postgres else DELETED_AT_ONCE
        ),
        "spec": body,
    }


def _pod(placement: Placement, spec: ProxySpec, image: Any, settings: Any, keys: Any) -> Manifest:
    pod: Manifest = {
        "serviceAccountName": placement.name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _grace_seconds(spec),
        "securityContext": {
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(spec, image)],
        "volumes": [
            {"name": "settings", "configMap": {"name": settings}},
            {"name": "keys", "secret": {"secretName": keys, "defaultMode": _READABLE_BY_GROUP}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    if not spec.is_postgres:
        claim = {"claimName": data_claim_name(placement.name)}
        pod["volumes"].append({"name": "data", "persistentVolumeClaim": claim})
    if spec.node_selector:
        pod["nodeSelector"] = dict(spec.node_selector)
    if spec.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in spec.image_pull_secrets]
    return pod


def _grace_seconds(spec: ProxySpec) -> int:
    asked = spec.timeouts.get("shutdown")
    return _FAREWELL_SECONDS + _LAST_SECONDS + (int(asked) if isinstance(asked, int | float) else _SHUTDOWN_SECONDS)


def _container(spec: ProxySpec, image: Any) -> Manifest:
    limits, requests = spec.resource_limits, spec.resource_requests
    mounts: list[Manifest] = [
        {"name": "settings", "mountPath": SETTINGS_FOLDER, "readOnly": True},
        {"name": "keys", "mountPath": KEYS_FOLDER, "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    if not spec.is_postgres:
        mounts.append({"name": "data", "mountPath": DATA_FOLDER})
    return {
        "name": CONTAINER,
        "image": image,
        **({"imagePullPolicy": pull_policy(image)} if isinstance(image, str) else {}),
        "command": ["sandbox", "serve", "proxy", "--config", f"{SETTINGS_FOLDER}/{SETTINGS_FILE}"],
        "env": [{"name": "HOME", "value": "/tmp"}],
        "ports": [
            {"name": "models", "containerPort": spec.port, "protocol": "TCP"},
            {"name": ADMIN_PORT_NAME, "containerPort": spec.admin_port, "protocol": "TCP"},
        ],
        "resources": {
            "limits": {"cpu": limits.cpu, "memory": limits.memory},
            "requests": {"cpu": requests.cpu or limits.cpu, "memory": requests.memory or limits.memory},
        },
        "volumeMounts": mounts,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", str(_FAREWELL_SECONDS)]}}},
        "startupProbe": _probe("/livez", spec, period=2, failures=60),
        "livenessProbe": _probe("/livez", spec, period=10, failures=3),
        "readinessProbe": _probe("/readyz", spec, period=5, failures=2),
    }


def _probe(path: str, spec: ProxySpec, *, period: int, failures: int) -> Manifest:
    return {
        "httpGet": {"path": path, "port": spec.admin_port},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
