"""Names to reach a sandbox by: a headless Service for the pod's stable DNS name, a ClusterIP with exposed ports."""

from __future__ import annotations

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.spec import naming, network
from sandbox_components.spec.sandbox import SandboxSpec


def headless_service(placement: Placement) -> Manifest:
    """Return the Service that gives the pod its DNS name; it has no address and needs no port."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": placement.metadata(naming.headless_service_name(placement.name)),
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": placement.selector},
    }


def service(placement: Placement, spec: SandboxSpec) -> Manifest | None:
    """Return the ClusterIP Service of the exposed ports, or None without any."""
    if not spec.ports:
        return None
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": placement.metadata(placement.name),
        "spec": {
            "type": "ClusterIP",
            "selector": placement.selector,
            "ports": [
                {"name": port.port_name, "port": port.port, "targetPort": port.port, "protocol": port.protocol}
                for port in network.in_order(spec.ports)
            ],
        },
    }


def service_account(placement: Placement) -> Manifest:
    """Return the sandbox's own ServiceAccount: no rights, and no token in the pod."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": placement.metadata(placement.name),
        "automountServiceAccountToken": False,
    }


def ingress(placement: Placement, spec: SandboxSpec) -> Manifest | None:
    """Return the Ingress of the ports that are exposed as public, or None."""
    public = {number: one for number, one in sorted(spec.expose.items()) if one.visibility == "public"}
    if not public:
        return None
    rules = [
        {
            "host": one.host,
            "http": {
                "paths": [
                    {
                        "path": "/",
                        "pathType": "Prefix",
                        "backend": {"service": {"name": placement.name, "port": {"number": number}}},
                    }
                ]
            },
        }
        for number, one in public.items()
    ]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": placement.metadata(placement.name),
        "spec": {
            "rules": rules,
            "tls": [{"hosts": [one.host], "secretName": one.tls_secret} for one in public.values()],
        },
    }


def endpoints(placement: Placement, spec: SandboxSpec) -> dict[str, str]:
    """Return port name → where it is reached: `NAME.NAMESPACE.svc:PORT`, or the public URL."""
    found = {}
    for port in spec.ports:
        one = spec.expose.get(port.port) if port.protocol == "TCP" else None
        if one is not None and one.visibility == "public":
            found[port.port_name] = f"https://{one.host}/"
        else:
            found[port.port_name] = f"{placement.name}.{placement.namespace}.svc:{port.port}"
    return found
