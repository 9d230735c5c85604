"""Where things lie: one folder a cluster, so that deleting the folder deletes the cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from devcluster.cache import cache_root
from devcluster.errors import ClusterError

NAME_PATTERN = re.compile(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?")
# A Unix socket's path may have 107 bytes; the longest below a cluster's folder is `control.sock`.
SOCKET_PATH_LIMIT = 107


def clusters_folder() -> Path:
    """The folder that holds one folder a cluster."""
    return cache_root() / "clusters"


def run_lock(name: str) -> Path:
    """The lock that a run of the tests holds as long as the cluster is its own."""
    return clusters_folder() / f".{name}.run"


@dataclass(frozen=True)
class ClusterFolder:
    """The files of one cluster, by name."""

    name: str

    def __post_init__(self) -> None:
        """Refuse a name that can't be a node's name.

        Raises:
            ClusterError: the name is not 1 to 20 lower-case letters, digits and inner dashes, or the
                home folder's path is too long for the cluster's socket.
        """
        if not NAME_PATTERN.fullmatch(self.name):
            raise ClusterError(
                f"cluster name {self.name!r} is not usable: 1 to 20 lower-case letters, digits and dashes, "
                "first and last a letter or digit"
            )
        if len(str(self.control_socket).encode()) > SOCKET_PATH_LIMIT:
            raise ClusterError(
                f"the path {self.control_socket} is too long for a socket: use a shorter HOME or XDG_CACHE_HOME"
            )

    @property
    def root(self) -> Path:
        """The folder itself."""
        return clusters_folder() / self.name

    @property
    def record(self) -> Path:
        """JSON: the network number that the cluster holds."""
        return self.root / "cluster.json"

    @property
    def plan(self) -> Path:
        """JSON: what the supervisor is to run."""
        return self.root / "plan.json"

    @property
    def control_socket(self) -> Path:
        """Where the supervisor takes requests."""
        return self.root / "control.sock"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, usable from the host."""
        return self.root / "kubeconfig"

    @property
    def logs(self) -> Path:
        """One log file a component."""
        return self.root / "logs"

    @property
    def pki(self) -> Path:
        """Authorities, keys, certificates and the components' kubeconfigs."""
        return self.root / "pki"

    @property
    def config(self) -> Path:
        """Configuration files of the components; written anew at every start."""
        return self.root / "config"

    @property
    def etcd(self) -> Path:
        """Etcd's data."""
        return self.root / "etcd"

    @property
    def kubelet(self) -> Path:
        """What is /var/lib/kubelet inside."""
        return self.root / "kubelet"

    @property
    def containerd(self) -> Path:
        """Images and snapshots."""
        return self.root / "containerd"

    @property
    def volumes(self) -> Path:
        """Folders of the dynamically made volumes."""
        return self.root / "volumes"

    @property
    def registry(self) -> Path:
        """The cluster's own copy of the registry's storage."""
        return self.root / "registry"

    @property
    def pulumi_home(self) -> Path:
        """PULUMI_HOME of stacks that run against this cluster."""
        return self.root / "pulumi-home"

    @property
    def pulumi_state(self) -> Path:
        """The file state backend of stacks that run against this cluster."""
        return self.root / "pulumi-state"
