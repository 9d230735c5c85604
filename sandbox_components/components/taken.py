"""Names that a program has given away: a second object of that name would take over the first one's."""

from __future__ import annotations

import json

import pulumi

from sandbox_components.errors import InvalidInput
from sandbox_components.manifests.placement import Placement

_TAKEN = "_sandbox_components_taken"


def take_name(placement: Placement) -> None:
    """Take the sandbox's name in its namespace.

    Raises:
        InvalidInput: another sandbox of this program has it.
    """
    name, namespace = placement.name, placement.namespace
    _take("sandbox", namespace, name, "name", f'a sandbox "{name}" is declared already in namespace "{namespace}"')


def take_proxy(placement: Placement) -> None:
    """Take an inference proxy's name in its namespace.

    Raises:
        InvalidInput: another proxy of this program has it.
    """
    name, namespace = placement.name, placement.namespace
    problem = f'an inference proxy "{name}" is declared already in namespace "{namespace}"'
    _take("proxy", namespace, name, "name", problem)


def is_made(name: str) -> bool:
    """Tell whether this program has made a sandbox of that name, in whatever namespace."""
    taken: set[str] = getattr(pulumi.runtime.get_root_resource(), _TAKEN, set())
    return any(kind == "sandbox" and one == name for kind, _, one in map(json.loads, taken))


def take_claim(namespace: str, claim: str, field: str) -> None:
    """Take the name of a claim that is to be made.

    Raises:
        InvalidInput: another workspace of this program makes it.
    """
    problem = f'"{claim}" in namespace "{namespace}" is made by another workspace: a disk has one sandbox'
    _take("claim", namespace, claim, field, problem)


def _take(kind: str, namespace: str, name: str, field: str, problem: str) -> None:
    root = pulumi.runtime.get_root_resource()
    taken: set[str] = getattr(root, _TAKEN, set())
    key = json.dumps([kind, namespace, name])
    if key in taken:
        raise InvalidInput(field, problem)
    if root is not None:
        setattr(root, _TAKEN, taken | {key})
