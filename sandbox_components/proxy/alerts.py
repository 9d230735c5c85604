"""Alerts: a Kubernetes Event on a limit's ConfigMap when 80 % of it are spent, and another one when all is.

An Event's name follows from limit, amount, period and threshold, so that each is made once, whichever replica comes
first and however often the proxy restarts. A limit that is raised can be neared anew.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sandbox_components.errors import SandboxError
from sandbox_components.kube import paths
from sandbox_components.kube.answers import Conflict
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import uid
from sandbox_components.ledger.model import Standing
from sandbox_components.spec.money import print_dollars
from sandbox_components.spec.spending import ALERT_REASONS

THRESHOLDS = (100, 80)
"""In percent, the highest first: who jumps over both hears of the highest alone."""
COMPONENT = "sandbox-proxy"


class Alerts:
    """Makes Events of limits that are near or at their end.

    Args:
        connect: makes a client of the cluster.
        namespace: the proxy's own, where the limits' ConfigMaps are.
        complain: gets what goes wrong; it is tried again with the next news.
    """

    def __init__(self, connect: Callable[[], Cluster], namespace: str, complain: Callable[[Exception], None]) -> None:
        self._connect = connect
        self._namespace = namespace
        self._complain = complain
        self._told: set[str] = set()

    async def tell(self, standings: Sequence[Standing]) -> None:
        """Make the Events that are due and not made yet."""
        due = {name: one for one in standings if (name := event_name(one)) is not None}
        self._told &= set(due)
        new = {name: one for name, one in due.items() if name not in self._told}
        if not new:
            return
        try:
            self._told |= await asyncio.to_thread(self._post, new)
        except SandboxError as error:
            self._complain(error)

    def _post(self, new: Mapping[str, Standing]) -> set[str]:
        done = set()
        with self._connect() as cluster:
            for name, one in new.items():
                config_map = cluster.find(paths.config_maps(self._namespace, one.limit.id))
                if config_map is not None:
                    try:
                        event = event_of(name, one, self._namespace, uid(config_map), datetime.now(UTC))
                        cluster.create(paths.events(self._namespace), event)
                    except Conflict:  # another replica, or this one before it was restarted
                        pass
                done.add(name)
        return done


def reached(one: Standing) -> int | None:
    """Return the highest threshold that is reached; None for a limit of nothing, which is reached from the start."""
    if one.limit.limit_nanos == 0:
        return None
    return next((at for at in THRESHOLDS if one.used_nanos * 100 >= one.limit.limit_nanos * at), None)


def event_name(one: Standing) -> str | None:
    """Return the name of the Event that is due for a limit, None while it isn't near its end."""
    at = reached(one)
    if at is None:
        return None
    what = f"{one.limit.limit_nanos} {one.begins_at.isoformat()} {at}"
    return f"{one.limit.id}.{hashlib.sha256(what.encode()).hexdigest()[:16]}"


def event_of(name: str, one: Standing, namespace: str, config_map_uid: str, now: datetime) -> dict[str, Any]:
    """Return the Event."""
    at, limit = reached(one), one.limit
    stamp = now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    ends = one.ends_at.astimezone(UTC).isoformat(timespec="minutes").replace("+00:00", "Z")
    whose = (
        limit.scope.actor_id
        if limit.scope.actor_type == "sandbox"
        else f"{limit.scope.actor_type} {limit.scope.actor_id}"
    )
    amounts = f"{print_dollars(one.used_nanos)} of {print_dollars(limit.limit_nanos)} a {limit.period}"
    then = f"calls are refused until {ends}; sandboxes keep running" if at == 100 else f"counting begins anew at {ends}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": limit.id,
            "namespace": namespace,
            "uid": config_map_uid,
        },
        "type": "Warning",
        "reason": ALERT_REASONS[100 if at == 100 else 80],
        "message": f"{whose} has spent {amounts}: {then}",
        "count": 1,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
    }
