"""A rendered StatefulSet read back into the words of the stack's config: the inverse of `workload`.

Plans compare two of them, and a person reads `env.LEVEL`, not `spec.template.spec.containers[0].env[1].value`. Nothing
is lost: what isn't one of our words comes out under its Kubernetes path (`pod.hostNetwork`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_components.manifests.process import plainly, read_process
from sandbox_components.spec import naming
from sandbox_components.spec.image import check_image, pull_policy

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What the engine writes for a value that only the update will tell."""
SECRET_VALUE = "[secret]"
"""What the engine writes for a value that it doesn't show."""

GROUPS = {
    "image": "image",
    "entrypoint": "command",
    "command": "command",
    "resourceLimits": "resources",
    "resourceRequests": "resources",
    "env": "env",
    "secretEnv": "env",
    "healthCheck": "healthCheck",
    "ports": "ports",
}
"""Word of the config → which of a revision's six groups it belongs to."""
DEFAULTS = {"terminationGracePeriodSeconds": 30, "runAsUser": 1000, "security": "restricted"}
"""Words that are always there, and what they are where nobody asked for anything."""
_PLAIN = (
    "automountServiceAccountToken",
    "containers",
    "enableServiceLinks",
    "serviceAccountName",
    "shareProcessNamespace",
    "volumes",
)
_RESTRICTED_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
_RESTRICTED_CONTAINER = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_READ_OF_CONTAINER = (
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resources",
    "securityContext",
    "volumeMounts",
)
_READ_OF_POD = (
    "imagePullSecrets",
    "nodeSelector",
    "runtimeClassName",
    "securityContext",
    "terminationGracePeriodSeconds",
    "tolerations",
)


@dataclass(frozen=True)
class Reading:
    """What a StatefulSet declares.

    Attributes:
        words: of the config → value; nested where the config nests. `secretEnv` has variable → name of its Secret.
        claim: that the pod mounts; None where its files go with it.
        mount_path: of the workspace.
        is_known: False where the engine can't say yet what the pod template is.
    """

    words: Mapping[str, Any]
    claim: str | None = None
    mount_path: str | None = None
    is_known: bool = True


def read_workload(inputs: Mapping[str, Any]) -> Reading:
    """Read a StatefulSet's inputs; never fails, whatever they are."""
    template = _dig(inputs, "spec", "template")
    pod = _dig(template, "spec")
    containers = _dig(pod, "containers")
    container = _dig(containers, 0)
    if not isinstance(container, Mapping):
        return Reading({}, is_known=False)
    mounts, volumes = container.get("volumeMounts"), pod.get("volumes")
    mount_path = _dig(mounts, 0, "mountPath")
    words = {
        **_image(container),
        **_process(container.get("command")),
        **_resources(container.get("resources")),
        **_environment(container.get("env"), mount_path),
        **_inference_key(container.get("envFrom")),
        **_health_check(container.get("livenessProbe"), container.get("readinessProbe")),
        **_ports(container.get("ports")),
        **_security(pod.get("securityContext"), container.get("securityContext")),
        **_placement(pod),
        **{f"container.{key}": value for key, value in container.items() if key not in _READ_OF_CONTAINER},
        **{f"pod.{key}": value for key, value in pod.items() if key not in (*_READ_OF_POD, *_PLAIN)},
        **{f"pod.{key}": pod[key] for key in _PLAIN if key in pod and key not in ("containers", "volumes")},
        **_more("container.volumeMounts", mounts, {"name", "mountPath"}),
        **_more("pod.volumes", volumes, {"name", "emptyDir", "persistentVolumeClaim"}),
    }
    if len(containers) > 1:
        words["pod.containers"] = containers[1:]
    return Reading(words, _dig(volumes, 0, "persistentVolumeClaim", "claimName"), mount_path)


def group_of(field: str) -> str | None:
    """Return which of a revision's six groups a word or a path below it belongs to; None for what makes no revision."""
    return GROUPS.get(field.partition(".")[0])


def _image(container: Mapping[str, Any]) -> dict[str, Any]:
    image, policy = container.get("image"), container.get("imagePullPolicy")
    is_usual = image == UNKNOWN or policy == _usual_policy(image)
    return {"image": image, "imagePullPolicy": None if is_usual else policy}


def _usual_policy(image: object) -> str | None:
    try:
        return pull_policy(check_image(str(image)))
    except ValueError:
        return None


def _process(command: object) -> dict[str, Any]:
    if not isinstance(command, list):
        return {"entrypoint": command}
    return read_process(command)


def _resources(resources: object) -> dict[str, Any]:
    if not isinstance(resources, Mapping):
        return {"resourceLimits": resources}
    limits, requests = resources.get("limits"), resources.get("requests")
    if not isinstance(limits, Mapping) or not isinstance(requests, Mapping):
        return {"resourceLimits": limits, "resourceRequests": requests}
    lower = {kind: value for kind, value in requests.items() if value != limits.get(kind)}
    return {"resourceLimits": limits, "resourceRequests": lower}


def _environment(env: object, mount_path: object) -> dict[str, Any]:
    if not isinstance(env, list):
        return {"env": env or {}}
    plain: dict[str, Any] = {}
    secret: dict[str, Any] = {}
    for index, one in enumerate(env):
        if not isinstance(one, Mapping):
            plain[f"[{index}]"] = one
            continue
        key, value = str(one.get("name")), one.get("value")
        name = _dig(one, "valueFrom", "secretKeyRef", "name")
        if name is not None:
            secret[key] = name
        elif not (index == 0 and key == "HOME" and plainly(value) == mount_path):
            plain[key] = plainly(value) if "value" in one else one
    return {"env": plain, "secretEnv": secret}


def _inference_key(sources: object) -> dict[str, Any]:
    """Return the Secret with key and base URLs of the inference proxy, which is all that we take variables from."""
    if sources is None:
        return {}
    name = _dig(sources, 0, "secretRef", "name")
    is_ours = name is not None and sources == [{"secretRef": {"name": name}}]
    return {"inferenceKey": name} if is_ours else {"container.envFrom": sources}


def _health_check(liveness: object, readiness: object) -> dict[str, Any]:
    get = _dig(liveness, "httpGet")
    if not isinstance(liveness, Mapping) or not isinstance(get, Mapping):
        return {"healthCheck": liveness} if liveness is not None or readiness is None else {"healthCheck": readiness}
    check = {
        "type": "http",
        "http": {"path": get.get("path"), "port": get.get("port")},
        "intervalSeconds": liveness.get("periodSeconds"),
        "initialDelaySeconds": liveness.get("initialDelaySeconds"),
        "timeoutSeconds": liveness.get("timeoutSeconds"),
        "failureThreshold": liveness.get("failureThreshold"),
    }
    return {"healthCheck": check, "container.readinessProbe": _odd_readiness(readiness, liveness)}


def _odd_readiness(readiness: object, liveness: Mapping[str, Any]) -> Any:
    """Return the readiness probe where it isn't the liveness probe's twin; None where it is, as always with us."""
    same = ("httpGet", "timeoutSeconds")
    is_twin = isinstance(readiness, Mapping) and all(readiness.get(key) == liveness.get(key) for key in same)
    return None if is_twin else readiness


def _ports(ports: object) -> dict[str, Any]:
    if not isinstance(ports, list):
        return {"ports": ports or {}}
    found: dict[str, Any] = {}
    for index, one in enumerate(ports):
        if not isinstance(one, Mapping):
            found[f"[{index}]"] = one
            continue
        suffix = "" if one.get("protocol") == "TCP" else f"/{one.get('protocol')}"
        found[f"{one.get('containerPort')}{suffix}"] = one.get("name")
    return {"ports": found}


def _security(pod: object, container: object) -> dict[str, Any]:
    given = dict(pod) if isinstance(pod, Mapping) else {}
    user = given.get("runAsUser")
    known = {"runAsUser": user, "runAsGroup": user, "fsGroup": user, "fsGroupChangePolicy": "OnRootMismatch"}
    if given == {**known, **_RESTRICTED_POD} and container == _RESTRICTED_CONTAINER:
        return {"runAsUser": user, "security": "restricted"}
    if given == known and container is None:
        return {"runAsUser": user, "security": "baseline"}
    return {"pod.securityContext": pod, "container.securityContext": container}


def _placement(pod: Mapping[str, Any]) -> dict[str, Any]:
    pull = pod.get("imagePullSecrets")
    names = [one.get("name") if isinstance(one, Mapping) else one for one in pull] if isinstance(pull, list) else pull
    return {
        "terminationGracePeriodSeconds": pod.get("terminationGracePeriodSeconds"),
        "runtimeClass": pod.get("runtimeClassName"),
        "nodeSelector": pod.get("nodeSelector") or {},
        "tolerations": pod.get("tolerations"),
        "imagePullSecrets": names,
    }


def _more(path: str, listed: object, known: set[str]) -> dict[str, Any]:
    """Return what a list of one has more than we put there, under `path`."""
    if not isinstance(listed, list) or not listed or not isinstance(listed[0], Mapping):
        return {path: listed}
    rest = [{key: value for key, value in listed[0].items() if key not in known}, *listed[1:]]
    return {path: rest} if rest != [{}] else {}


def _dig(found: Any, *path: str | int) -> Any:
    for step in path:
        if isinstance(step, int):
            found = found[step] if isinstance(found, list) and len(found) > step else None
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    return found


def own_labels(labels: object) -> dict[str, Any]:
    """Return a user's labels among an object's."""
    if not isinstance(labels, Mapping):
        return {}
    return {key: value for key, value in labels.items() if not str(key).startswith(naming.OWN_LABELS)}
