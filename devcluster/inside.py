"""What process 1 sets up in its fresh namespaces before anything runs: mounts, sysctls, the node's address.

/run and /var/log are private memory file systems: containerd's shims, network namespaces, the iptables lock
and container logs of two clusters never meet, and none of it is left behind.
"""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from devcluster.plan import Plan

PRIVATE = ("/run", "/var/log")

# The kubelet sets these for the whole machine. It finds the values that it wants in files of ours, mounted
# over the real ones inside the cluster only, and leaves the machine as it is.
KUBELET_SYSCTLS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}

NODE_SYSCTLS = {"net/ipv4/ip_forward": "1", "net/bridge/bridge-nf-call-iptables": "1"}


def mount_file_systems(plan: Plan) -> None:
    """Make the mounts; they are private to the cluster and go away with it."""
    # Shared among the cluster's own mount namespaces, so that a volume mounted later reaches containers.
    _run("mount", "--make-rshared", "/")
    for path in PRIVATE:
        _run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path)
    for source, target in plan.binds:
        Path(target).mkdir(parents=True, exist_ok=True)
        _run("mount", "--bind", source, target)
    shadows = Path("/run/sysctls")
    shadows.mkdir()
    for key, value in KUBELET_SYSCTLS.items():
        real = Path("/proc/sys", key)
        if real.exists():
            shadow = shadows / key.replace("/", ".")
            shadow.write_text(value + "\n")
            _run("mount", "--bind", str(shadow), str(real))


def set_address(plan: Plan) -> None:
    """Wait until the driver has laid the cable, and give its end the node's address."""
    _run("ip", "link", "set", "lo", "up")
    while "eth0" not in {name for _, name in socket.if_nameindex()}:
        time.sleep(0.02)
    _run("ip", "address", "replace", f"{plan.address}/30", "dev", "eth0")
    _run("ip", "link", "set", "eth0", "up")
    _run("ip", "route", "replace", "default", "via", plan.gateway)
    for key, value in NODE_SYSCTLS.items():
        path = Path("/proc/sys", key)
        if path.exists():
            path.write_text(value)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
