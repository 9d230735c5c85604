"""What the driver hands to the supervisor: a list of programs, what each waits for, and how its health shows.

Written as JSON into the cluster's folder. The supervisor runs inside the cluster with nothing but this file,
so that the driver may die at any moment without the cluster noticing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Check:
    """One question about the node, answered yes or no from inside it.

    Attributes:
        url: an http or https address that must answer 200.
        credentials: certificate and key files to present; empty presents none.
        authority: the file with the authority that must have signed the server's certificate; empty trusts any.
        holds: a text that the answer must contain.
        lacks: a text that the answer must not contain; empty allows all.
        socket: a Unix socket that must take connections.
        command: a command that must exit 0.
        once: the name of a once-only component that must have succeeded.
    """

    url: str = ""
    credentials: tuple[str, str] | None = None
    authority: str = ""
    holds: str = ""
    lacks: str = ""
    socket: str = ""
    command: tuple[str, ...] = ()
    once: str = ""

    def __str__(self) -> str:
        """What is asked, for a person."""
        once = f"{self.once} to have finished" if self.once else ""
        return self.url or self.socket or " ".join(self.command) or once


@dataclass(frozen=True)
class Component:
    """One program of the node.

    Attributes:
        name: also the name of its log file.
        command: program and arguments.
        after: all must hold before it is started.
        health: all must hold for it to count as healthy; none means that running, or having ended well, is
            enough.
        once: it ends by itself and is repeated only until it has succeeded.
    """

    name: str
    command: tuple[str, ...]
    after: tuple[Check, ...] = ()
    health: tuple[Check, ...] = ()
    once: bool = False


@dataclass(frozen=True)
class Plan:
    """All that happens inside the namespaces.

    Attributes:
        address: the node's end of the cable.
        gateway: the host's end of it.
        binds: folders of the host that appear at another path inside, as (folder, path).
        environment: the components' whole environment.
        components: in the order of the status; all are ended at once, etcd after them.
    """

    address: str
    gateway: str
    binds: tuple[tuple[str, str], ...]
    environment: dict[str, str]
    components: tuple[Component, ...] = field(default=())


def write(plan: Plan, path: Path) -> None:
    """Write the plan so that a reader sees all of it or the one before."""
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(plan), indent=1))
    temporary.replace(path)


def read(path: Path) -> Plan:
    """Read a plan back."""
    raw = json.loads(path.read_text())
    return Plan(
        address=raw["address"],
        gateway=raw["gateway"],
        binds=tuple((source, target) for source, target in raw["binds"]),
        environment=raw["environment"],
        components=tuple(_component(one) for one in raw["components"]),
    )


def _component(raw: dict[str, Any]) -> Component:
    return Component(
        name=raw["name"],
        command=tuple(raw["command"]),
        after=_checks(raw["after"]),
        health=_checks(raw["health"]),
        once=raw["once"],
    )


def _checks(raw: Sequence[dict[str, Any]]) -> tuple[Check, ...]:
    checks = []
    for one in raw:
        pair = one.pop("credentials")
        one["command"] = tuple(one["command"])
        checks.append(Check(**one, credentials=(pair[0], pair[1]) if pair else None))
    return tuple(checks)
