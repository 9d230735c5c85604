"""The objects that every cluster has from the start: rights, storage classes, cluster DNS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from devcluster.node_files import DNS_ADDRESS

Object = dict[str, Any]

STORAGE_NAMESPACE = "local-path-storage"
PROVISIONER = "rancher.io/local-path"
DNS_IMAGE = "localhost:5000/coredns:1"

# Names outside the cluster don't exist: the node has no way out, and a quick "no such name" is better than
# a timeout. Answers are kept for a moment only, so that a test sees a change at once.
CORE_FILE = """\
cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
    errors
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        ttl 5
    }
    loadbalance
}
.:53 {
    errors
    template ANY ANY . {
        rcode NXDOMAIN
    }
}
"""

SETUP = """\
#!/bin/sh
set -eu
mkdir -m 0777 -p "$VOL_DIR"
"""
TEARDOWN = """\
#!/bin/sh
set -eu
rm -rf "$VOL_DIR"
"""


def write(path: Path) -> None:
    """Write all objects as one list."""
    objects = [*_provisioner(), *_network_policies(), *_dns()]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=1))


def _object(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata.update(fields.pop("metadata", {}))
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _rights(name: str, subject: Object, rules: list[Object]) -> list[Object]:
    group = "rbac.authorization.k8s.io"
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": f"devcluster:{name}"}
    return [
        _object(f"{group}/v1", "ClusterRole", f"devcluster:{name}", rules=rules),
        _object(f"{group}/v1", "ClusterRoleBinding", f"devcluster:{name}", roleRef=reference, subjects=[subject]),
    ]


def _rule(group: str, resources: str, verbs: str) -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


def _user(name: str) -> Object:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}


def _provisioner() -> list[Object]:
    account = "local-path-provisioner-service-account"
    rules = [
        _rule("", "nodes persistentvolumeclaims configmaps pods pods/log", "get list watch"),
        _rule("", "pods", "create patch update delete"),
        _rule("", "persistentvolumes", "get list watch create patch update delete"),
        _rule("", "events", "create patch"),
        _rule("storage.k8s.io", "storageclasses", "get list watch"),
    ]
    scripts = {"setup": SETUP, "teardown": TEARDOWN}
    return [
        _object("v1", "Namespace", STORAGE_NAMESPACE),
        _object("v1", "ServiceAccount", account, STORAGE_NAMESPACE),
        _object("v1", "ConfigMap", "local-path-config", STORAGE_NAMESPACE, data=scripts),
        *_rights("local-path-provisioner", _user("local-path-provisioner"), rules),
        _storage_class("local-path", default=True, expandable=False),
        _storage_class("local-path-expandable", default=False, expandable=True),
    ]


def _storage_class(name: str, *, default: bool, expandable: bool) -> Object:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true" if default else "false"}
    return _object(
        "storage.k8s.io/v1",
        "StorageClass",
        name,
        metadata={"annotations": annotations},
        provisioner=PROVISIONER,
        volumeBindingMode="WaitForFirstConsumer",
        reclaimPolicy="Delete",
        allowVolumeExpansion=expandable,
    )


def _network_policies() -> list[Object]:
    rules = [
        _rule("", "namespaces pods services nodes endpoints", "get list watch"),
        _rule("networking.k8s.io", "networkpolicies", "get list watch"),
        _rule("discovery.k8s.io", "endpointslices", "get list watch"),
    ]
    # kube-router runs as a process here, where `sandbox doctor` can't see it: so it is told who enforces policies.
    told = {"annotations": {"sandbox-components/network-policy": "kube-router"}}
    return [
        _object("v1", "Namespace", "kube-system", metadata=told),
        *_rights("kube-router", _user("kube-router"), rules),
    ]


def _dns() -> list[Object]:
    account = {"kind": "ServiceAccount", "name": "coredns", "namespace": "kube-system"}
    rules = [
        _rule("", "endpoints services pods namespaces", "list watch"),
        _rule("discovery.k8s.io", "endpointslices", "list watch"),
    ]
    labels = {"k8s-app": "kube-dns"}
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
    ]
    # Not for pods: through this port the API server can be asked whether DNS is up.
    ready = {"name": "ready", "port": 8181, "protocol": "TCP"}
    service = {"clusterIP": DNS_ADDRESS, "selector": labels, "ports": [*ports, ready]}
    template = {"metadata": {"labels": labels}, "spec": _dns_pod()}
    return [
        _object("v1", "ServiceAccount", "coredns", "kube-system"),
        *_rights("coredns", account, rules),
        _object("v1", "ConfigMap", "coredns", "kube-system", data={"Corefile": CORE_FILE}),
        _object("v1", "Service", "kube-dns", "kube-system", metadata={"labels": labels}, spec=service),
        _object(
            "apps/v1",
            "Deployment",
            "coredns",
            "kube-system",
            metadata={"labels": labels},
            spec={"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        ),
    ]


def _dns_pod() -> Object:
    container = {
        "name": "coredns",
        "image": DNS_IMAGE,
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
        ],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    return {
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default",
        "terminationGracePeriodSeconds": 1,
        # It starts while the node is still called not ready.
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": "coredns"}}],
    }
