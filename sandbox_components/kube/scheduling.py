"""Why a pod has no place or no disk yet: the scheduler's words, and the claim's."""

from __future__ import annotations

from collections.abc import Iterable

from sandbox_components.kube.objects import Json, condition, dig, name_of, text
from sandbox_components.kube.observation import Diagnosis

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_OLD_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"


def diagnose_unscheduled(pod: Json, *, name: str, claim: Diagnosis | None) -> Diagnosis | None:
    """Tell why the scheduler has found no node, in its own words, None when it hasn't said.

    Args:
        pod: the pod.
        name: the sandbox, for the commands to type.
        claim: what is wrong with the claim, which is then the cause.
    """
    scheduled = condition(pod, "PodScheduled")
    if dig(scheduled, "status") != "False":
        return None
    message = " ".join(text(scheduled, "message").split())
    reason = text(scheduled, "reason")
    if reason == "SchedulingGated":
        gates = ", ".join(text(gate, "name") for gate in dig(pod, "spec", "schedulingGates") or [])
        return Diagnosis(f"scheduling is held back by a gate: {gates or message}")
    if claim is not None:
        return Diagnosis(claim.cause, claim.next_step, claim.is_error, claim.is_hopeless)
    if not message:
        return Diagnosis("no node has been found yet")
    return Diagnosis(f"no node has a place for it: {message}", _next_step(message, name))


def _next_step(message: str, name: str) -> str | None:
    if "Insufficient" in message or "Too many pods" in message:
        return f"free or add capacity, or ask for less with `sandbox update {name} --cpu N --memory SIZE`"
    if "volume node affinity conflict" in message or "no available volume zone" in message:
        return "its volume is on a node that can't take it now: see `kubectl get nodes`"
    if "node affinity/selector" in message or "node selector" in message:
        return "check nodeSelector against `kubectl get nodes --show-labels`"
    if "taint" in message:
        return "check tolerations against the nodes' taints, and that the nodes are Ready"
    return None


def diagnose_claim(
    claim: Json | None, wanted: str | None, classes: Iterable[Json] | None, events: Iterable[Json]
) -> Diagnosis | None:
    """Tell what is wrong with the workspace's claim, None when it is bound or on its way.

    Args:
        claim: the claim, None when it isn't there.
        wanted: the claim's name that the pod asks for, None for an ephemeral sandbox.
        classes: the cluster's storage classes, None when they weren't read.
        events: the claim's own events, oldest first.
    """
    if wanted is None:
        return None
    if claim is None:
        return Diagnosis(
            f'the workspace\'s claim "{wanted}" does not exist',
            "make it again with `pulumi up`; the files of a deleted claim are gone",
            is_error=True,
        )
    phase = text(claim, "status", "phase")
    if phase == "Lost":
        return Diagnosis(
            f'the volume "{text(claim, "spec", "volumeName")}" of claim "{name_of(claim)}" is gone',
            f"see `kubectl describe pvc {name_of(claim)}`",
            is_error=True,
        )
    if phase == "Bound":
        return None
    return _diagnose_pending(claim, None if classes is None else list(classes), list(events))


def _diagnose_pending(claim: Json, classes: list[Json] | None, events: list[Json]) -> Diagnosis | None:
    name, wanted = name_of(claim), dig(claim, "spec", "storageClassName")
    failed = next((e for e in reversed(events) if text(e, "reason") == "ProvisioningFailed"), None)
    said = " ".join(text(failed, "message").split())
    there = ", ".join(sorted(name_of(entry) for entry in classes or [])) or "<none>"
    if wanted:
        known = classes is None or any(name_of(entry) == wanted for entry in classes)
        if not known or (classes is None and "not found" in said and "storageclass" in said.lower()):
            return Diagnosis(
                f'the claim "{name}" is pending: there is no storage class "{wanted}"'
                + (f" (there are: {there})" if classes is not None else ""),
                "name one that exists; the claim has to be made anew for it",
                is_hopeless=True,
            )
    elif wanted is None:
        defaults = None if classes is None else [entry for entry in classes if is_default(entry)]
        unset = any(text(e, "reason") == "FailedBinding" and "no storage class" in text(e, "message") for e in events)
        if defaults == [] or (defaults is None and unset):
            return Diagnosis(
                f'the claim "{name}" is pending: it names no storage class, and the cluster has no default class',
                f"set a storage class (there are: {there})" if classes is not None else "set a storage class",
                is_hopeless=True,
            )
    elif not text(claim, "spec", "volumeName"):
        cause = f'the claim "{name}" is pending: it wants no storage class (""), and no volume made by hand fits'
        return Diagnosis(cause, "make a PersistentVolume for it, or name a class")
    if said:
        return Diagnosis(f'the claim "{name}" is pending: {said}', f"see `kubectl describe pvc {name}`")
    return None


def is_default(storage_class: Json) -> bool:
    """Tell whether this is the cluster's default class."""
    notes = dig(storage_class, "metadata", "annotations") or {}
    return "true" in (notes.get(DEFAULT_CLASS), notes.get(_OLD_DEFAULT_CLASS))
