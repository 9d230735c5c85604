"""The pause annotation: who paused or resumed, when, why, and what was last seen of the agent.

It only explains. Whether a sandbox is paused is read from the live replicas, so a plain `kubectl scale` counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sandbox_components.kube.objects import Json, dig, moment
from sandbox_components.kube.observation import ExitStatus
from sandbox_components.spec.naming import PAUSE_ANNOTATION

VERSION = 1


@dataclass(frozen=True)
class Record:
    """The annotation's content, `v: 1`."""

    mode: str
    """Paused or Running: what the command asked for."""
    by: str | None = None
    at: datetime | None = None
    reason: str | None = None
    generation: int | None = None
    """The StatefulSet's generation that the scaling makes: a later one means that it was changed since."""
    exit_status: ExitStatus | None = None
    image_digest: str | None = None
    started_at: datetime | None = None
    last_activity_at: datetime | None = None
    restart_count: int = 0
    last_error: str | None = None

    def dump(self) -> str:
        """Return the annotation's value: JSON without what isn't known."""
        status = self.exit_status
        wire: dict[str, Any] = {
            "v": VERSION,
            "mode": self.mode,
            "by": self.by,
            "at": _stamp(self.at),
            "reason": self.reason,
            "generation": self.generation,
            "exitStatus": None if status is None else {"code": status.code, "signal": status.signal},
            "imageDigest": self.image_digest,
            "startedAt": _stamp(self.started_at),
            "lastActivityAt": _stamp(self.last_activity_at),
            "restartCount": self.restart_count or None,
            "lastError": self.last_error,
        }
        return json.dumps({key: value for key, value in wire.items() if value is not None}, ensure_ascii=False)


def read(statefulset: Json) -> Record | None:
    """Return the StatefulSet's record, None when there is none or it can't be understood."""
    raw = dig(statefulset, "metadata", "annotations", PAUSE_ANNOTATION)
    try:
        wire = json.loads(raw) if isinstance(raw, str) else None
    except ValueError:
        return None
    if not isinstance(wire, dict) or wire.get("mode") not in ("Paused", "Running"):
        return None
    code = dig(wire, "exitStatus", "code")
    return Record(
        mode=wire["mode"],
        by=_string(wire, "by"),
        at=moment(wire.get("at")),
        reason=_string(wire, "reason"),
        generation=_integer(wire, "generation"),
        exit_status=ExitStatus(code, _string(wire["exitStatus"], "signal")) if isinstance(code, int) else None,
        image_digest=_string(wire, "imageDigest"),
        started_at=moment(wire.get("startedAt")),
        last_activity_at=moment(wire.get("lastActivityAt")),
        restart_count=_integer(wire, "restartCount") or 0,
        last_error=_string(wire, "lastError"),
    )


def _string(wire: Json, key: str) -> str | None:
    value = wire.get(key)
    return value if isinstance(value, str) else None


def _integer(wire: Json, key: str) -> int | None:
    value = wire.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _stamp(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
