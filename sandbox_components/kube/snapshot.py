"""Reading the objects of one sandbox, or of all, with few requests.

The snapshot keeps what the API server sent. What it means is decided in `state`, so that recorded objects make a
table test.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from sandbox_components.errors import AccessDenied, InvalidInput, NotFound
from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import Json, dig, is_true, items, name_of, named, text, uid
from sandbox_components.kube.probes import event_time
from sandbox_components.spec.naming import CONTAINER, SANDBOX_LABEL, STACK_ANNOTATION, pod_name

WORKSPACE_VOLUME = "workspace"


class OtherStack(InvalidInput):
    """A sandbox belongs to another stack than the one that the user has named."""

    def __init__(self, name: str, namespace: str, stack: str, wanted: str) -> None:
        self.flags = f"{name} -n {namespace} --stack {stack}"
        super().__init__(
            "--stack",
            f'"{name}" in namespace "{namespace}" belongs to stack "{stack}", not to "{wanted}"',
            suggestions=[self.with_verb("describe")],
        )

    def with_verb(self, verb: str) -> str:
        """Return the command line that does this with the stack it belongs to."""
        return f"sandbox {verb} {self.flags}" + (" -- CMD..." if verb == "exec" else "")


class NotInNamespace(NotFound):
    """The sandbox isn't in the namespace that was looked in."""

    code = "sandbox_not_found"

    def __init__(self, message: str, name: str, namespace: str, suggestions: Iterable[str]) -> None:
        super().__init__(message, suggestions=tuple(suggestions))
        self.name = name
        self.namespace = namespace


@dataclass(frozen=True)
class SandboxSnapshot:
    """The Kubernetes objects of one sandbox at about one moment."""

    statefulset: Json
    pod: Json | None = None
    claim: Json | None = None
    service: Json | None = None
    events: tuple[Json, ...] = ()
    """Events of the three, of older pods of the same name too, oldest first."""
    storage_classes: tuple[Json, ...] | None = None
    """None when they weren't read: only a pending claim needs them."""
    is_partial: bool = False
    """The claim wasn't read, so that its absence says nothing."""
    denied: Mapping[str, str] = field(default_factory=dict)
    """What we may not read (`events`, `service`, `workspace`) → the right that is missing."""

    @property
    def name(self) -> str:
        """The sandbox's name."""
        return name_of(self.statefulset)

    @property
    def namespace(self) -> str:
        """The sandbox's namespace."""
        return text(self.statefulset, "metadata", "namespace")

    @property
    def pod_template(self) -> Json:
        """The pod template's spec."""
        return dig(self.statefulset, "spec", "template", "spec") or {}

    def events_of(self, obj: Json | None) -> list[Json]:
        """Events of exactly this object, by UID: an older pod of the same name doesn't count."""
        wanted = uid(obj)
        return [e for e in self.events if wanted and text(e, "involvedObject", "uid") == wanted]


def agent_container(pod_spec: Json) -> Json | None:
    """Return the agent's container of a pod spec."""
    containers = items(pod_spec, "containers")
    return named(containers, CONTAINER) or (containers[0] if len(containers) == 1 else None)


def claim_of(pod_spec: Json) -> str | None:
    """Name of the claim behind the workspace volume, None when the sandbox is ephemeral."""
    volume = named(items(pod_spec, "volumes"), WORKSPACE_VOLUME)
    return text(volume, "persistentVolumeClaim", "claimName") or None


def read_statefulset(cluster: Cluster, namespace: str, name: str) -> Json:
    """Return the sandbox's StatefulSet.

    Raises:
        NotFound: there is no such sandbox; says what there is instead.
        OtherStack: it belongs to another stack than the one that the user has named.
    """
    found = cluster.find(paths.statefulsets(namespace, name))
    if found is not None and text(found, "metadata", "labels", SANDBOX_LABEL) == name:
        _check_stack(found, cluster.only_stack)
        return found
    raise not_found(cluster, namespace, name, is_foreign=found is not None)


def _check_stack(statefulset: Json, wanted: str | None) -> None:
    stack = text(statefulset, "metadata", "annotations", STACK_ANNOTATION)
    if wanted and stack and stack != wanted.rpartition("/")[2]:
        name, namespace = name_of(statefulset), text(statefulset, "metadata", "namespace")
        raise OtherStack(name, namespace, stack, wanted)


def not_found(cluster: Cluster, namespace: str, name: str, *, is_foreign: bool = False) -> NotInNamespace:
    """Return the error that says that this sandbox isn't there, with the names that are like it."""
    names = [name_of(entry) for entry in list_statefulsets(cluster, namespace)]
    if is_foreign:
        message = f'"{name}" in namespace "{namespace}" is a StatefulSet, but not one of a sandbox'
    else:
        message = f'sandbox "{name}" is not in namespace "{namespace}"'
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    near += [other for other in names if other.startswith(name) and other not in near][:3]
    suggestions = [f"did you mean: {', '.join(near[:3])}"] if near else []
    suggestions.append(f"sandbox list -n {namespace}" if names else "sandbox list -A")
    return NotInNamespace(message, name, namespace, suggestions)


def list_statefulsets(cluster: Cluster, namespace: str | None) -> list[Json]:
    """Return the StatefulSets of all sandboxes of a namespace, or of all namespaces."""
    return cluster.list_all(paths.statefulsets(namespace), {"labelSelector": SANDBOX_LABEL})


def read_around(cluster: Cluster, statefulset: Json, *, with_events: bool = True) -> SandboxSnapshot:
    """Read what belongs to a StatefulSet that was read already; what we may not read is left out and named.

    Args:
        cluster: where.
        statefulset: the sandbox's.
        with_events: also read events and the Service, which take more requests.

    Raises:
        AccessDenied: we may not read the pod, without which nothing can be told.
    """
    namespace, name = text(statefulset, "metadata", "namespace"), name_of(statefulset)
    pod = cluster.find(paths.pods(namespace, pod_name(name)))
    wanted = claim_of(dig(statefulset, "spec", "template", "spec") or {})
    claim = service = None
    events: list[Json] = []
    denied: dict[str, str] = {}
    if wanted:
        with noted("workspace", denied):
            claim = cluster.find(paths.claims(namespace, wanted))
    if with_events:
        with noted("service", denied):
            service = cluster.find(paths.services(namespace, name))
        about = [("StatefulSet", name), ("Pod", pod_name(name))]
        about += [("PersistentVolumeClaim", wanted)] if wanted else []
        with noted("events", denied):
            for kind, involved in about:
                events += read_events(cluster, namespace, kind, involved)
    return SandboxSnapshot(
        statefulset=statefulset,
        pod=pod,
        claim=claim,
        service=service,
        events=in_order(events),
        storage_classes=_classes_for(cluster, [claim] if claim else []),
        is_partial="workspace" in denied,
        denied=denied,
    )


@contextmanager
def noted(part: str, denied: dict[str, str]) -> Iterator[None]:
    """Go on where a right is missing to read a part of a sandbox, and note which."""
    try:
        yield
    except AccessDenied as error:
        if not error.right:
            raise
        denied[part] = error.right


def read_events(cluster: Cluster, namespace: str | None, kind: str, name: str = "") -> list[Json]:
    """Return the events about one object, or about all objects of a kind."""
    selector = f"involvedObject.kind={kind}" + (f",involvedObject.name={name}" if name else "")
    return cluster.list_all(paths.events(namespace), {"fieldSelector": selector})


def in_order(events: Iterable[Json]) -> tuple[Json, ...]:
    """Sort events, oldest first."""
    dated = [(event_time(event), event) for event in events]
    return tuple(event for _, event in sorted(dated, key=lambda pair: pair[0].timestamp() if pair[0] else 0.0))


def read_many(cluster: Cluster, namespace: str | None) -> Iterator[SandboxSnapshot]:
    """Read all sandboxes of a namespace, or of all; three requests, and a few more where some are not well."""
    statefulsets = list_statefulsets(cluster, namespace)
    if not statefulsets:
        return
    selector = {"labelSelector": SANDBOX_LABEL}
    pods = {_key(pod): pod for pod in cluster.list_all(paths.pods(namespace), selector)}
    claims = {_key(claim): claim for claim in cluster.list_all(paths.claims(namespace), selector)}
    # An adopted claim carries none of our labels.
    for statefulset in statefulsets:
        key = _claim_key(statefulset)
        if key and key not in claims and (claim := cluster.find(paths.claims(*key))) is not None:
            claims[key] = claim
    podless = any(
        dig(s, "spec", "replicas") != 0 and (text(s, "metadata", "namespace"), pod_name(name_of(s))) not in pods
        for s in statefulsets
    )
    events = read_events(cluster, namespace, "StatefulSet") if podless else []
    if any(_is_troubled(pod) for pod in pods.values()):
        events += read_events(cluster, namespace, "Pod")
    by_object: dict[str, list[Json]] = {}
    for event in events:
        by_object.setdefault(text(event, "involvedObject", "uid"), []).append(event)
    classes = _classes_for(cluster, list(claims.values()))
    for statefulset in statefulsets:
        where = text(statefulset, "metadata", "namespace")
        key = _claim_key(statefulset)
        pod = pods.get((where, pod_name(name_of(statefulset))))
        yield SandboxSnapshot(
            statefulset=statefulset,
            pod=pod,
            claim=claims.get(key) if key else None,
            events=in_order(by_object.get(uid(statefulset), []) + by_object.get(uid(pod), [])),
            storage_classes=classes,
        )


def _is_troubled(pod: Json) -> bool:
    """Whether only the pod's events tell what is wrong with it."""
    if not is_true(pod, "Ready"):
        return not dig(pod, "metadata", "deletionTimestamp")
    return any(entry.get("restartCount") for entry in items(pod, "status", "containerStatuses"))


def _key(obj: Json) -> tuple[str, str]:
    return text(obj, "metadata", "namespace"), name_of(obj)


def _claim_key(statefulset: Json) -> tuple[str, str] | None:
    wanted = claim_of(dig(statefulset, "spec", "template", "spec") or {})
    return (text(statefulset, "metadata", "namespace"), wanted) if wanted else None


def _classes_for(cluster: Cluster, claims: list[Json]) -> tuple[Json, ...] | None:
    """Read the storage classes if a claim is pending; who may not list them still gets the rest."""
    if all(text(claim, "status", "phase") != "Pending" for claim in claims):
        return None
    try:
        return tuple(cluster.list_all(paths.STORAGE_CLASSES))
    except AccessDenied:
        return None


def read_pod(cluster: Cluster, namespace: str, name: str) -> Json | None:
    """Return the sandbox's pod, None when there is none."""
    return cluster.find(paths.pods(namespace, pod_name(name)))
