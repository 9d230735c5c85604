"""The main program: every sandbox that the stack's config declares, in a namespace of the stack's own.

What differs between stacks (class, size, deletion, limits) stands in `programs/config/Pulumi.<stack>.yaml`.
"""

import pulumi
import pulumi_kubernetes as kubernetes

from sandbox_components import Sandbox, StackConfig

config = StackConfig.read()
namespace = kubernetes.core.v1.Namespace(
    "namespace",
    metadata={
        "name": config.namespace,
        "labels": {"pod-security.kubernetes.io/enforce": config.pod_security},
    },
    opts=pulumi.ResourceOptions(protect=config.protects_a_disk),
)
for name, args in config.sandboxes.items():
    sandbox = Sandbox(name, args, pulumi.ResourceOptions(depends_on=[namespace]))
    pulumi.export(name, {"namespace": sandbox.namespace, "endpoints": sandbox.endpoints, "claim": sandbox.claim_name})
