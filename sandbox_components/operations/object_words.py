"""What a sandbox's objects declare, in the words of its config: what each kind's inputs say, put together.

The inverse of rendering them. What several objects carry alike, such as labels, is there once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_components.manifests.placement import SKIP_AWAIT
from sandbox_components.manifests.policy import PRIVATE_RANGES_V4, PRIVATE_RANGES_V6
from sandbox_components.manifests.reading import UNKNOWN, read_workload
from sandbox_components.operations.plan import STATEFUL_SET, Step
from sandbox_components.spec import naming

POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
SECRET = "kubernetes:core/v1:Secret"
INGRESS = "kubernetes:networking.k8s.io/v1:Ingress"
_VERSION_LABEL = "app.kubernetes.io/version"


def words_of(own: Sequence[Step], side: str, *, with_template: bool = True) -> dict[str, Any]:
    """Return all that one side declares; what several objects carry alike is there once."""
    words: dict[str, Any] = {}
    for step in own:
        inputs: Mapping[str, Any] = getattr(step, side)
        if step.type == STATEFUL_SET and inputs:
            words |= _template_words(inputs) if with_template else {}
            words |= metadata_words(inputs)
        if step.type == POLICY and inputs:
            words |= _egress(inputs)
        if step.type == INGRESS:
            words["expose"] = _expose(inputs)
    made_up = {_name(getattr(step, side)) for step in own if step.type == SECRET and step.name.endswith("-pull")}
    listed = words.get("imagePullSecrets")
    if made_up and isinstance(listed, list):  # that Secret is told of as `imageAuth`
        words["imagePullSecrets"] = [name for name in listed if name not in (*made_up, UNKNOWN)] or None
    return words


def _template_words(inputs: Mapping[str, Any]) -> dict[str, Any]:
    found = read_workload(inputs)
    beside = {f"spec.{key}": value for key, value in mapping(inputs.get("spec")).items() if key != "template"}
    return {**found.words, "mountPath": found.mount_path, **beside}


def metadata_words(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an object is called, where it is, and what it is marked with."""
    metadata = mapping(inputs.get("metadata"))
    if not metadata:
        return {}
    labels, notes = mapping(metadata.get("labels")), dict(mapping(metadata.get("annotations")))
    notes.pop(naming.SPEC_ANNOTATION, None)
    return {
        "name": metadata.get("name"),
        "namespace": metadata.get("namespace"),
        "packageVersion": labels.get(_VERSION_LABEL),
        "labels": {key: value for key, value in labels.items() if key != _VERSION_LABEL},
        "waitForReady": notes.pop(SKIP_AWAIT, None) is None,
        "annotations": notes,
    }


def _egress(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Read the policy's egress: `internet`, `none`, or the rules; ranges blocked beyond the usual ones apart."""
    rules = mapping(inputs.get("spec")).get("egress")
    if not isinstance(rules, list) or not rules:
        return {"egress": rules}
    named = rules[1:]  # the first is the cluster's DNS
    blocks = [mapping(_first(mapping(rule).get("to"))).get("ipBlock") for rule in named]
    ranges: dict[Any, Any] = {mapping(block).get("cidr"): mapping(block).get("except") for block in blocks}
    usual = {"0.0.0.0/0": PRIVATE_RANGES_V4, "::/0": PRIVATE_RANGES_V6}
    besides = {key: ranges[key] for key in usual if isinstance(ranges.get(key), list)}
    if set(ranges) == set(besides) == set(usual) and all(set(usual[key]) <= set(besides[key]) for key in usual):
        blocked = [one for key, listed in besides.items() for one in listed if one not in usual[key]]
        return {"egress": "internet", "blockedCidrs": blocked or None}
    return {"egress": [_rule(rule) for rule in named] or "none"}


def _rule(rule: object) -> Any:
    block = mapping(mapping(_first(mapping(rule).get("to"))).get("ipBlock"))
    if not block:
        return rule
    ports = [f"{mapping(one).get('port')}/{mapping(one).get('protocol')}" for one in mapping(rule).get("ports") or []]
    parts = {"cidr": block.get("cidr"), "exceptCidrs": block.get("except"), "ports": ports}
    return {key: value for key, value in parts.items() if value}


def _expose(inputs: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for rule in mapping(inputs.get("spec")).get("rules") or []:
        path = mapping(_first(mapping(mapping(rule).get("http")).get("paths")))
        number = mapping(mapping(mapping(path.get("backend")).get("service")).get("port")).get("number")
        found[str(number)] = f"public at {mapping(rule).get('host')}"
    return found


def mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping as it is, and anything else as an empty one."""
    return value if isinstance(value, Mapping) else {}


def _name(inputs: Mapping[str, Any]) -> Any:
    return mapping(inputs.get("metadata")).get("name")


def _first(value: object) -> Any:
    return value[0] if isinstance(value, list) and value else None
