"""News for whoever waits: who gets them, and events put as one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from sandbox_components.kube.objects import Json, text
from sandbox_components.kube.probes import error_of

Report = Callable[[str, str], None]
"""Called with a sandbox's name and a line of news about it."""

_TIME = re.compile(r" in ([0-9.]+m?s)\b")
_ASSIGNED = re.compile(r" to (\S+)$")


def silent(name: str, message: str) -> None:
    """Report to nobody."""


def spoken(timeout: timedelta) -> str:
    """Return a timeout as it is typed."""
    seconds = int(timeout.total_seconds())
    return f"{seconds // 60}m" if seconds >= 60 and seconds % 60 == 0 else f"{seconds}s"


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
