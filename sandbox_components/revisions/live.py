"""Reads the six groups back from what the cluster holds: the StatefulSet's pod template and the Service.

The inverse of `manifests`, for finding drift: read back from untouched objects, they equal the annotation. What a
hand has put there that no argument can express comes out as a field of its own, so that it shows too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_components.errors import InvalidInput
from sandbox_components.kube.objects import Json, dig, items, named, text
from sandbox_components.manifests.probes import probes
from sandbox_components.manifests.process import plainly, read_process
from sandbox_components.manifests.workload import VOLUME
from sandbox_components.spec import quantity
from sandbox_components.spec.health import HealthCheck
from sandbox_components.spec.naming import CONTAINER
from sandbox_components.spec.revision import VERSION, health_check_data


def live_groups(statefulset: Json, service: Json | None, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the six groups that the cluster holds, in the annotation's form.

    Args:
        statefulset: the sandbox's.
        service: the one of its exposed ports, None where there is none.
        declared: the groups that the stack declares; they tell a HOME of the user's from the platform's.
    """
    container = named(items(statefulset, "spec", "template", "spec", "containers"), CONTAINER) or {}
    groups: dict[str, Any] = {"v": VERSION, "image": {"uri": text(container, "image")}}
    groups |= _process(container)
    groups["resources"] = _resources(container)
    groups |= _env(container, "HOME" in (declared.get("env") or {}))
    check = _health_check(container)
    if check:
        groups["healthCheck"] = check
    ports = _ports(container, service)
    if ports:
        groups["ports"] = ports
    return groups


def _process(container: Json) -> dict[str, Any]:
    words = [str(word) for word in container.get("command") or []]
    more = [str(word) for word in container.get("args") or []]
    if more:
        return {"command": {**({"entrypoint": [plainly(word) for word in words]} if words else {}), "args": more}}
    return {"command": read_process(words)} if words else {}


def _resources(container: Json) -> Json:
    limits, requests = (
        {str(kind): _quantity(str(kind), value) for kind, value in (dig(container, "resources", part) or {}).items()}
        for part in ("limits", "requests")
    )
    found: Json = {"limits": limits}
    requests = {kind: value for kind, value in requests.items() if value != limits.get(kind)}
    if requests:
        found["requests"] = requests
    return found


def _quantity(kind: str, value: Any) -> str:
    read = {"cpu": quantity.cpu, "memory": quantity.memory}.get(kind)
    try:
        return str(value) if read is None else read(str(value), "")
    except InvalidInput:
        return str(value)


def _env(container: Json, has_own_home: bool) -> Json:
    plain: Json = {}
    secret: dict[str, str] = {}
    for one in items(container, "env"):
        name, reference = text(one, "name"), dig(one, "valueFrom", "secretKeyRef")
        if reference is not None and text(reference, "key") == name:
            secret[name] = text(reference, "name")
        elif "valueFrom" in one:
            plain[name] = one["valueFrom"]
        else:
            plain[name] = plainly(text(one, "value"))
    mount = text(named(items(container, "volumeMounts"), VOLUME), "mountPath")
    if not has_own_home and plain.get("HOME") == mount:
        del plain["HOME"]
    for source in items(container, "envFrom"):
        plain[f"envFrom {next((text(part, 'name') for part in source.values() if isinstance(part, dict)), '')}"] = (
            source
        )
    found: Json = {"env": plain} if plain else {}
    if secret:
        found["secretEnv"] = {"names": sorted(secret), "secret": " ".join(sorted(set(secret.values())))}
    return found


def _health_check(container: Json) -> Json:
    live: Json = {
        kind: container[kind] for kind in ("livenessProbe", "readinessProbe", "startupProbe") if kind in container
    }
    if not live:
        return {}
    liveness = live.get("livenessProbe") or {}
    try:
        check = HealthCheck.model_validate(
            {
                "type": "http",
                "http": {"path": dig(liveness, "httpGet", "path"), "port": dig(liveness, "httpGet", "port")},
                "intervalSeconds": liveness.get("periodSeconds", 10),
                "initialDelaySeconds": liveness.get("initialDelaySeconds", 0),
                "timeoutSeconds": liveness.get("timeoutSeconds", 1),
                "failureThreshold": liveness.get("failureThreshold", 3),
            }
        )
    except ValueError:
        return {"type": "other", **live}
    data = health_check_data(check)
    made = probes(check)
    for kind in {**live, **made}:
        if not _holds(live.get(kind), made.get(kind)):
            data[kind] = live.get(kind, "none")
    return data


def _holds(live: Json | None, made: Json | None) -> bool:
    """Tell whether a probe is as it was made; the API server adds only defaults, which are no surprise."""
    if live is None or made is None:
        return False
    return all(live.get(key, 0 if key == "initialDelaySeconds" else None) == value for key, value in made.items())


def _ports(container: Json, service: Json | None) -> list[Json]:
    """Return the ports that the container names and the Service leads to; others come with a name that says so."""
    inside = {(one.get("containerPort"), text(one, "protocol")): text(one, "name") for one in items(container, "ports")}
    outside = {(one.get("port"), text(one, "protocol")): one for one in items(service, "spec", "ports")}
    found = []
    for key in {**inside, **outside}:
        led = outside.get(key)
        name = inside.get(key, text(led, "name"))
        if led is None:
            name += " (not in the Service)"
        elif key not in inside:
            name += " (in the Service alone)"
        elif text(led, "name") != name:
            name += f" (Service: {text(led, 'name')})"
        if led is not None and led.get("targetPort", key[0]) != key[0]:
            name += f" (leads to {led['targetPort']})"
        found.append({"port": key[0], "name": name, "protocol": key[1]})
    return sorted(found, key=lambda one: (str(one["port"]).zfill(5), one["protocol"]))
