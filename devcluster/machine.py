"""Whether this machine can run a cluster at all, said before anything is built or changed."""

from __future__ import annotations

import os
import subprocess
import sys

from devcluster import cgroups
from devcluster.errors import ClusterError

NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--mount-proc")
INSTEAD = (
    "Use a cluster of your own instead: point KUBECONFIG at it, set SANDBOX_USE_KUBECONFIG=1, "
    "and set SANDBOX_DEMO_IMAGE to an image that it can pull."
)


def require() -> None:
    """Refuse a machine that can't run a cluster.

    Raises:
        ClusterError: with the reason and what to do instead.
    """
    reason = reason_against()
    if reason:
        raise ClusterError(f"a local cluster can't run here: {reason}. {INSTEAD}")


def reason_against() -> str | None:
    """Why no cluster can run here; None if nothing speaks against it."""
    if sys.platform != "linux":
        return f"it needs Linux, and this is {sys.platform}"
    if os.geteuid() != 0:
        return "it needs root, for namespaces, mounts and a network device"
    try:
        done = subprocess.run(["unshare", *NAMESPACES, "true"], capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return "the program unshare (Debian package util-linux) is missing"
    except subprocess.TimeoutExpired:
        return "new namespaces were not ready in 20 s"
    if done.returncode != 0:
        return f"new namespaces are not allowed ({' '.join(done.stderr.split())})"
    if not cgroups.hierarchies():
        return f"no control groups are mounted at {cgroups.ROOT}"
    return None
