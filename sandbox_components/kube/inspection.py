"""What `sandbox doctor` asks a cluster: its version, our rights, its classes, who enforces network policy."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox_components.errors import SandboxError
from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import dig, items, name_of, text
from sandbox_components.kube.scheduling import is_default
from sandbox_components.spec.naming import PREFIX

ENFORCERS = {
    "kube-router": "kube-router",
    "calico": "Calico",
    "cilium": "Cilium",
    "antrea": "Antrea",
    "weave-net": "Weave Net",
    "canal": "Canal",
    "kube-ovn": "Kube-OVN",
    "ovnkube": "OVN-Kubernetes",
    "romana": "Romana",
    "azure-npm": "Azure NPM",
    "anetd": "GKE Dataplane V2",
    "aws-network-policy-agent": "AWS network policy agent",
    "kube-network-policies": "kube-network-policies",
}
"""Words in names and images of daemon sets -> what enforces NetworkPolicy there."""
SWITCHED_OFF = {"--enable-network-policy=false", "--run-firewall=false"}
"""Arguments with which such an agent runs but enforces nothing: the AWS one is in every EKS node's pod like that."""

ENFORCER_ANNOTATION = PREFIX + "network-policy"
"""On the namespace kube-system: whoever runs the cluster says what enforces NetworkPolicy there."""


@dataclass(frozen=True)
class Right:
    """One permission, in RBAC's words."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    name: str = ""
    """Of the one object that is meant; empty: any."""

    @property
    def shown(self) -> str:
        """Return `patch statefulsets/scale`."""
        return f"{self.verb} {self.resource}" + (f"/{self.subresource}" if self.subresource else "")


_GETS = (Right("get", "statefulsets", "apps"), Right("get", "pods"))

RIGHTS: dict[str, tuple[Right, ...]] = {
    "list, describe": (
        *_GETS,
        Right("list", "statefulsets", "apps"),
        Right("list", "pods"),
        Right("get", "persistentvolumeclaims"),
        Right("list", "persistentvolumeclaims"),
        Right("list", "events"),
        Right("get", "services"),
    ),
    "pause, resume": (
        *_GETS,
        Right("patch", "statefulsets", "apps"),
        Right("patch", "statefulsets", "apps", "scale"),
        Right("watch", "pods"),
        Right("watch", "events"),
    ),
    "logs": (*_GETS, Right("get", "pods", subresource="log")),
    "exec": (*_GETS, Right("get", "pods", subresource="exec"), Right("create", "pods", subresource="exec")),
    "create, update, delete": tuple(
        Right(verb, resource, group)
        for group, resource in (
            ("apps", "statefulsets"),
            ("", "services"),
            ("", "persistentvolumeclaims"),
            ("", "secrets"),
            ("", "serviceaccounts"),
            ("networking.k8s.io", "networkpolicies"),
        )
        for verb in ("get", "create", "patch", "delete")
    ),
}
"""What each group of verbs needs in the namespace."""


def proxy_rights(service: str) -> dict[str, tuple[Right, ...]]:
    """Return what verbs need in the namespace of an inference proxy.

    Args:
        service: the proxy's Service and port, as a Role would name it: `proxy:admin`.
    """
    return {
        "spend, limits in describe": (
            Right("get", "services", subresource="proxy", name=service),
            Right("list", "events"),
        ),
        "set-limit, sandboxes with inference": tuple(
            Right(verb, "configmaps") for verb in ("get", "create", "patch", "delete")
        ),
    }


def version(cluster: Cluster) -> str:
    """Return the API server's version, such as `v1.34.4`."""
    return text(cluster.get(paths.VERSION), "gitVersion") or "unknown"


def missing_rights(cluster: Cluster, namespace: str, rights: tuple[Right, ...]) -> list[Right]:
    """Return those that we don't have in a namespace, as the cluster itself judges."""
    missing = []
    for right in rights:
        attributes = {
            "namespace": namespace,
            "verb": right.verb,
            "group": right.group,
            "resource": right.resource,
            "subresource": right.subresource,
            "name": right.name,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        if not dig(cluster.create(paths.ACCESS_REVIEWS, body), "status", "allowed"):
            missing.append(right)
    return missing


def has_namespace(cluster: Cluster, namespace: str) -> bool:
    """Tell whether the namespace is there."""
    return cluster.find(f"{paths.NAMESPACES}/{namespace}") is not None


@dataclass(frozen=True)
class StorageClass:
    """A storage class, as far as workspaces care."""

    name: str
    is_default: bool
    can_grow: bool


def storage_classes(cluster: Cluster) -> list[StorageClass]:
    """Return the cluster's storage classes."""
    return [
        StorageClass(name_of(entry), is_default(entry), bool(entry.get("allowVolumeExpansion")))
        for entry in cluster.list_all(paths.STORAGE_CLASSES)
    ]


def policy_enforcers(cluster: Cluster) -> list[str] | None:
    """Return what seems to enforce NetworkPolicy, None when daemon sets and nodes may not be looked at.

    Kubernetes has no way to ask. Known agents run as daemon sets, or leave their mark on nodes; for all else there is
    the annotation above.
    """
    try:
        system = cluster.find(f"{paths.NAMESPACES}/kube-system")
    except SandboxError:
        system = None
    if said := text(system, "metadata", "annotations", ENFORCER_ANNOTATION):
        return [said]
    try:
        sets = cluster.list_all(paths.DAEMON_SETS)
    except SandboxError:
        return None
    found = set()
    for entry in sets:
        if not dig(entry, "status", "numberReady"):
            continue
        containers = items(entry, "spec", "template", "spec", "containers")
        idle = [c for c in containers if SWITCHED_OFF & {*(c.get("args") or []), *(c.get("command") or [])}]
        images = [text(c, "image") for c in containers if c not in idle]
        words = " ".join(images if idle else [name_of(entry), *images]).lower()
        found |= {shown for word, shown in ENFORCERS.items() if word in words}
    try:
        nodes = cluster.list_all("/api/v1/nodes")
    except SandboxError:
        nodes = []
    for node in nodes:
        marks = " ".join(dig(node, "metadata", "annotations") or {})
        found |= {shown for word, shown in ENFORCERS.items() if word in marks}
    return sorted(found)
