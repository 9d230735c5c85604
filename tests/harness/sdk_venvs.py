"""Versions of the providers' official SDKs, each in a virtual environment of its own that stays in the cache.

What an agent's SDK does with a refusal is decided by that SDK's code, release by release, so the tests run the releases
themselves. One environment can hold only one of them.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from devcluster import progress
from devcluster.cache import cache_root, digest, locked

_ROOT = Path(__file__).parents[2]
_CONSTRAINTS = _ROOT / ".ci" / "constraints.txt"
_SCRIPTS = _ROOT / "tests" / "proxy"
_EXPECTED_MINUTES = 0.3


@dataclass(frozen=True)
class Sdk:
    """One release.

    Attributes:
        api: `openai` or `anthropic`.
        version: exactly this one.
        more: requirements beside it, where what it asks for has moved on since.
        package: its name on npm, for those in TypeScript; the others are PyPI's.
    """

    api: str
    version: str
    more: tuple[str, ...] = ()
    package: str = ""

    @property
    def name(self) -> str:
        """As tests and tables call it."""
        return f"{self.api}-{'ts' if self.package else 'py'} {self.version}"

    def requirements(self) -> list[str]:
        """What the installer is asked for."""
        return [f"{self.package}@{self.version}"] if self.package else [f"{self.api}=={self.version}", *self.more]

    def folder(self) -> Path:
        """Where it is installed; the constraints on what it needs besides change too often to be part of the name."""
        key = digest(*self.requirements(), sys.version)
        return cache_root() / "sdks" / f"{self.name.replace(' ', '-')}-{key}"

    def command(self) -> list[str]:
        """The command that runs the tests' client of this SDK; see `tests.proxy.sdk_client`."""
        folder = self.folder()
        if self.package:
            return [_node("node"), str(_SCRIPTS / "sdk_client.cjs"), str(folder), self.package]
        return [str(folder / "bin" / "python"), "-I", "-B", str(_SCRIPTS / "sdk_client.py"), self.api]

    def install(self) -> None:
        """Install it, unless it is there."""
        folder = self.folder()
        ready = folder / ".ready"
        with locked(folder.with_name(f"{folder.name}.lock"), f"it installs {self.name}"):
            if ready.exists():
                return
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            if self.package:
                command = [_node("npm"), "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
            else:
                # Without a pip of its own, which takes longer to install than the SDK: the tests' own does it.
                make = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
                progress.run(make, label=f"environment of {self.name}", expected_minutes=0.1, log=folder / "venv.log")
                pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
                command = [*pip, "--disable-pip-version-check", "-c", str(_CONSTRAINTS)]
            progress.run(
                [*command, *self.requirements()],
                label=self.name,
                expected_minutes=_EXPECTED_MINUTES,
                log=folder / "install.log",
            )
            ready.touch()


def install(sdks: Sequence[Sdk]) -> None:
    """Install those that are missing, side by side: it is mostly waiting for the network."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(Sdk.install, sdks))


def _node(program: str) -> str:
    """Node isn't part of this project's set-up: only the long run by hand needs it."""
    found = shutil.which(program)
    assert found is not None, f"{program} is not on PATH: the SDKs in TypeScript need Node.js with npm, 20 or newer"
    return found
