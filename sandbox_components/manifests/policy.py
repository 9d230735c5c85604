"""The NetworkPolicy: in through exposed ports only, out to cluster DNS and to what `egress` says.

Private, link-local and metadata ranges stay refused under `egress: internet`, or an agent could talk to the API
server, the kubelet, its neighbours and the cloud's credentials. Node-local DNS (169.254.20.10) is the one exception.
"""

from __future__ import annotations

import ipaddress

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.spec import naming, network
from sandbox_components.spec.sandbox import SandboxSpec

PRIVATE_RANGES_V4 = (
    "0.0.0.0/8",  # "this network", RFC 1122
    "10.0.0.0/8",  # RFC 1918
    "100.64.0.0/10",  # carrier-grade NAT, RFC 6598; pods and nodes of several clouds
    "127.0.0.0/8",
    "168.63.129.16/32",  # Azure's WireServer: public by its number, but it gives every machine its own secrets
    "169.254.0.0/16",  # link-local and cloud metadata, RFC 3927
    "172.16.0.0/12",  # RFC 1918
    "192.0.0.0/24",  # RFC 6890, one cloud's metadata among them
    "192.168.0.0/16",  # RFC 1918
    "198.18.0.0/15",  # benchmarking, RFC 2544
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, broadcast
)
PRIVATE_RANGES_V6 = ("::/127", "64:ff9b::/96", "fc00::/7", "fe80::/10", "ff00::/8")
NODE_LOCAL_DNS = "169.254.20.10/32"


def network_policy(placement: Placement, spec: SandboxSpec) -> Manifest:
    """Return the sandbox's NetworkPolicy."""
    ingress = [{"ports": [{"port": port.port, "protocol": port.protocol}]} for port in network.in_order(spec.ports)]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": placement.metadata(placement.name),
        "spec": {
            "podSelector": {"matchLabels": placement.selector},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": [_dns(), *_to_proxy(spec), *_egress(placement, spec)],
        },
    }


def _dns() -> Manifest:
    return {
        "to": [
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
            },
            {"ipBlock": {"cidr": NODE_LOCAL_DNS}},
        ],
        "ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
    }


def _to_proxy(spec: SandboxSpec) -> list[Manifest]:
    """Return the way to the inference proxy: its pods at the serving port, never the admin port."""
    if spec.inference is None:
        return []
    proxy = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": spec.inference.namespace}},
        "podSelector": {"matchLabels": {naming.PROXY_LABEL: spec.inference.name}},
    }
    return [{"to": [proxy], "ports": [{"port": spec.inference.port, "protocol": "TCP"}]}]


def _egress(placement: Placement, spec: SandboxSpec) -> list[Manifest]:
    if spec.egress == "none":
        return []
    if spec.egress == "internet":
        blocked = [ipaddress.ip_network(text) for text in placement.blocked_cidrs]
        v4 = [*PRIVATE_RANGES_V4, *(str(one) for one in blocked if one.version == 4)]
        v6 = [*PRIVATE_RANGES_V6, *(str(one) for one in blocked if one.version == 6)]
        return [
            {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": list(dict.fromkeys(v4))}}]},
            {"to": [{"ipBlock": {"cidr": "::/0", "except": list(dict.fromkeys(v6))}}]},
        ]
    rules = []
    for rule in spec.egress:
        block: Manifest = {"cidr": rule.cidr}
        if rule.except_cidrs:
            block["except"] = list(rule.except_cidrs)
        one: Manifest = {"to": [{"ipBlock": block}]}
        if rule.ports:
            one["ports"] = [{"port": port.port, "protocol": port.protocol} for port in rule.ports]
        rules.append(one)
    return rules
