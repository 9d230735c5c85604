"""Why a container can't be made: image pulls and container configuration, out of a `waiting` reason."""

from __future__ import annotations

import re

from sandbox_components.kube.exits import runtime_cause
from sandbox_components.kube.observation import Diagnosis

PULL_REASONS = {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed"}

_ABSENT = re.compile(
    r"not found|manifest unknown|name unknown|does not exist|no match for platform|no such (image|manifest)", re.I
)
_REFUSED = re.compile(r"unauthorized|authentication required|denied|forbidden|no basic auth|403|401", re.I)
_AWAY = re.compile(
    r"no such host|connection refused|timeout|timed out|unreachable|x509|tls|http response to https|eof|"
    r"too ?many ?requests|429|50[0234]",
    re.I,
)
_BACK_OFF = re.compile(r'^Back-off pulling image "[^"]*"(: )?')
_PREFIXES = re.compile(
    r"^(?:(?:ErrImagePull|Failed to pull image \"[^\"]*\"): ?|rpc error: code = \w+ desc = "
    r"|failed to pull and unpack image \"[^\"]*\": ?|failed to resolve (?:reference|image) \"[^\"]*\": ?)+",
    re.I,
)


def diagnose_waiting(reason: str, message: str, *, name: str, image: str, pull_error: str | None) -> Diagnosis | None:
    """Tell why a container waits, None for the reasons that are just the way of things.

    Args:
        reason: `state.waiting.reason`.
        message: `state.waiting.message`.
        name: the sandbox, for the commands to type.
        image: as configured.
        pull_error: the last failed pull's event, because a back-off's own message may say nothing.
    """
    change = f"correct it with `sandbox update {name} --image IMAGE`"
    if reason in PULL_REASONS:
        detail = _detail(message) or _detail(pull_error or "")
        return _diagnose_pull(detail.removeprefix(f"{image}: "), name, image)
    if reason == "InvalidImageName":
        return Diagnosis(f'"{image}" is not an image name: {_detail(message)}', change, True, True)
    if reason == "ErrImageNeverPull":
        return Diagnosis(
            f'the image "{image}" is not on the node, and imagePullPolicy Never forbids to pull it',
            "load it onto the node, or use another imagePullPolicy",
            is_error=True,
            is_hopeless=True,
        )
    if reason in ("ImageInspectError", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"):
        return _diagnose_configuration(reason, message, change)
    if reason in ("PreStartHookError", "PostStartHookError", "PreCreateHookError"):
        return Diagnosis(f"a hook of the container failed ({reason}): {_plain(message)}", None, is_error=True)
    return None


def _diagnose_pull(detail: str, name: str, image: str) -> Diagnosis:
    said = f'the image "{image}" can\'t be pulled: {detail or "the pull failed"}'
    # A registry answers "denied" or "not found" as it likes for what isn't there, so what was found first decides.
    if _ABSENT.search(detail):
        step = f"check name and tag, then `sandbox update {name} --image IMAGE`"
        return Diagnosis(said, step, is_error=True, is_hopeless=True)
    if _AWAY.search(detail) and not re.search(r"unauthorized|denied", detail, re.I):
        step = "check that the node reaches the registry; Kubernetes goes on trying"
        return Diagnosis(said, step, is_error=True)
    if _REFUSED.search(detail):
        step = "check the image's name, and imagePullSecrets if it is private"
        return Diagnosis(said, step, is_error=True, is_hopeless=True)
    return Diagnosis(said, "check the image's name and the registry", is_error=True)


def _diagnose_configuration(reason: str, message: str, change: str) -> Diagnosis:
    said = _plain(message) or reason
    if re.search(r"executable file not found|no such file or directory|permission denied", said):
        cause = f"the agent's command can't be started: {runtime_cause(said)}"
        return Diagnosis(cause, "check the entrypoint and the image", is_error=True, is_hopeless=True)
    if "runAsNonRoot" in said:
        return Diagnosis(
            f"the image wants to run as root, which the sandbox's security level forbids: {said}",
            "set runAsUser, or use an image with a numeric non-root user",
            is_error=True,
            is_hopeless=True,
        )
    if re.search(r"(secret|configmap) .*not found|couldn't find key", said):
        return Diagnosis(f"what the container's environment refers to is missing: {said}", None, is_error=True)
    return Diagnosis(f"the container can't be made ({reason}): {said}", change, is_error=True)


def _detail(message: str) -> str:
    """Cut the repeated prefixes of a pull error down to what went wrong."""
    return _PREFIXES.sub("", _BACK_OFF.sub("", _plain(message)))


def _plain(message: str) -> str:
    return " ".join(message.split())
