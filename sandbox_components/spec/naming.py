"""Names, labels and annotation keys: the words that objects of one sandbox are found by.

They are a public contract: a Kubernetes name equals the Pulumi resource name and never changes once released,
because a renamed claim is a lost disk.
"""

from __future__ import annotations

import re

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.shown import in_quotes, show

PREFIX = "sandbox-components/"
SANDBOX_LABEL = PREFIX + "sandbox"
PROJECT_ANNOTATION = PREFIX + "project"
STACK_ANNOTATION = PREFIX + "stack"
SPEC_ANNOTATION = PREFIX + "spec"
INFERENCE_ANNOTATION = PREFIX + "inference"
"""On a sandbox's StatefulSet: `NAMESPACE/NAME` of the inference proxy that it talks to."""
PROXY_LABEL = PREFIX + "proxy"
"""On the pods of an inference proxy, with its name; what selectors and sandboxes' policies go by."""
LIMIT_LABEL = PREFIX + "limit"
"""On a spending limit that belongs to no sandbox and no proxy, with its name."""
PAUSE_ANNOTATION = PREFIX + "pause"
"""Written by `sandbox pause` under its own field manager: JSON of who, when, why and what was last seen."""

FIELD_MANAGER = "sandbox-components"
"""Field manager of the command. A name that begins with `kubectl` or `pulumi-` would be absorbed by the provider."""
MANAGED_BY = "sandbox-components"
CONTAINER = "agent"
COMPONENT_LABEL_VALUE = "sandbox"
PROXY_COMPONENT = "inference-proxy"

OWN_LABELS = (PREFIX, "app.kubernetes.io/")
"""What the keys of our own labels begin with; users' don't."""

NAME_MAX_LENGTH = 52
"""The StatefulSet controller puts `NAME-HASH` (11 characters more) into a pod label of at most 63."""

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def check_name(name: object, field: str = "name") -> str:
    """Return `name` if it can name a sandbox: DNS-1035, at most 52 characters.

    Raises:
        InvalidInput: with the reason, and a spelling that would do where there is one.
    """
    if not isinstance(name, str):
        raise InvalidInput(field, f"{show(name)} is not a string{in_quotes(name)}")
    if len(name) > NAME_MAX_LENGTH:
        raise InvalidInput(
            field,
            f"{show(name)} has {len(name)} characters, at most {NAME_MAX_LENGTH} are accepted "
            "(Kubernetes adds a hash to it in a label)",
        )
    if not _NAME.fullmatch(name):
        suggestion = re.sub(r"-+", "-", re.sub(r"[^a-z0-9-]", "-", name.lower())).strip("-")
        if suggestion and not suggestion[0].isalpha():
            suggestion = f"s-{suggestion}"
        raise InvalidInput(
            field,
            f'{show(name)} is not a sandbox name: lower-case letters a-z, digits and "-", beginning with a letter and '
            "ending with a letter or digit",
            suggestions=[suggestion] if suggestion and _NAME.fullmatch(suggestion) else [],
        )
    return name


def check_label(key: object, value: object, field: str = "labels") -> str:
    """Return the label's value if key and value are ones that Kubernetes takes and that aren't ours.

    Raises:
        InvalidInput: naming the key.
    """
    if not isinstance(key, str):
        raise InvalidInput(field, f"the key {show(key)} is not a string{in_quotes(key)}")
    path = f"{field}.{key}" if len(key) <= 80 else f"{field}.{key[:80]}..."
    if key.startswith(OWN_LABELS):
        raise InvalidInput(path, "the prefixes sandbox-components/ and app.kubernetes.io/ are ours: use another")
    if not is_label_key(key):
        raise InvalidInput(
            path,
            f'{show(key)} is not a label key: [DNS name/]name of at most 63 letters, digits, "-", "_" and "."',
        )
    if not isinstance(value, str):
        raise InvalidInput(path, f"{show(value)} is not a string{in_quotes(value)}")
    if not is_label_text(value, empty=True):
        raise InvalidInput(
            path,
            f'{show(value)} is not a label value: at most 63 letters, digits, "-", "_" and ".", '
            "beginning and ending with a letter or digit",
        )
    return value


def is_dns_subdomain(name: str) -> bool:
    """Tell whether `name` is a DNS-1123 subdomain, as class, host, secret and namespace-like names are."""
    return len(name) <= 253 and bool(_DNS_SUBDOMAIN.fullmatch(name))


def is_label_key(key: str) -> bool:
    """Tell whether `key` can be a label's key: a name, or a DNS name, a slash and a name."""
    prefix, slash, name = key.rpartition("/")
    return is_label_text(name, empty=False) and (not slash or is_dns_subdomain(prefix))


def is_label_text(text: str, *, empty: bool) -> bool:
    """Tell whether `text` can be a label's name (`empty=False`) or value (`empty=True`)."""
    return (empty and not text) or (len(text) <= 63 and bool(_LABEL_NAME.fullmatch(text)))


def is_dns_label(name: str) -> bool:
    """Tell whether `name` is a DNS-1123 label, as namespaces are."""
    return len(name) <= 63 and "." not in name and bool(_DNS_SUBDOMAIN.fullmatch(name))


def stack_namespace(project: str, stack: str, configured: str | None) -> str:
    """Namespace of a stack's sandboxes: what its config names, else `PROJECT-STACK`, without an organisation."""
    return configured or f"{project}-{stack.rsplit('/', 1)[-1]}".lower()


def claim_name(sandbox: str) -> str:
    """Name of the sandbox's PersistentVolumeClaim."""
    return f"{sandbox}-workspace"


def headless_service_name(sandbox: str) -> str:
    """Name of the headless Service that gives the pod its stable DNS name."""
    return f"{sandbox}-headless"


def pod_name(sandbox: str) -> str:
    """Name of the sandbox's one pod."""
    return f"{sandbox}-0"


def sandbox_id(project: str, stack: str, name: str) -> str:
    """The id that survives delete and re-create, and by which spend is counted."""
    return f"{project}/{stack}/{name}"
