"""Builds the cluster's programs once and gathers them in one folder to put on PATH.

Every built program lies in ``bin/store`` under a key made of its module's ``go.mod`` and ``go.sum``, flags, own
sources and the Go version, so any checkout finds what another has built. The folder that `ensure` returns holds
links only: into that store, or to a program of this machine whose version fits.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from devcluster import build_table, cache, golang, language_host, progress
from devcluster.build_table import Tool
from devcluster.debian import install_debian_packages
from devcluster.errors import ClusterError


def ensure(names: Iterable[str] | None = None) -> Path:
    """Have the named programs ready, building what is missing one after the other, and return their folder.

    The folder is the same whichever names are given; it also holds ``pulumi-language-python``, our own, on a machine
    without the official one. Progress goes to standard error.

    Args:
        names: programs (``etcd``) or modules (``kubernetes``: all of its programs); None: everything in the table.

    Raises:
        ValueError: a name isn't in the table.
        devcluster.errors.ClusterError: Go or a compiler can't be had, or a build failed.
    """
    tools = build_table.select(names)
    folder = bin_dir()
    folder.mkdir(parents=True, exist_ok=True)
    for tool in tools:
        _link(folder / tool.name, _ready_made(tool) or _built(tool))
    language_host.install(folder)
    return folder


def bin_dir() -> Path:
    """The folder that `ensure` fills: one for each set of pins and each interpreter that runs this."""
    keys = [_key(tool) for tool in build_table.TOOLS]
    return _bin() / cache.digest(*keys, sys.executable, str(Path(__file__).parent))


def main(argv: Sequence[str] | None = None) -> int:
    """The subcommand ``build [TOOL...]``: build, and print the folder on standard output."""
    parser = argparse.ArgumentParser(prog="python -m devcluster build", description="Build the cluster's programs.")
    known = sorted({tool.module for tool in build_table.TOOLS} | set(build_table.BY_NAME))
    parser.add_argument("tools", nargs="*", metavar="TOOL", help="one of: " + ", ".join(known) + "; default: all")
    arguments = parser.parse_args(argv)
    try:
        print(ensure(arguments.tools or None))
    except (ClusterError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def fits(tool: Tool, output: str) -> bool:
    """Whether a ready-made program's version output names a version that fits.

    A version with a suffix (``-rc.1``, a wrapper's own mark) doesn't count.
    """
    found = re.search(r"\bv?(\d+\.\d+(?:\.\d+)?)(?![\d.]*[-\w.])", output)
    if found is None:
        return False
    version = golang.numbers(found[1])
    return tool.least <= version < tool.below


def _ready_made(tool: Tool) -> Path | None:
    """A program on PATH, outside our own cache, whose version fits."""
    if not tool.version_command:
        return None
    own = str(cache.cache_root())
    folders = [part for part in os.environ.get("PATH", "").split(os.pathsep) if not part.startswith(own)]
    program = shutil.which(tool.name, path=os.pathsep.join(folders))
    if program is None or str(Path(program).resolve()).startswith(own):
        return None
    env = os.environ | {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = subprocess.run(
            [program, *tool.version_command],
            env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=20,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(program) if done.returncode == 0 and fits(tool, done.stdout or done.stderr) else None


def _built(tool: Tool) -> Path:
    """The program from the store, built first if need be; a second run waits for the first."""
    target = _bin() / "store" / f"{tool.name}-{_key(tool)}"
    if target.exists():
        return target
    with cache.locked(_bin() / "lock", f"it is building; {tool.name} comes after that"):
        if not target.exists():
            install_debian_packages(("gcc", "libc6-dev", "ca-certificates"))
            target.parent.mkdir(parents=True, exist_ok=True)
            _build(tool, target)
    return target


def _build(tool: Tool, target: Path) -> None:
    go = golang.ensure()
    source = golang.MODULES / tool.module
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=target.parent) as work:
        folder = source
        if tool.prepare is not None:
            folder = Path(work) / "source"
            folder.mkdir()
            tool.prepare(go, source, folder)
        result = Path(work) / tool.name
        flags = " ".join(("-s", "-w", *tool.flags))
        progress.run(
            [str(go), "build", "-v", "-ldflags", flags, "-o", str(result), tool.package],
            label=f"building {tool.name}",
            expected_minutes=tool.minutes,
            log=cache.cache_root() / "logs" / f"{tool.name}.log",
            cwd=folder,
            env=golang.environment(go),
        )
        result.rename(target)


def _key(tool: Tool) -> str:
    source = golang.MODULES / tool.module
    inputs = [source / "go.mod", source / "go.sum", *sorted(source.glob("*.go"))]
    text = " ".join((golang.choose().version, tool.package, *tool.flags))
    return cache.digest(text, *inputs)


def _bin() -> Path:
    return cache.cache_root() / "bin"


def _link(link: Path, program: Path) -> None:
    """Point the link at the program, at once and only if it doesn't already."""
    if link.is_symlink() and link.readlink() == program:
        return
    fresh = link.with_name(f".{link.name}.{os.getpid()}.{threading.get_ident()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(program)
    fresh.replace(link)
