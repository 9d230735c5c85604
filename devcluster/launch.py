"""Bringing a cluster's processes into being and taking them away; the order of steps is what matters here.

A driver may be killed between any two of them. Then either nothing runs, or a supervisor runs that waits for
its cable or goes on by itself, and it is found by its command line.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from devcluster import (
    addons,
    cgroups,
    components,
    health,
    machine,
    network,
    node_files,
    plan,
    processes,
    record,
    registry_copy,
)
from devcluster.errors import ClusterError
from devcluster.paths import ClusterFolder

FIRST_PROCESS_SECONDS = 30.0
GRACE_SECONDS = 25.0
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Device plugins have their place here whatever the kubelet is told, so every cluster sees its own folder here.
KUBELET_FOLDER = Path("/var/lib/kubelet")


def prepare(files: ClusterFolder, bin_folder: Path, images: Path) -> record.Record:
    """Write everything that the supervisor and the components read; what is kept of an earlier run is kept.

    Args:
        files: the cluster's.
        bin_folder: where the programs are.
        images: the registry storage to copy.
    """
    kept = (files.kubelet, files.containerd, files.volumes, files.pulumi_home, files.pulumi_state)
    for folder in (files.logs / "pods", files.config, *kept):
        folder.mkdir(parents=True, exist_ok=True)
    with record.machine_lock():
        taken = record.take(files, bin_folder)
        KUBELET_FOLDER.mkdir(exist_ok=True)
    registry_copy.synchronise(images, files.registry)
    components.write_credentials(files, taken.addresses)
    node_files.write(files, taken.addresses)
    addons.write(files.config / "addons.json")
    _write_plan(files, taken)
    return taken


def _write_plan(files: ClusterFolder, taken: record.Record) -> None:
    addresses = taken.addresses
    content = plan.Plan(
        address=addresses.node,
        gateway=addresses.host,
        binds=((str(files.kubelet), str(KUBELET_FOLDER)), (str(files.logs / "pods"), "/var/log/pods")),
        environment={"PATH": f"{taken.bin}:{SYSTEM_PATH}", "HOME": "/root"},
        components=components.components(files, addresses, files.config / "addons.json"),
    )
    plan.write(content, files.plan)


def launch(files: ClusterFolder, taken: record.Record) -> None:
    """Start the cluster's first process and lay its cable; health is not awaited.

    Raises:
        ClusterError: it didn't start.
    """
    cgroups.make(files.name)
    files.control_socket.unlink(missing_ok=True)
    if modprobe := shutil.which("modprobe"):
        # Built into many kernels, a module to be loaded in others.
        subprocess.run([modprobe, "--all", "br_netfilter", "overlay"], capture_output=True, check=False)
    # setsid returns at once: the cluster is nobody's child and outlives whoever started it.
    command = ["setsid", "--fork", "unshare", *machine.NAMESPACES, "--kill-child=KILL", "--"]
    command += [sys.executable, "-m", processes.SUPERVISOR_MODULE, str(files.root)]
    code = {"PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    with (files.logs / "supervisor.log").open("ab") as log:
        environment = {**os.environ, **code}
        subprocess.run(command, cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    began = time.monotonic()
    while (found := processes.find(files.root)).inner is None:
        waited = time.monotonic() - began
        if waited > FIRST_PROCESS_SECONDS or (found.outer is None and waited > 1.0):
            raise ClusterError(f"cluster {files.name} didn't start:\n{health.log_end(files, 'supervisor')}")
        time.sleep(0.02)
    network.connect(taken.addresses, found.inner)


def end_gently(files: ClusterFolder) -> None:
    """Let the components end in order, etcd last; gives up after some time."""
    inner = processes.find(files.root).inner
    deadline = time.monotonic() + GRACE_SECONDS
    if inner is not None:
        os.kill(inner, signal.SIGTERM)
        while processes.find(files.root).inner is not None and time.monotonic() < deadline:
            time.sleep(0.05)


def end(files: ClusterFolder) -> None:
    """Take away every process, network device and control group of the cluster, whatever state it is in.

    Raises:
        ClusterError: something didn't go.
    """
    processes.kill(files.root)
    taken = record.read(files)
    if taken is not None:
        network.disconnect(taken.addresses)
    cgroups.remove(files.name)


def delete(files: ClusterFolder) -> None:
    """Delete the ended cluster's folder."""
    with record.machine_lock():
        if files.root.exists():
            # The record last: a deletion that is killed halfway still holds its name and number.
            for path in files.root.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif path != files.record:
                    path.unlink()
            shutil.rmtree(files.root)
        # Only when no cluster is left: removing a folder takes away what is mounted on it elsewhere.
        if not record.names() and KUBELET_FOLDER.is_dir() and not any(KUBELET_FOLDER.iterdir()):
            KUBELET_FOLDER.rmdir()
