"""Makes the Debian root file system with Python 3.11 that the demo's image is."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from devcluster.errors import ClusterError

SUITE = "bookworm"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SOURCES = Path("/etc/apt")

# Documentation, and what apt and dpkg keep for later runs: half of the size, nothing that an agent needs.
_CUT_FOLDERS = ("usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian")
_EMPTY_FOLDERS = ("var/cache", "var/lib/apt/lists", "var/log", "tmp", "var/tmp", "dev", "proc", "sys", "run")
_CUT_FILES = ("etc/machine-id", "etc/resolv.conf", "etc/hostname", "etc/passwd-", "etc/group-", "etc/shadow-",
              "etc/gshadow-", "etc/.pwd.lock", "var/lib/dpkg/status-old", "var/lib/dpkg/lock",
              "var/lib/dpkg/lock-frontend")  # fmt: skip


class RootError(ClusterError):
    """The root file system could not be made; the message holds the tool's last lines."""


def apt_mirror(sources: Path = SOURCES, suite: str = SUITE) -> str | None:
    """The archive that this machine's apt reads the suite from, or None (then debootstrap has a default)."""
    for file in [sources / "sources.list", *sorted((sources / "sources.list.d").glob("*.list"))]:
        if file.is_file():
            for line in file.read_text().splitlines():
                found = re.match(rf"\s*deb\s+(?:\[[^]]*]\s+)?(\S+)\s+{suite}\s+.*\bmain\b", line)
                if found:
                    return found[1]
    for file in sorted((sources / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", file.read_text()):
            fields = {
                key.strip().lower(): value.split()
                for key, _, value in (line.partition(":") for line in stanza.splitlines() if line[:1] not in "# \t")
            }
            if suite in fields.get("suites", []) and "main" in fields.get("components", []) and fields.get("uris"):
                return fields["uris"][0]
    return None


def make_python_root(root: Path) -> None:
    """Make the root file system in an empty folder: minimal Debian, with ``python3`` (3.11) and ``python``.

    Raises:
        RootError: debootstrap failed.
    """
    # In a mount namespace of its own, so that a killed run leaves no mount behind.
    command = ["unshare", "--mount", "debootstrap", "--variant=minbase", "--include=python3"]
    if KEYRING.exists():
        command.append(f"--keyring={KEYRING}")
    command += [SUITE, str(root)]
    if mirror := apt_mirror():
        command.append(mirror)
    _run(command)
    _cut(root)
    _compile_once(root)
    python = root / "usr/local/bin/python"
    python.symlink_to("/usr/bin/python3")


def _cut(root: Path) -> None:
    for name in _CUT_FOLDERS:
        shutil.rmtree(root / name, ignore_errors=True)
    for name in _EMPTY_FOLDERS:
        for path in (root / name).iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    for name in _CUT_FILES:
        (root / name).unlink(missing_ok=True)
    # The day on which a password was last changed is the day of this build: fix it.
    shadow = root / "etc/shadow"
    shadow.write_text(re.sub(r"^([^:]*:[^:]*):\d+:", r"\1:20000:", shadow.read_text(), flags=re.M))


def _compile_once(root: Path) -> None:
    """Replace time-stamped byte code by unchecked one: the layer's fixed times would make it stale."""
    for folder in (root / "usr/lib").rglob("__pycache__"):
        shutil.rmtree(folder)
    python = ["chroot", str(root), "/usr/bin/python3", "-m", "compileall", "-q"]
    folders = ["/usr/lib/python3.11", "/usr/lib/python3/dist-packages"]
    _run([*python, "--invalidation-mode", "unchecked-hash", *folders])


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise RootError(f"{' '.join(command[:3])} failed: " + " | ".join(done.stdout.strip().splitlines()[-6:]))
