"""Why there is no pod at all: the StatefulSet controller was refused, by quota, Pod Security or a webhook."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sandbox_components.kube.objects import Json, text
from sandbox_components.kube.observation import Diagnosis

_PREFIX = re.compile(r"^create Pod \S+ in StatefulSet \S+ failed error: ")


def diagnose_creation(events: Iterable[Json], *, name: str, namespace: str) -> Diagnosis | None:
    """Tell why the pod could not be created, None when the last attempt went well or none is known.

    Args:
        events: the StatefulSet's own events, oldest first.
        name: the sandbox, for the commands to type.
        namespace: its namespace.
    """
    attempts = ("FailedCreate", "SuccessfulCreate", "SuccessfulDelete")
    last = next((event for event in reversed(list(events)) if text(event, "reason") in attempts), None)
    if last is None or text(last, "reason") != "FailedCreate":
        return None
    said = _PREFIX.sub("", " ".join(text(last, "message").split())).partition("Warning: would violate")[0]
    if "exceeded quota" in said:
        return Diagnosis(
            f"the namespace's quota leaves no room: {said}",
            f"see `kubectl get resourcequota -n {namespace}`, or ask for less with "
            f"`sandbox update {name} --cpu N --memory SIZE`",
            is_error=True,
            is_hopeless=True,
        )
    if "violates PodSecurity" in said:
        return Diagnosis(
            f"the namespace's Pod Security level refuses the pod: {said}",
            f"see `kubectl get namespace {namespace} --show-labels`",
            is_error=True,
            is_hopeless=True,
        )
    if "must be less than or equal to" in said or "usage per" in said:
        return Diagnosis(
            f"the namespace's LimitRange refuses the pod: {said}",
            f"see `kubectl get limitrange -n {namespace}`",
            is_error=True,
            is_hopeless=True,
        )
    return Diagnosis(
        f"the cluster refuses to create the pod: {said}",
        f"see `kubectl describe statefulset {name} -n {namespace}`",
        is_error=True,
        is_hopeless="webhook" not in said and "timeout" not in said,
    )
