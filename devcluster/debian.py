"""The Debian packages that the local cluster stands on, installed when they are missing.

Only programs that Go modules don't give us, or that Debian builds for us for free, come from here. Installing
never leaves a system service running: a cluster starts its own containerd and registry in its own namespaces.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from devcluster.cache import cache_root, locked
from devcluster.errors import ClusterError

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
POLICY = Path("/usr/sbin/policy-rc.d")
DENY_ALL = "#!/bin/sh\n# sandbox-components, only while it installs packages\nexit 101\n"


class DebianError(ClusterError):
    """A package is missing and can't be installed; the message says why and what to do."""


@dataclass(frozen=True)
class Package:
    """A Debian package and what shows that it, or a replacement of it, is there already.

    Attributes:
        name: the package's name.
        programs: programs that must be found on PATH or in an sbin folder.
        files: groups of paths; one of each group must exist.
        services: system services that the package would start and enable.
    """

    name: str
    programs: tuple[str, ...] = ()
    files: tuple[tuple[str, ...], ...] = ()
    services: tuple[str, ...] = ()

    def present(self) -> bool:
        """Whether everything that we use of the package is on this machine."""
        return all(find_program(name) for name in self.programs) and all(
            any(Path(path).exists() for path in group) for group in self.files
        )


_LIBC_STATIC = ("/usr/lib/x86_64-linux-gnu/libc.a", "/usr/lib/aarch64-linux-gnu/libc.a", "/usr/lib64/libc.a")

PACKAGES = (
    Package("containerd", ("containerd", "ctr"), services=("containerd.service",)),
    Package("runc", ("runc",)),
    Package("containernetworking-plugins", files=(("/usr/lib/cni/bridge", "/opt/cni/bin/bridge"),)),
    Package("ipset", ("ipset",)),
    Package("iptables", ("iptables", "iptables-save")),
    Package("conntrack", ("conntrack",)),
    Package("iproute2", ("ip",)),
    Package("procps", ("sysctl", "ps")),
    Package("util-linux", ("unshare", "nsenter")),
    Package("skopeo", ("skopeo",)),
    Package("docker-registry", ("docker-registry",), services=("docker-registry.service",)),
    Package("busybox-static", ("busybox",)),
    Package("debootstrap", ("debootstrap",)),
    Package("debian-archive-keyring", files=(("/usr/share/keyrings/debian-archive-keyring.gpg",),)),
    Package("gcc", ("gcc",)),
    Package("libc6-dev", files=(_LIBC_STATIC,)),
    Package("ca-certificates", files=(("/etc/ssl/certs/ca-certificates.crt",),)),
)

POSTGRES_SERVERS = tuple(f"/usr/lib/postgresql/{version}/bin/postgres" for version in range(13, 21))

TEST_PACKAGES = (
    Package("postgresql", files=(POSTGRES_SERVERS,), services=("postgresql.service",)),
    Package("nginx-light", ("nginx",), services=("nginx.service",)),
    Package("buildah", ("buildah",)),
)
"""What no cluster needs, but tests and benchmarks do; installed only by name."""


def find_program(name: str) -> str | None:
    """The program's path, looked for on PATH and in the sbin folders, which PATH often leaves out."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *SBIN]))


def missing_packages(names: Iterable[str] | None = None) -> list[Package]:
    """The packages, of those named (default: all of a cluster), of which something is missing here."""
    wanted = {one.name for one in PACKAGES} if names is None else set(names)
    return [one for one in (*PACKAGES, *TEST_PACKAGES) if one.name in wanted and not one.present()]


def install_debian_packages(names: Iterable[str] | None = None) -> list[str]:
    """Install what is missing of the packages named (default: all of a cluster) and return the names installed.

    Raises:
        DebianError: something is missing and there is no apt-get, we aren't root, or apt-get failed.
    """
    wanted = None if names is None else list(names)
    if not missing_packages(wanted):
        return []
    with locked(cache_root() / "debian.lock", "it is installing Debian packages"):
        return _install(missing_packages(wanted))


def _install(missing: list[Package]) -> list[str]:
    if not missing:
        return []
    wanted = [one.name for one in missing]
    listed = " ".join(wanted)
    apt = shutil.which("apt-get")
    if apt is None:
        raise DebianError(f"missing: {listed}. There is no apt-get here: install them by hand, or use a Debian machine")
    if os.geteuid() != 0:
        raise DebianError(f"missing: {listed}. Run as root, or have root run: apt-get install {listed}")
    print(f"installing Debian packages: {listed}", file=sys.stderr, flush=True)
    with _no_service_starts():
        if not _apt(apt, "install", "--no-install-recommends", *wanted):
            _apt(apt, "update")
            if not _apt(apt, "install", "--no-install-recommends", *wanted):
                raise DebianError(f"apt-get install {listed} failed: {_last_output()}")
    for one in missing:
        for service in one.services:
            _disable(service)
    left = [one.name for one in missing if not one.present()]
    if left:
        raise DebianError(f"installed, but still not usable: {' '.join(left)}")
    return wanted


_output = ""


def _apt(apt: str, *arguments: str) -> bool:
    """Run apt-get without questions; keep its output for a message."""
    global _output
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    command = [apt, "-y", "-q", "-o", "DPkg::Lock::Timeout=600", *arguments]
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    _output = done.stdout
    return done.returncode == 0


def _last_output(lines: int = 8) -> str:
    return " | ".join(_output.strip().splitlines()[-lines:])


@contextlib.contextmanager
def _no_service_starts() -> Iterator[None]:
    """Deny package scripts to start services, by Debian's own policy file; an existing one is put back.

    One of ours is what a killed run has left: it goes.
    """
    before = POLICY.read_bytes() if POLICY.exists() else None
    before = None if before == DENY_ALL.encode() else before
    mode = POLICY.stat().st_mode & 0o777 if before is not None else 0o755
    POLICY.write_text(DENY_ALL)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        if before is None:
            POLICY.unlink(missing_ok=True)
        else:
            POLICY.write_bytes(before)
            POLICY.chmod(mode)


def _disable(service: str) -> None:
    """Keep a freshly installed service from starting at the next boot."""
    if systemctl := shutil.which("systemctl"):
        subprocess.run([systemctl, "disable", "--quiet", service], stdin=subprocess.DEVNULL, capture_output=True)
