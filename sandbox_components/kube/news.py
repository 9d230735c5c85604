"""Events put as one line of news, for whoever waits."""

from __future__ import annotations

import re

from sandbox_components.kube.objects import Json, text
from sandbox_components.kube.probes import error_of

_TIME = re.compile(r" in ([0-9.]+m?s)\b")
_ASSIGNED = re.compile(r" to (\S+)$")


def headline(event: Json) -> str | None:
    """Return what an event means for someone who waits for an agent, None when it means nothing."""
    reason, message = text(event, "reason"), " ".join(text(event, "message").split())
    match reason:
        case "Scheduled":
            found = _ASSIGNED.search(message)
            return f"scheduled on node {found.group(1)}" if found else "scheduled"
        case "Provisioning" | "ExternalProvisioning":
            return "its volume is being made"
        case "ProvisioningSucceeded":
            return "claim bound"
        case "SuccessfulAttachVolume":
            return "volume attached"
        case "Pulling":
            return message[:1].lower() + message[1:]
        case "Pulled":
            if "already present" in message:
                return "the image is on the node already"
            took = _TIME.search(message)
            return f"image pulled in {took.group(1)}" if took else "image pulled"
        case "Started":
            return "started"
        case "Unhealthy":
            return f"the health check does not pass yet: {error_of(event)}"
        case "Killing":
            return message[:1].lower() + message[1:]
        case "FailedScheduling" | "ProvisioningFailed" | "FailedMount" | "FailedAttachVolume":
            return f"waits: {message}"
        case _:
            return None
