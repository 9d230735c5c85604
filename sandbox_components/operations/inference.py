"""Where a sandbox's inference proxy is, and the key that may ask it what was spent.

The proxy stands in an annotation of the sandbox; the key follows from the signing key, a secret of the stack's config.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sandbox_components.errors import InvalidInput, NotFound, SandboxError
from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import Json, dig
from sandbox_components.kube.service_proxy import ask
from sandbox_components.kube.snapshot import read_statefulset
from sandbox_components.manifests.identity import proxy_of
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.project import CONFIG
from sandbox_components.spec import naming
from sandbox_components.spec.inference import ADMIN_PORT_NAME
from sandbox_components.spec.inference_key import make_read_key, signing_key

KEY_HEADER = "x-sandbox-admin-key"
SIGNING_KEY = f"{CONFIG}:inferenceSigningKey"


@dataclass(frozen=True, slots=True)
class Actor:
    """Whose spending is meant: a sandbox by its id, an org, user or agent by its name."""

    actor_type: str
    actor_id: str

    @property
    def shown(self) -> str:
        """How it is told of."""
        return self.actor_id if self.actor_type == "sandbox" else f"{self.actor_type} {self.actor_id}"


@dataclass(frozen=True, slots=True)
class Proxy:
    """An inference proxy in the cluster."""

    namespace: str
    name: str

    @staticmethod
    def named(given: str) -> Proxy:
        """Read `NAMESPACE/NAME`.

        Raises:
            InvalidInput: it is something else.
        """
        found = proxy_of({naming.INFERENCE_ANNOTATION: given})
        if found is None:
            raise InvalidInput("--proxy", f'"{given}" is not NAMESPACE/NAME of an inference proxy')
        return Proxy(*found)


def actor_and_proxy(cluster: Cluster, namespace: str, name: str) -> tuple[Actor, Proxy]:
    """Return a sandbox as who spends, and the proxy that it talks to.

    Raises:
        NotFound: there is no such sandbox, or it has no inference.
    """
    notes = dig(read_statefulset(cluster, namespace, name), "metadata", "annotations") or {}
    found = proxy_of(notes)
    project, stack = (str(notes.get(key) or "") for key in (naming.PROJECT_ANNOTATION, naming.STACK_ANNOTATION))
    if found is None or not project or not stack:
        raise NotFound(
            f'sandbox "{name}" in namespace "{namespace}" has no inference, so nothing is known of its spending',
            suggestions=["give it inference: {namespace, name} of an inference proxy"],
        )
    return Actor("sandbox", naming.sandbox_id(project, stack, name)), Proxy(*found)


def proxies_in(cluster: Cluster, namespace: str) -> list[Proxy]:
    """Return the proxies that the sandboxes of a namespace talk to, by name.

    Raises:
        SandboxError: the sandboxes can't be listed.
    """
    there = cluster.list_all(paths.statefulsets(namespace), {"labelSelector": naming.SANDBOX_LABEL})
    found = {proxy_of(dig(one, "metadata", "annotations") or {}) for one in there}
    return [Proxy(*one) for one in sorted(one for one in found if one is not None)]


def only_proxy(cluster: Cluster, namespace: str) -> Proxy:
    """Return the proxy that the sandboxes of a namespace talk to.

    Raises:
        NotFound: none of them talks to one.
        InvalidInput: they talk to several.
    """
    found = proxies_in(cluster, namespace)
    if not found:
        raise NotFound(
            f'no sandbox in namespace "{namespace}" has inference',
            suggestions=["--proxy NAMESPACE/NAME", "-n NAMESPACE"],
        )
    if len(found) > 1:
        names = ", ".join(f"{one.namespace}/{one.name}" for one in found)
        raise InvalidInput("--proxy", f"is needed: the sandboxes talk to several, {names}")
    return found[0]


def read_key_of(engine: Engine) -> str:
    """Return the key that reads spending, out of the stack's secret config.

    Raises:
        SandboxError: the config has no signing key, or can't be decrypted.
    """
    try:
        found = engine.read("config", "get", SIGNING_KEY)
    except SandboxError as error:
        if "not found" not in error.message:
            raise
        raise NotFound(
            f"stack {engine.stack} has no {SIGNING_KEY}, which the key for reading is made of",
            suggestions=[
                f"pulumi config get {SIGNING_KEY} --stack STACK-OF-THE-PROXY"
                f" | pulumi config set --secret {SIGNING_KEY} --stack {engine.stack}"
            ],
        ) from None
    return make_read_key(signing_key(found.strip(), SIGNING_KEY))


def ask_proxy(cluster: Cluster, proxy: Proxy, read_key: str, path: str, params: dict[str, Any]) -> Json:
    """Return what the proxy's admin port answers.

    Raises:
        SandboxError: it refuses, or can't be reached.
    """
    headers = {KEY_HEADER: read_key}
    try:
        return ask(cluster, proxy.namespace, proxy.name, ADMIN_PORT_NAME, path, params=params, headers=headers)
    except SandboxError as error:
        if error.code == "access_denied" and "read key" in error.message:
            error.suggestions = (f"the stack's {SIGNING_KEY} must be the proxy's own",)
        raise
