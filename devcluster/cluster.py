"""A local one-node Kubernetes: start it, stop it, look at it, hurt it.

    cluster = start("dev")      # a running healthy one is returned as it is
    cluster.kubeconfig          # and so on
    stop("dev")

The driver only prepares files, starts one process and lays a cable. Everything else happens inside, so that
a driver killed at any moment leaves either nothing or a cluster that the next `start` or `stop` can take on.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster import addons, cgroups, components, control, machine, network, node_files, plan, processes
from devcluster.cache import locked
from devcluster.errors import ClusterError
from devcluster.paths import ClusterFolder, clusters_folder
from devcluster.registry_copy import synchronise

START_SECONDS = 240.0
ADOPT_SECONDS = 90.0
GRACE_SECONDS = 25.0
RESTART_LIMIT = 5
LOG_LINES = 12
KUBELET_FOLDER = Path("/var/lib/kubelet")
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

Progress = Callable[[str], None]


def print_to_stderr(text: str) -> None:
    """Show a line of progress."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class ComponentState:
    """How one component is.

    Attributes:
        name: such as `kubelet`.
        pid: its process number inside the cluster; None when it isn't running.
        restarts: how often it ended without being asked to.
        problem: why it isn't healthy; empty when it is.
    """

    name: str
    pid: int | None
    restarts: int
    problem: str


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
        return _components(self._files)

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
        control.ask(self._files.control_socket, {"do": "stop", "name": component, "signal": int(signal_number)})

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
        _wait_healthy(self._files, timeout_seconds, lambda _: None)

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
        began = time.monotonic()
        _end(files)
        bin_folder, images = _material()
        record = _prepare(files, bin_folder, images)
        cluster = Cluster(name, record.number, bin_folder)
        progress(f"cluster {name}: starting (logs in {files.logs})")
        try:
            _launch(files, record)
            _wait_healthy(files, START_SECONDS, progress)
        except ClusterError:
            _end(files)
            raise
        progress(f"cluster {name}: up after {time.monotonic() - began:.1f} s, API at {cluster.api_url}")
        return cluster


def find(name: str) -> Cluster | None:
    """The running cluster of that name, healthy or not; None if there is none."""
    files = ClusterFolder(name)
    record = _read_record(files)
    if record is None or processes.find(files.root).inner is None:
        return None
    return Cluster(name, record.number, record.bin)


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
            _end_gently(files)
        _end(files)
        if delete:
            _delete(files)


def stop_all(*, delete: bool = True) -> list[str]:
    """End every cluster of which anything is left, and return their names."""
    names = sorted(known())
    for name in names:
        stop(name, delete=delete)
    return names


def known() -> set[str]:
    """Names of all clusters with a folder, a process or a control group."""
    top = clusters_folder()
    folders = {path.name for path in top.iterdir() if path.is_dir()} if top.is_dir() else set()
    return folders | processes.running_clusters() | cgroups.clusters_with_groups()


def status(name: str) -> dict[str, ComponentState] | None:
    """How the components of a cluster are; None if it isn't running or doesn't answer."""
    try:
        return _components(ClusterFolder(name))
    except ClusterError:
        return None


@dataclass(frozen=True)
class _Record:
    number: int
    bin: Path


def _lock(name: str) -> Any:
    return locked(clusters_folder() / f".{name}.lock", f"cluster {name} is being started or stopped")


def _machine_lock() -> Any:
    return locked(clusters_folder() / ".lock", "another cluster takes its network number")


def _material() -> tuple[Path, Path]:
    """The folder of programs and the registry's storage, made or built if they aren't there yet."""
    from devcluster import build, debian, images

    debian.install_debian_packages()
    folder = build.ensure(PROGRAMS)
    return folder, images.ensure_registry_storage(folder)


def _take_on(files: ClusterFolder, progress: Progress) -> Cluster | None:
    """The running cluster if it is or becomes healthy."""
    inner = processes.find(files.root).inner
    record = _read_record(files)
    if inner is None or record is None:
        return None
    try:
        network.connect(network.Addresses(record.number), inner)
        _wait_healthy(files, ADOPT_SECONDS, progress)
    except ClusterError as error:
        progress(f"cluster {files.name} is starting anew: {error}")
        return None
    return Cluster(files.name, record.number, record.bin)


def _prepare(files: ClusterFolder, bin_folder: Path, images: Path) -> _Record:
    for folder in (
        files.logs / "pods",
        files.config,
        files.kubelet,
        files.containerd,
        files.volumes,
        files.pulumi_home,
        files.pulumi_state,
    ):
        folder.mkdir(parents=True, exist_ok=True)
    files.root.chmod(0o755)
    record = _take_number(files, bin_folder)
    addresses = network.Addresses(record.number)
    synchronise(images, files.registry)
    components.write_credentials(files, addresses)
    node_files.write(files, addresses)
    addons_file = files.config / "addons.json"
    addons.write(addons_file)
    plan.write(
        plan.Plan(
            address=addresses.node,
            gateway=addresses.host,
            binds=((str(files.kubelet), str(KUBELET_FOLDER)), (str(files.logs / "pods"), "/var/log/pods")),
            environment={
                "PATH": f"{bin_folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": "/root",
            },
            components=components.components(files, addresses, addons_file),
        ),
        files.plan,
    )
    return record


def _take_number(files: ClusterFolder, bin_folder: Path) -> _Record:
    with _machine_lock():
        taken = {record.number for name in _folders() if (record := _read_record(ClusterFolder(name)))}
        mine = _read_record(files)
        number = mine.number if mine else None
        if number is None or network.exists(network.Addresses(number).host_device):
            number = network.first_free(taken)
        record = _Record(number, bin_folder)
        temporary = files.record.with_suffix(".new")
        temporary.write_text(json.dumps({"number": number, "bin": str(bin_folder)}))
        temporary.replace(files.record)
        KUBELET_FOLDER.mkdir(exist_ok=True)
    return record


def _folders() -> list[str]:
    return [path.parent.name for path in clusters_folder().glob("*/cluster.json")]


def _read_record(files: ClusterFolder) -> _Record | None:
    try:
        raw = json.loads(files.record.read_text())
        return _Record(int(raw["number"]), Path(raw["bin"]))
    except (OSError, ValueError, KeyError):
        return None


def _launch(files: ClusterFolder, record: _Record) -> None:
    cgroups.make(files.name)
    files.control_socket.unlink(missing_ok=True)
    if modprobe := shutil.which("modprobe"):
        # Built into many kernels, a module to be loaded in others.
        subprocess.run([modprobe, "--all", "br_netfilter", "overlay"], capture_output=True, check=False)
    command = ["unshare", *machine.NAMESPACES, "--kill-child=KILL", "--"]
    command += [sys.executable, "-m", processes.SUPERVISOR_MODULE, str(files.root)]
    with (files.logs / "supervisor.log").open("ab") as log:
        subprocess.Popen(
            command,
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + 15.0
    while (inner := processes.find(files.root).inner) is None:
        if time.monotonic() > deadline:
            raise ClusterError(f"cluster {files.name} didn't start: {_log_end(files, 'supervisor')}")
        time.sleep(0.02)
    network.connect(network.Addresses(record.number), inner)


def _components(files: ClusterFolder) -> dict[str, ComponentState]:
    answer = control.ask(files.control_socket, {"do": "status"})
    return {
        name: ComponentState(name, state["pid"], state["restarts"], state["problem"])
        for name, state in answer["components"].items()
    }


def _wait_healthy(files: ClusterFolder, timeout_seconds: float, progress: Progress) -> None:
    deadline = time.monotonic() + timeout_seconds
    next_report = time.monotonic() + 5.0
    base: dict[str, int] | None = None
    while True:
        ill: list[ComponentState] = []
        try:
            states = _components(files)
        except ClusterError as error:
            text = str(error)
            if processes.find(files.root).inner is None:
                raise ClusterError(f"cluster {files.name} ended: {_log_end(files, 'supervisor')}") from error
        else:
            ill = [state for state in states.values() if state.problem]
            if not ill:
                return
            base = base or {name: state.restarts for name, state in states.items()}
            restless = [one for one in ill if one.restarts - base[one.name] >= RESTART_LIMIT]
            if restless:
                raise ClusterError(_describe(files, restless[0], "keeps ending"))
            text = ", ".join(state.name for state in ill)
        if time.monotonic() > deadline:
            if not ill:
                raise ClusterError(text)
            raise ClusterError(_describe(files, ill[0], f"isn't healthy after {timeout_seconds:.0f} s"))
        if time.monotonic() > next_report:
            progress(f"cluster {files.name}: waiting for {text}")
            next_report += 5.0
        time.sleep(0.1)


def _describe(files: ClusterFolder, state: ComponentState, what: str) -> str:
    return (
        f"cluster {files.name}: {state.name} {what} ({state.problem}). "
        f"The end of {files.logs / state.name}.log:\n{_log_end(files, state.name)}"
    )


def _log_end(files: ClusterFolder, name: str) -> str:
    try:
        lines = (files.logs / f"{name}.log").read_text(errors="replace").splitlines()
    except OSError:
        return "  (no log)"
    return "\n".join("  " + line[:300] for line in lines[-LOG_LINES:]) or "  (empty)"


def _end_gently(files: ClusterFolder) -> None:
    inner = processes.find(files.root).inner
    deadline = time.monotonic() + GRACE_SECONDS
    if inner is not None:
        os.kill(inner, signal.SIGTERM)
        while processes.find(files.root).inner is not None and time.monotonic() < deadline:
            time.sleep(0.05)


def _end(files: ClusterFolder) -> None:
    processes.kill(files.root)
    record = _read_record(files)
    if record is not None:
        network.disconnect(network.Addresses(record.number))
    cgroups.remove(files.name)


def _delete(files: ClusterFolder) -> None:
    with _machine_lock():
        if files.root.exists():
            # The record last: a deletion that is killed halfway is still known by name and number.
            for path in files.root.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif path != files.record:
                    path.unlink()
            shutil.rmtree(files.root)
        if not _folders() and KUBELET_FOLDER.is_dir() and not any(KUBELET_FOLDER.iterdir()):
            KUBELET_FOLDER.rmdir()
