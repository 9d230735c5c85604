"""What users write: one TypedDict an argument group, each field with meaning, default, range and what it restarts.

TypedDicts, because Pulumi's schema analyser reads them, so that users of YAML and other languages get the same
package. The analyser takes no string annotations: this module can't use `from __future__ import annotations`.
Values may be in snake_case or camelCase; they are checked in `sandbox_components.spec`.
"""

from typing import NotRequired, TypedDict

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
    namespace: NotRequired[str]
    """Existing namespace; default: config `sandbox-components:namespace`, else `PROJECT-STACK`."""
