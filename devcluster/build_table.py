"""The table of programs that are built here: from which module, with which flags, how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from devcluster import build_provider

KUBERNETES = "1.34.4"
PULUMI = "3.274.1"

_KUBERNETES_FLAGS = (
    f"-X k8s.io/component-base/version.gitVersion=v{KUBERNETES}",
    "-X k8s.io/component-base/version.gitMajor=1",
    "-X k8s.io/component-base/version.gitMinor=34",
    f"-X k8s.io/client-go/pkg/version.gitVersion=v{KUBERNETES}",
)


@dataclass(frozen=True)
class Tool:
    """A program that is built from a Go module when PATH has no fitting one.

    Attributes:
        name: the program's name.
        module: the folder under ``devcluster/tools``.
        package: what to build there.
        flags: linker flags beside ``-s -w`` (nothing here may change how packages compile: that would throw the
            whole Go build cache away).
        minutes: expected minutes on two cores, with nothing cached, in the order of the table.
        version_command: the arguments that make a ready one print its version; empty: never take a ready one.
        least: the lowest version that fits, inclusive.
        below: the first version that doesn't fit any more.
        prepare: makes a build folder outside the checkout for a program that needs generated files.
    """

    name: str
    module: str
    package: str
    flags: tuple[str, ...] = ()
    minutes: float = 1
    version_command: tuple[str, ...] = ("--version",)
    least: tuple[int, ...] = (0,)
    below: tuple[int, ...] = (99,)
    prepare: Callable[[Path, Path, Path], None] | None = None


def _kubernetes(name: str, minutes: float) -> Tool:
    """A Kubernetes program; kubectl may be one minor version off, the others talk to each other and may not."""
    kubectl = name == "kubectl"
    return Tool(
        name,
        "kubernetes",
        f"k8s.io/kubernetes/cmd/{name}",
        _KUBERNETES_FLAGS,
        minutes,
        ("version", "--client") if kubectl else ("--version",),
        (1, 33) if kubectl else (1, 34),
        (1, 36) if kubectl else (1, 35),
    )


# In the order of need: the demo needs all down to kube-router and coredns, the engine tests only kwok besides.
TOOLS = (
    Tool(
        "pulumi",
        "pulumi",
        "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        (f"-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{PULUMI}",),
        minutes=5,
        version_command=("version",),
        least=(3, 256),
        below=(4,),
    ),
    Tool("etcd", "etcd", "go.etcd.io/etcd/server/v3", minutes=1, least=(3, 5), below=(3, 7)),
    _kubernetes("kube-apiserver", 4),
    _kubernetes("kube-controller-manager", 1),
    _kubernetes("kube-scheduler", 0.2),
    _kubernetes("kubelet", 0.5),
    _kubernetes("kubectl", 0.5),
    _kubernetes("kube-proxy", 0.3),
    Tool(
        "pulumi-resource-kubernetes",
        "provider",
        ".",
        (f"-X github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version={build_provider.VERSION}",),
        minutes=9,
        version_command=(),
        prepare=build_provider.prepare,
    ),
    Tool("local-path-provisioner", "local-path", "github.com/rancher/local-path-provisioner", minutes=1.5),
    Tool("kube-router", "kube-router", "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router", minutes=2.5),
    Tool("coredns", "coredns", "github.com/coredns/coredns", minutes=2.5, version_command=("-version",)),
    Tool("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", minutes=2),
)
BY_NAME = {tool.name: tool for tool in TOOLS}


def select(names: Iterable[str] | None) -> list[Tool]:
    """The tools named by program or by module folder, in the order of need; None means all.

    Raises:
        ValueError: a name isn't in the table.
    """
    if names is None:
        return list(TOOLS)
    wanted = set(names)
    known = set(BY_NAME) | {tool.module for tool in TOOLS}
    if unknown := sorted(wanted - known):
        raise ValueError(f"unknown tool {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
    return [tool for tool in TOOLS if tool.name in wanted or tool.module in wanted]
