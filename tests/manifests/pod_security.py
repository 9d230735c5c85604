"""Kubernetes' Pod Security Standard `restricted`, control by control, as a list of what a pod breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ALLOWED_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def breaks_restricted(pod: dict[str, Any]) -> list[str]:
    """Return what of `pod`, a pod's spec, the level `restricted` refuses."""
    return [*_pod(pod), *(f"{one['name']}: {text}" for one in _containers(pod) for text in _container(pod, one))]


def _containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for key in ("containers", "initContainers", "ephemeralContainers") for one in pod.get(key, [])]


def _pod(pod: dict[str, Any]) -> Iterator[str]:
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(key):
            yield key
    for volume in pod.get("volumes", []):
        if not ALLOWED_VOLUMES & set(volume) or set(volume) - ALLOWED_VOLUMES - {"name"}:
            yield f"volume {volume['name']}"
    context = pod.get("securityContext", {})
    for key in ("sysctls", "seLinuxOptions", "windowsOptions", "appArmorProfile"):
        if key in context:
            yield key


def _container(pod: dict[str, Any], container: dict[str, Any]) -> Iterator[str]:
    outer, own = pod.get("securityContext", {}), container.get("securityContext", {})
    capabilities = own.get("capabilities", {})
    if own.get("privileged"):
        yield "privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation"
    if capabilities.get("drop") != ["ALL"] or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
        yield "capabilities"
    if own.get("runAsNonRoot", outer.get("runAsNonRoot")) is not True:
        yield "runAsNonRoot"
    if own.get("runAsUser", outer.get("runAsUser")) == 0:
        yield "runAsUser"
    if own.get("seccompProfile", outer.get("seccompProfile", {})).get("type") not in ("RuntimeDefault", "Localhost"):
        yield "seccompProfile"
    if own.get("procMount", "Default") != "Default":
        yield "procMount"
    for port in container.get("ports", []):
        if port.get("hostPort"):
            yield f"hostPort {port['hostPort']}"
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(key, {})
        if "host" in probe.get("httpGet", {}) or "host" in probe.get("tcpSocket", {}):
            yield f"{key}.host"
