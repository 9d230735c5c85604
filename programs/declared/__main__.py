"""A program that declares its sandbox in Python: for those who prefer code to config.

The command's `update` and `delete` then point here instead of editing; pause and resume work all the same.
"""

import pulumi
import pulumi_kubernetes as kubernetes

from sandbox_components import Sandbox, StackConfig

config = StackConfig.read()
namespace = kubernetes.core.v1.Namespace(
    "namespace",
    metadata={"name": config.namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
)
agent = Sandbox(
    "counter",
    {
        "image": "localhost:5000/python:3.11",
        "command": 'while true; do n=$((n + 1)); echo "step=$n" | tee -a "$HOME/steps"; sleep 1; done',
        "resource_limits": {"cpu": "100m", "memory": "64Mi"},
        "workspace": {"mount_path": "/workspace", "size": "1Gi"},
        "labels": {"team": "demo"},
        "deletion": "delete",
    },
    pulumi.ResourceOptions(depends_on=[namespace]),
)
pulumi.export("sandbox", agent.sandbox_id)
