"""Pausing and resuming: the scale subresource of the StatefulSet, and the annotation that says who and why.

Replicas are never sent by server-side apply, and the manager is our own, so that no later `pulumi up` owns, fights
over or undoes them.
"""

from __future__ import annotations

from sandbox_components.kube import paths, record
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import Json, dig, name_of, text
from sandbox_components.spec.naming import PAUSE_ANNOTATION


def wanted_replicas(statefulset: Json) -> int:
    """How many pods are wanted: 0 is paused; what is left out means 1."""
    replicas = dig(statefulset, "spec", "replicas")
    return replicas if isinstance(replicas, int) else 1


def set_replicas(cluster: Cluster, statefulset: Json, replicas: int, note: record.Record) -> None:
    """Write the note, then scale.

    In this order, because a note alone changes nothing, while a pause without a note would be nobody's.
    """
    namespace, name = text(statefulset, "metadata", "namespace"), name_of(statefulset)
    write_note(cluster, namespace, name, note)
    cluster.patch(paths.scale(namespace, name), {"spec": {"replicas": replicas}})


def write_note(cluster: Cluster, namespace: str, name: str, note: record.Record) -> None:
    """Write the pause annotation, which changes no generation and no pod."""
    body = {"metadata": {"annotations": {PAUSE_ANNOTATION: note.dump()}}}
    cluster.patch(paths.statefulsets(namespace, name), body)


def next_generation(statefulset: Json) -> int | None:
    """The generation that the StatefulSet has once it is scaled."""
    generation = dig(statefulset, "metadata", "generation")
    return generation + 1 if isinstance(generation, int) else None
