"""What users write: one TypedDict an argument group, each field with meaning, default, range and what it restarts.

TypedDicts, because Pulumi's schema analyser reads them, so that users of YAML and other languages get the same
package. The analyser takes no string annotations: this module can't use `from __future__ import annotations`.
Values may be in snake_case or camelCase; they are checked in `sandbox_components.spec`.
"""

from typing import Any, NotRequired, TypedDict

import pulumi


class HttpGetArgs(TypedDict):
    """What a health check asks."""

    path: pulumi.Input[str]
    """Absolute path, such as `/healthz`; a status from 200 to 399 passes. A change restarts the agent."""
    port: float
    """Port of the container, 1 to 65535. A change restarts the agent."""


class HealthProbeArgs(TypedDict):
    """How the cluster finds out that the agent hangs. Ranges and defaults are the platform's documented ones."""

    type: str
    """`http`, or `none` to leave probing off."""
    http: NotRequired[HttpGetArgs]
    """Needed for `http`, refused for `none`."""
    interval_seconds: NotRequired[float]
    """Between two probes; 1 to 3600, default 10. A change restarts the agent."""
    initial_delay_seconds: NotRequired[float]
    """Before the first probe that can restart; 0 to 3600, default 30. A change restarts the agent."""
    timeout_seconds: NotRequired[float]
    """Until a probe counts as failed; 1 to 300, default 5. A change restarts the agent."""
    failure_threshold: NotRequired[float]
    """Failures in a row that restart the agent; 1 to 100, default 3. A change restarts the agent."""


class WorkspaceArgs(TypedDict):
    """The disk of a sandbox: what is under `mount_path` survives pause, resume and image upgrades."""

    mount_path: NotRequired[str]
    """Absolute; default `/workspace`. A change restarts the agent, the disk stays."""
    size: NotRequired[str]
    """Kubernetes quantity, such as `50Gi`; default: config `sandbox-components:agentVolumeSize`, else 10Gi.

    Grows in place without a restart where the class allows it; shrinking is refused by Kubernetes."""
    storage_class: NotRequired[str]
    """Default: config `sandbox-components:agentVolumeStorageClass`, else the cluster's default class.

    A change would replace the claim and lose the disk: with `deletion: protect` the engine refuses it."""
    existing_claim: NotRequired[str]
    """Use this claim, which nobody here creates or deletes; excludes size, storage_class and claim_name."""
    claim_name: NotRequired[str]
    """Kubernetes name of the claim; default `NAME-workspace`. Give the old one when a sandbox is renamed."""


class PersistentWorkspaceArgs(WorkspaceArgs):
    """A workspace that stands alone, outside of a `Sandbox`."""

    namespace: NotRequired[str]
    """Default: config `sandbox-components:namespace`, else `PROJECT-STACK`."""
    deletion: NotRequired[str]
    """`protect` (default): the engine refuses to delete or replace the claim; `delete`: it goes with the resource."""
    labels: NotRequired[dict[str, pulumi.Input[str]]]
    """On the claim's metadata; a change restarts nothing."""


class PortArgs(TypedDict):
    """A port that the sandbox exposes. Any change of ports restarts the agent and makes a revision."""

    port: float
    """1 to 65535."""
    name: NotRequired[str]
    """At most 15 lower-case letters, digits and `-`; default `port-NUMBER`."""
    protocol: NotRequired[str]
    """`TCP` (default) or `UDP`."""


class ExposeArgs(TypedDict):
    """Who reaches an exposed TCP port; a change restarts nothing."""

    visibility: str
    """`private`: inside the cluster. `public`: an Ingress, which needs host and tls_secret."""
    host: NotRequired[str]
    """DNS name of the Ingress."""
    tls_secret: NotRequired[str]
    """Name of the TLS Secret in the sandbox's namespace."""


class EgressPortArgs(TypedDict):
    """A destination port."""

    port: float
    """1 to 65535."""
    protocol: NotRequired[str]
    """`TCP` (default) or `UDP`."""


class EgressRuleArgs(TypedDict):
    """An address range that the sandbox may reach."""

    cidr: str
    """Such as `10.20.0.0/16`."""
    except_cidrs: NotRequired[list[str]]
    """Ranges inside `cidr` that stay refused."""
    ports: NotRequired[list[EgressPortArgs]]
    """Default: all."""


class ResourcesArgs(TypedDict):
    """CPU and memory. A change restarts the agent and makes a revision."""

    cpu: NotRequired[pulumi.Input[str]]
    """Cores or thousandths: `2`, `0.5`, `500m`."""
    memory: NotRequired[pulumi.Input[str]]
    """Bytes: `512Mi`, `2Gi`."""


class TolerationArgs(TypedDict):
    """A Kubernetes toleration. A change restarts the agent."""

    key: NotRequired[str]
    operator: NotRequired[str]
    value: NotRequired[str]
    effect: NotRequired[str]
    toleration_seconds: NotRequired[float]


class InferenceArgs(TypedDict):
    """Which inference proxy a sandbox talks to. All values must be plain."""

    namespace: str
    """The proxy's own namespace. A change restarts the agent."""
    name: str
    """Name of the `InferenceProxy`. A change restarts the agent."""
    port: NotRequired[float]
    """That it serves models at; default 8080. A change restarts the agent."""


class OwnLimitArgs(TypedDict):
    """What may be spent in a period: by the sandbox, or by the org, user or agent that pays for it."""

    actor_type: NotRequired[str]
    """`sandbox` (default), `agent`, `user` or `org`."""
    actor_id: NotRequired[str]
    """Default: the sandbox itself, or its own agent, user or org; it can be no other."""
    period: str
    """`day`, `week` (from Monday) or `month`."""
    time_zone: NotRequired[str]
    """IANA name in whose midnight the period ends; default UTC."""
    limit_cents: float
    """US cents; 0 blocks all calls. A change restarts nothing and is in force within seconds."""


class SpendingLimitArgs(TypedDict):
    """A limit that stands alone: of an org, user or agent, or of a sandbox of another stack."""

    namespace: str
    """Namespace of the inference proxy."""
    actor_type: str
    """`sandbox`, `agent`, `user` or `org`."""
    actor_id: str
    """`PROJECT/STACK/NAME` of a sandbox, else a name."""
    period: str
    """`day`, `week` (from Monday) or `month`."""
    time_zone: NotRequired[str]
    """IANA name in whose midnight the period ends; default UTC."""
    limit_cents: float
    """US cents; 0 blocks all calls."""
    labels: NotRequired[dict[str, pulumi.Input[str]]]
    """On the ConfigMap's metadata."""


class UpstreamArgs(TypedDict):
    """A provider of models."""

    name: str
    """Of ours, in the ledger and in metrics."""
    api: str
    """`openai` or `anthropic`: whose format it speaks."""
    base_url: str
    """Such as `https://api.openai.com`, without `/v1`."""
    key: pulumi.Input[str]
    """The provider's key: an Output of a secret. It is in the proxy's Secret and nowhere else."""
    models: NotRequired[list[str]]
    """Shell patterns of the models that it serves; default all that have a price."""


class StorageArgs(TypedDict):
    """The claim of the ledger's SQLite file."""

    size: NotRequired[str]
    """Kubernetes quantity; default 2Gi, some ten million calls. Grows in place."""
    storage_class: NotRequired[str]
    """Default: config `sandbox-components:agentVolumeStorageClass`, else the cluster's default class."""


class PayerLimitArgs(TypedDict):
    """A limit of an org, user or agent over all sandboxes that it pays for."""

    actor_type: str
    """`org`, `user` or `agent`."""
    actor_id: str
    """Its name, as sandboxes have it in `org`, `user` or `agent`."""
    period: str
    """`day`, `week` (from Monday) or `month`."""
    time_zone: NotRequired[str]
    """IANA name in whose midnight the period ends; default UTC."""
    limit_cents: float
    """US cents; 0 blocks all calls."""


class InferenceProxyArgs(TypedDict):
    """Arguments of `InferenceProxy`. Unless said otherwise a change makes the proxy's pods anew, no sandbox."""

    namespace: str
    """Existing namespace of its own: whoever may write ConfigMaps there sets limits."""
    image: pulumi.Input[str]
    """Image with this package, the extra `proxy` and the command `sandbox`."""
    upstreams: list[UpstreamArgs]
    """Providers; the first that serves a model gets the call."""
    signing_key: NotRequired[pulumi.Input[str]]
    """Of sandboxes' keys; default: secret config `sandbox-components:inferenceSigningKey`."""
    database_url: NotRequired[pulumi.Input[str]]
    """`postgresql://USER:PASSWORD@HOST/NAME`, a secret; default: a SQLite file on a claim, for one replica."""
    replicas: NotRequired[float]
    """1 (default) to 20; more than one needs `database_url`."""
    storage: NotRequired[StorageArgs]
    """The claim of the SQLite file."""
    port: NotRequired[float]
    """Where sandboxes reach models, in Service and pods; default 8080."""
    admin_port: NotRequired[float]
    """Metrics, probes and what was spent; default 8081. No sandbox's policy leads there."""
    admin_namespaces: NotRequired[list[str]]
    """Whose pods reach the admin port; default `kube-system`, where agents of a hosted API server are."""
    admin_cidrs: NotRequired[list[str]]
    """Addresses that reach it: the API server's, where `sandbox spend` can't reach the proxy otherwise."""
    resource_limits: NotRequired[ResourcesArgs]
    """Default: 2 cores, 1Gi."""
    resource_requests: NotRequired[ResourcesArgs]
    """Default: 250m, 256Mi."""
    spending_limits: NotRequired[list[PayerLimitArgs]]
    """Limits of orgs, users and agents. A change makes no pod anew and is in force within seconds."""
    request_limits: NotRequired[dict[str, float]]
    """Bounds of requests, `limits` in the proxy's settings, such as `bodyBytes`."""
    timeouts: NotRequired[dict[str, float]]
    """Seconds, `timeouts` in the proxy's settings."""
    prices: NotRequired[dict[str, Any]]
    """The operator's own, `prices` in the proxy's settings: they come before the bundled ones."""
    image_pull_secrets: NotRequired[list[str]]
    """Names of existing pull Secrets in the namespace."""
    node_selector: NotRequired[dict[str, str]]
    """Labels that the node must have."""
    labels: NotRequired[dict[str, str]]
    """On the objects' metadata, never on the pods."""
    deletion: NotRequired[str]
    """`protect` (default): the engine refuses to delete or replace the ledger's claim; `delete`: it goes too."""
    wait_for_ready: NotRequired[bool]
    """Let `pulumi up` wait until the pods are Ready; default false."""


class ImageAuthArgs(TypedDict):
    """A credential of the image's registry, kept in a pull Secret that is new whenever the credential is."""

    username: pulumi.Input[str]
    """Such as a robot account's name. A change restarts the agent, without a revision."""
    password: pulumi.Input[str]
    """Password or token: an Output of a secret. A change restarts the agent, without a revision."""


class SandboxArgs(TypedDict):
    """Arguments of `Sandbox`. The six groups image, command, resources, env, health check and ports make revisions."""

    image: pulumi.Input[str]
    """Image reference, `HOST/PATH:TAG` or with a digest. A change restarts the agent and makes a revision."""
    image_auth: NotRequired[ImageAuthArgs]
    """Credential of the image's registry, used besides `image_pull_secrets`; requests write it as `image.auth`."""
    entrypoint: NotRequired[list[pulumi.Input[str]]]
    """Exact arguments of the first process; TERM goes to it. A change restarts. Excludes `command`."""
    command: NotRequired[pulumi.Input[str]]
    """One shell line, run by the image's `/bin/sh`; TERM goes to all of its processes. A change restarts.

    Without entrypoint and command the image's own entrypoint runs."""
    resource_limits: ResourcesArgs
    """CPU and memory, both needed."""
    resource_requests: NotRequired[ResourcesArgs]
    """What the scheduler reserves; default: the limits. A change restarts and makes a revision."""
    env: NotRequired[dict[str, pulumi.Input[str]]]
    """Variables. A plain string stays plain; any Output goes into a Secret. A change restarts and makes a revision."""
    workspace: NotRequired[WorkspaceArgs]
    """The disk that survives; default: none, the mount path then holds scratch that ends with the pod."""
    health_check: NotRequired[HealthProbeArgs]
    """Default: none. A change restarts and makes a revision."""
    ports: NotRequired[list[PortArgs]]
    """Exposed ports; only these accept connections. A change restarts and makes a revision."""
    expose: NotRequired[dict[str, ExposeArgs]]
    """Port number → who reaches it; default: private."""
    labels: NotRequired[dict[str, pulumi.Input[str]]]
    """On the objects' metadata, never on the pod. A change restarts nothing."""
    egress: NotRequired[str]
    """`internet` (default: public addresses only) or `none` (DNS only). A change restarts nothing."""
    egress_rules: NotRequired[list[EgressRuleArgs]]
    """Instead of `egress`: exactly these ranges, besides DNS. A change restarts nothing."""
    runtime_class: NotRequired[str]
    """Kubernetes RuntimeClass, such as `gvisor`. A change restarts."""
    security: NotRequired[str]
    """`restricted` (default) or `baseline`, the Pod Security level that the pod keeps to. A change restarts."""
    run_as_user: NotRequired[float]
    """User, group and fsGroup id; default 1000; 0 only with `baseline`. A change restarts."""
    termination_grace_period_seconds: NotRequired[float]
    """Time to checkpoint after TERM, 0 to 86400 seconds; default 30. A change restarts."""
    node_selector: NotRequired[dict[str, str]]
    """Labels that the node must have. A change restarts."""
    tolerations: NotRequired[list[TolerationArgs]]
    """Taints that the pod tolerates. A change restarts."""
    image_pull_secrets: NotRequired[list[str]]
    """Names of existing pull Secrets in the namespace. A change restarts."""
    image_pull_policy: NotRequired[str]
    """`Always`, `IfNotPresent` or `Never`; default: Always for `:latest` and untagged, else IfNotPresent."""
    deletion: NotRequired[str]
    """`protect` (default): the engine refuses to delete or replace the claim; `delete`: it goes with the sandbox."""
    wait_for_ready: NotRequired[bool]
    """Let `pulumi up` wait until the pod is Ready; default false, so that one sick agent blocks nobody."""
    inference: NotRequired[InferenceArgs]
    """The inference proxy; gives the agent OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL.

    Needs secret config `sandbox-components:inferenceSigningKey`. A change restarts, without a revision."""
    spending_limits: NotRequired[list[OwnLimitArgs]]
    """What it may spend; needs `inference`. A change restarts nothing."""
    org: NotRequired[str]
    """Who pays besides the sandbox itself, for limits of an org; likewise `user` and `agent`. Restarts nothing."""
    user: NotRequired[str]
    """See `org`."""
    agent: NotRequired[str]
    """See `org`."""
    key_generation: NotRequired[float]
    """Of the key for the proxy, from 1 (default): a higher one makes the older keys worthless. A change restarts."""
    namespace: NotRequired[str]
    """Existing namespace; default: config `sandbox-components:namespace`, else `PROJECT-STACK`."""
