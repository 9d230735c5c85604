"""A local one-node Kubernetes: start it, stop it, look at it, hurt it.

    cluster = start("dev")      # a running healthy one is returned as it is
    cluster.kubeconfig          # and so on
    stop("dev")

The driver only prepares files, starts one process and lays a cable. Everything else happens inside, so that
a driver killed at any moment leaves either nothing or a cluster that the next `start` or `stop` can take on.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from devcluster import (
    cgroups,
    components,
    control,
    health,
    launch,
    machine,
    network,
    processes,
    record,
    registry_copy,
)
from devcluster.cache import locked
from devcluster.errors import ClusterError
from devcluster.health import ComponentState, Progress
from devcluster.paths import NAME_PATTERN, ClusterFolder, clusters_folder

START_SECONDS = 240.0
ADOPT_SECONDS = 90.0
PROGRAMS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
    "local-path-provisioner",
    "kube-router",
    "coredns",
)


def print_to_stderr(text: str) -> None:
    """Show a line of progress."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Cluster:
    """A cluster that has been started.

    Attributes:
        name: such as `dev`.
        number: decides its addresses.
        bin: the folder of the built programs.
    """

    name: str
    number: int
    bin: Path

    @property
    def folder(self) -> Path:
        """Everything that the cluster consists of on disk."""
        return self._files.root

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self._files.kubeconfig

    @property
    def node(self) -> str:
        """The name of the one node."""
        return components.node_name(self.name)

    @property
    def api_url(self) -> str:
        """The API server's address as the host sees it."""
        return components.api_address(self._addresses)

    @property
    def registry(self) -> str:
        """Host and port of the registry as the host sees it; pods' images say `localhost:5000` instead."""
        return f"{self._addresses.node}:5000"

    @property
    def host_address(self) -> str:
        """The host's address as pods see it."""
        return self._addresses.host

    @property
    def env(self) -> dict[str, str]:
        """Environment variables that make kubectl and pulumi use this cluster and its state folder."""
        return {
            "PATH": f"{self.bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "KUBECONFIG": str(self._files.kubeconfig),
            "PULUMI_HOME": str(self._files.pulumi_home),
            "PULUMI_BACKEND_URL": self._files.pulumi_state.as_uri(),
        }

    def components(self) -> dict[str, ComponentState]:
        """How every component is, by name.

        Raises:
            ClusterError: the cluster isn't running.
        """
        return health.components(self._files)

    def pid_of(self, component: str) -> int:
        """The host's process number of a running component.

        Raises:
            ClusterError: there is no such component, or it isn't running.
        """
        state = self.components().get(component)
        inner = processes.find(self.folder).inner
        found = None
        if state is not None and state.pid is not None and inner is not None:
            found = processes.host_number(inner, state.pid)
        if found is None:
            raise ClusterError(f"cluster {self.name} has no running component {component!r}")
        return found

    def stop_component(self, component: str, *, signal_number: int = signal.SIGTERM) -> None:
        """End a component and keep it ended; pods go on. Returns when it is gone."""
        request = {"do": "stop", "name": component, "signal": int(signal_number)}
        control.ask(self._files.control_socket, request)

    def start_component(self, component: str) -> None:
        """Start a stopped component again; returns at once, see `wait_healthy`."""
        control.ask(self._files.control_socket, {"do": "start", "name": component})

    def restart_component(self, component: str, *, signal_number: int = signal.SIGTERM) -> None:
        """End a component, start it again and wait until the cluster is healthy."""
        self.stop_component(component, signal_number=signal_number)
        self.start_component(component)
        self.wait_healthy()

    def wait_healthy(self, *, timeout_seconds: float = 60.0) -> None:
        """Wait until every component is healthy.

        Raises:
            ClusterError: one still wasn't after `timeout_seconds`; names it and shows its log's end.
        """
        health.wait(self._files, timeout_seconds, lambda _: None)

    @property
    def _files(self) -> ClusterFolder:
        return ClusterFolder(self.name)

    @property
    def _addresses(self) -> network.Addresses:
        return network.Addresses(self.number)


def start(name: str, *, progress: Progress = print_to_stderr) -> Cluster:
    """Bring a cluster up and wait until every piece is healthy.

    A running healthy one is returned as it is. A broken or half-made one is ended and started anew with its
    data: etcd, volumes, registry.

    Args:
        name: 1 to 20 lower-case letters, digits and dashes.
        progress: takes lines of progress.

    Raises:
        ClusterError: the machine can't run one, or a component didn't get healthy: its name and the last
            lines of its log. Then nothing is left running; the logs stay.
    """
    files = ClusterFolder(name)
    machine.require()
    with _lock(name):
        running = _take_on(files, progress)
        if running is not None:
            return running
        launch.end(files)
        bin_folder, images = _material()
        began = time.monotonic()
        progress(f"cluster {name}: starting (logs in {files.logs})")
        taken = launch.prepare(files, bin_folder, images)
        cluster = Cluster(name, taken.number, bin_folder)
        try:
            launch.launch(files, taken)
            health.wait(files, START_SECONDS, progress)
        except ClusterError:
            launch.end(files)
            raise
        progress(f"cluster {name}: up after {time.monotonic() - began:.1f} s, API at {cluster.api_url}")
        return cluster


def _take_on(files: ClusterFolder, progress: Progress) -> Cluster | None:
    """The running cluster, if it is healthy or becomes so."""
    inner = processes.find(files.root).inner
    taken = record.read(files)
    if inner is None or taken is None:
        return None
    try:
        network.connect(taken.addresses, inner)
        health.wait(files, ADOPT_SECONDS, progress)
    except ClusterError as error:
        progress(f"cluster {files.name}: starting anew, for {error}")
        return None
    # It may have been started before an image was added or changed.
    registry_copy.synchronise(_images(taken.bin), files.registry)
    return Cluster(files.name, taken.number, taken.bin)


def _material() -> tuple[Path, Path]:
    """The folder of programs and the registry's storage, made or built if they aren't there yet."""
    from devcluster import build, debian

    debian.install_debian_packages()
    folder = build.ensure(PROGRAMS)
    return folder, _images(folder)


def _images(bin_folder: Path) -> Path:
    from devcluster import images

    return images.ensure_registry_storage(bin_folder)


def find(name: str) -> Cluster | None:
    """The running cluster of that name, healthy or not; None if there is none."""
    files = ClusterFolder(name)
    taken = record.read(files)
    if taken is None or processes.find(files.root).inner is None:
        return None
    return Cluster(name, taken.number, taken.bin)


def stop(name: str, *, delete: bool = True) -> None:
    """End a cluster, and leave no process, mount, network device or control group of it.

    Args:
        name: of a cluster; one that doesn't exist is fine.
        delete: also delete its folder, Pulumi state included. Without it the components end in order and
            the next `start` goes on with the same data.

    Raises:
        ClusterError: something of it could not be ended.
    """
    files = ClusterFolder(name)
    with _lock(name):
        if not delete:
            launch.end_gently(files)
        launch.end(files)
        if delete:
            launch.delete(files)


def known() -> set[str]:
    """Names of all clusters with a folder, a process or a control group that was left."""
    found = {path.name for path in _folders()} | processes.running_clusters() | cgroups.abandoned()
    return {name for name in found if NAME_PATTERN.fullmatch(name)}


def strangers() -> list[Path]:
    """Folders among those of the clusters whose names no cluster can have."""
    return sorted(path for path in _folders() if not NAME_PATTERN.fullmatch(path.name))


def status(name: str) -> dict[str, ComponentState] | None:
    """How the components of a cluster are; None if it isn't running or doesn't answer."""
    try:
        return health.components(ClusterFolder(name))
    except ClusterError:
        return None


def _folders() -> list[Path]:
    top = clusters_folder()
    return [path for path in top.iterdir() if path.is_dir()] if top.is_dir() else []


def _lock(name: str) -> AbstractContextManager[None]:
    return locked(clusters_folder() / f".{name}.lock", f"cluster {name} is being started or stopped")
