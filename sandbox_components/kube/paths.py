"""API paths of the few kinds that the command reads."""

from __future__ import annotations

STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
DAEMON_SETS = "/apis/apps/v1/daemonsets"
NAMESPACES = "/api/v1/namespaces"
VERSION = "/version"


def _core(namespace: str | None, plural: str, name: str = "") -> str:
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"/api/v1{inside}/{plural}" + (f"/{name}" if name else "")


def statefulsets(namespace: str | None, name: str = "") -> str:
    """StatefulSets of one namespace, or of all."""
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/apps/v1{inside}/statefulsets" + (f"/{name}" if name else "")


def scale(namespace: str, name: str) -> str:
    """The scale subresource of a StatefulSet."""
    return statefulsets(namespace, name) + "/scale"


def pods(namespace: str | None, name: str = "") -> str:
    """Pods of one namespace, or of all."""
    return _core(namespace, "pods", name)


def pod_log(namespace: str, name: str) -> str:
    """The log subresource of a pod."""
    return _core(namespace, "pods", name) + "/log"


def pod_exec(namespace: str, name: str) -> str:
    """The exec subresource of a pod."""
    return _core(namespace, "pods", name) + "/exec"


def claims(namespace: str | None, name: str = "") -> str:
    """PersistentVolumeClaims of one namespace, or of all."""
    return _core(namespace, "persistentvolumeclaims", name)


def services(namespace: str, name: str = "") -> str:
    """Services of one namespace."""
    return _core(namespace, "services", name)


def service_proxy(namespace: str, name: str, port: str) -> str:
    """The proxy subresource of a Service: what stands behind a port of it, by the port's name."""
    return _core(namespace, "services", f"{name}:{port}") + "/proxy"


def secrets(namespace: str, name: str) -> str:
    """One Secret of a namespace."""
    return _core(namespace, "secrets", name)


def config_maps(namespace: str, name: str = "") -> str:
    """ConfigMaps of one namespace."""
    return _core(namespace, "configmaps", name)


def events(namespace: str | None) -> str:
    """Events of one namespace, or of all."""
    return _core(namespace, "events")
