"""What a sandbox's objects declare, in the words of its config: what each kind's inputs say, put together.

The inverse of rendering them. What several objects carry alike, such as labels, is there once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_components.errors import InvalidInput
from sandbox_components.manifests.placement import SKIP_AWAIT
from sandbox_components.manifests.policy import PRIVATE_RANGES_V4, PRIVATE_RANGES_V6
from sandbox_components.manifests.reading import UNKNOWN, read_workload
from sandbox_components.operations.plan import STATEFUL_SET, Step
from sandbox_components.spec import naming
from sandbox_components.spec.identity import IDENTITY_ANNOTATION, parse_identity
from sandbox_components.spec.money import from_cents, print_dollars
from sandbox_components.spec.period import DEFAULT_ZONE
from sandbox_components.spec.spending import LIMIT_ANNOTATION, parse_limit

POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
SECRET = "kubernetes:core/v1:Secret"
INGRESS = "kubernetes:networking.k8s.io/v1:Ingress"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
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
        if step.type == CONFIG_MAP and inputs:
            _add_spending(words, mapping(mapping(inputs.get("metadata")).get("annotations")))
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
    notes.pop(naming.INFERENCE_ANNOTATION, None)  # the policy says it too, with the port
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
    proxies = [found for found in map(_proxy, rules[1:]) if found is not None]
    named = [rule for rule in rules[1:] if _proxy(rule) is None]  # the first is the cluster's DNS
    return {**_named_egress(named), **({"inference": proxies[0]} if proxies else {})}


def _proxy(rule: object) -> str | None:
    """Return which inference proxy a rule leads to, as NAMESPACE/NAME:PORT."""
    peer = mapping(_first(mapping(rule).get("to")))
    namespace = mapping(mapping(peer.get("namespaceSelector")).get("matchLabels")).get("kubernetes.io/metadata.name")
    name = mapping(mapping(peer.get("podSelector")).get("matchLabels")).get(naming.PROXY_LABEL)
    port = mapping(_first(mapping(rule).get("ports"))).get("port")
    return None if name is None else f"{namespace}/{name}:{port}"


def _named_egress(named: Sequence[object]) -> dict[str, Any]:
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


def _add_spending(words: dict[str, Any], notes: Mapping[str, Any]) -> None:
    """Add what a ConfigMap in the inference proxy's namespace says: who a sandbox is, or what may be spent."""
    try:
        if IDENTITY_ANNOTATION in notes:
            identity = parse_identity(str(notes[IDENTITY_ANNOTATION]))
            words |= {kind: name for kind, name in identity.payers() if kind != "sandbox"}
            words["keyGeneration"] = identity.generation
        if LIMIT_ANNOTATION in notes:
            limit = parse_limit(str(notes[LIMIT_ANNOTATION]))
            whose = limit.period if limit.actor_type == "sandbox" else f"{limit.actor_type}.{limit.period}"
            zone = "" if limit.time_zone == DEFAULT_ZONE else f" in {limit.time_zone}"
            amount = print_dollars(from_cents(limit.limit_cents))
            words.setdefault("spendingLimits", {})[whose] = f"{amount} a {limit.period}{zone}"
    except InvalidInput:  # of a newer release, or written by hand
        words.update({f"annotations.{key}": value for key, value in notes.items()})


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
