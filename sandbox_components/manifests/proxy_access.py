"""Who reaches an inference proxy, and what it may ask of the cluster.

Sandboxes of any namespace reach the serving port. The admin port, which tells what everybody spent, is for the API
server's proxy alone: where that comes from differs, so kube-system (for API servers that come through agents there)
and the addresses that the program names are let in, and the kubelet of the node, which policies don't bind.
"""

from __future__ import annotations

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.spec import naming
from sandbox_components.spec.inference import ADMIN_PORT_NAME
from sandbox_components.spec.proxy import ProxySpec

_RBAC = "rbac.authorization.k8s.io"


def proxy_service(placement: Placement, spec: ProxySpec) -> Manifest:
    """Return the Service; its ports are the pods' own, so that one number is said to sandboxes and policies."""
    ports = (("models", spec.port), (ADMIN_PORT_NAME, spec.admin_port))
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": placement.metadata(placement.name),
        "spec": {
            "type": "ClusterIP",
            "selector": placement.selector,
            "ports": [{"name": name, "port": port, "targetPort": port, "protocol": "TCP"} for name, port in ports],
        },
    }


def proxy_account(placement: Placement) -> Manifest:
    """Return the proxy's ServiceAccount."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": placement.metadata(placement.name),
        "automountServiceAccountToken": False,
    }


def proxy_role(placement: Placement) -> Manifest:
    """Return what the proxy may do, in its own namespace alone: read identities and limits, tell of spent ones."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": placement.metadata(placement.name),
        "rules": [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        ],
    }


def proxy_role_binding(placement: Placement) -> Manifest:
    """Return the binding of account and role."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": placement.metadata(placement.name),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": placement.name},
        "subjects": [{"kind": "ServiceAccount", "name": placement.name, "namespace": placement.namespace}],
    }


def proxy_policy(placement: Placement, spec: ProxySpec) -> Manifest:
    """Return the NetworkPolicy; what the proxy itself reaches isn't bound: providers, a Postgres, the API server."""
    sandboxes = {
        "namespaceSelector": {},
        "podSelector": {"matchExpressions": [{"key": naming.SANDBOX_LABEL, "operator": "Exists"}]},
    }
    ingress = [{"from": [sandboxes], "ports": [{"port": spec.port, "protocol": "TCP"}]}]
    admins: list[Manifest] = [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}} for name in spec.admin_namespaces
    ]
    admins += [{"ipBlock": {"cidr": cidr}} for cidr in spec.admin_cidrs]
    if admins:  # an empty list would let in everybody
        ingress.append({"from": admins, "ports": [{"port": spec.admin_port, "protocol": "TCP"}]})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": placement.metadata(placement.name),
        "spec": {
            "podSelector": {"matchLabels": placement.selector},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    }
