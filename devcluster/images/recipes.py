"""The images that the local cluster and its tests use: which layers, made how, with which config."""

from __future__ import annotations

import importlib.util
import inspect
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster import cache
from devcluster.debian import find_program
from devcluster.errors import ClusterError
from devcluster.images import debian_root, oci

FILES = Path(__file__).parent / "files"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PYTHON_ENV = (f"PATH={PATH}", "LANG=C.UTF-8", "PYTHONUNBUFFERED=1")
# This busybox's wget fails without a word inside containers; the others need a system that runs init.
_LEFT_OUT = {"wget", "busybox", "init", "linuxrc", "halt", "poweroff", "reboot"}


@dataclass(frozen=True)
class Layer:
    """One layer.

    Attributes:
        name: part of the cached archive's name.
        make: fills an empty folder with the layer's files.
        key: changes whenever the layer's content would.
        minutes: how long it takes, for the progress line.
    """

    name: str
    make: Callable[[Path], None]
    key: str
    minutes: float = 0.1


@dataclass(frozen=True)
class Image:
    """An image: ``name:tag``, its layers from the lowest, its OCI config."""

    name: str
    tag: str
    layers: tuple[Layer, ...]
    config: Mapping[str, Any]

    @property
    def reference(self) -> str:
        """``name:tag``."""
        return f"{self.name}:{self.tag}"


def make_busybox(root: Path) -> None:
    """A static busybox with a link for every applet, and the folders that programs expect."""
    busybox = _program("busybox")
    for folder in ("bin", "etc", "root", "var"):
        (root / folder).mkdir()
    for folder in ("tmp", "var/tmp"):
        (root / folder).mkdir()
        (root / folder).chmod(0o1777)
    for link in ("sbin", "usr"):
        (root / link).symlink_to("bin" if link == "sbin" else ".")
    shutil.copy(busybox, root / "bin/busybox")
    listed = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split()
    for applet in sorted(set(listed) - _LEFT_OUT):
        (root / "bin" / applet).symlink_to("busybox")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")


def make_pause(root: Path) -> None:
    """Our own pause program, compiled without any library."""
    command = [
        _program("gcc"),
        "-Os",
        "-static",
        "-s",
        "-Wall",
        "-o",
        str(root / "pause"),
        str(FILES / "pause.c"),
    ]
    subprocess.run(command, check=True)


def make_agent(root: Path) -> None:
    """The stand-in agent in /app."""
    shutil.copytree(FILES / "agent", root / "app", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "app/start.sh").chmod(0o755)


def make_coredns(root: Path, binary: Path) -> None:
    """The coredns binary with the shared libraries that this machine's linker gave it."""
    shutil.copy(binary, root / "coredns")
    (root / "etc").mkdir()
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/coredns\n")
    # `ldd` says "not a dynamic executable" (and fails) for a static one: then there is nothing to add.
    listed = subprocess.run(["ldd", str(binary)], capture_output=True, text=True).stdout
    for word in listed.split():
        if word.startswith("/") and Path(word).is_file():
            target = root / word.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(word).resolve(), target)


def make_pip(root: Path) -> None:
    """This interpreter's pip, which is pure Python, where Debian's looks for modules: Debian's own needs a compiler."""
    target = root / "usr/local/lib/python3.11/dist-packages/pip"
    shutil.copytree(_pip(), target, ignore=shutil.ignore_patterns("__pycache__"))


def images(coredns: Path | None) -> list[Image]:
    """Every image that can be made; coredns only when its binary is there."""
    python = _python()
    busybox = Layer("busybox", make_busybox, _key(make_busybox, Path(_program("busybox"))))
    pause = Layer("pause", make_pause, _key(make_pause, FILES / "pause.c"))
    agent = Layer("agent", make_agent, _key(make_agent, *sorted((FILES / "agent").glob("*.*"))))
    path = f"PATH={PATH}"
    made = [
        Image("pause", "1", (pause,), {"Entrypoint": ["/pause"], "User": "65535:65535"}),
        Image("busybox", "1", (busybox,), {"Cmd": ["sh"], "Env": [path]}),
        Image("python", "3.11", (python,), {"Cmd": ["python3"], "Env": [*_PYTHON_ENV]}),
    ]
    for version in ("1", "2"):
        config = {
            "Cmd": ["./start.sh"],
            "Env": [*_PYTHON_ENV, f"AGENT_VERSION={version}"],
            "WorkingDir": "/app",
            "ExposedPorts": {"8080/tcp": {}},
            "Labels": {"version": version},
        }
        made.append(Image("agent", version, (python, agent), config))
    if coredns is not None and coredns.exists():
        binary = coredns.resolve()
        layer = Layer("coredns", lambda root: make_coredns(root, binary), _key(make_coredns, binary))
        made.append(Image("coredns", "1", (layer,), {"Entrypoint": ["/coredns"], "WorkingDir": "/"}))
    return made


def python_with_pip() -> Image:
    """What Dockerfiles are built on here; no cluster has it in its registry."""
    pip = Layer("pip", make_pip, _key(make_pip, _pip() / "__init__.py"))
    return Image("python-pip", "3.11", (_python(), pip), {"Cmd": ["python3"], "Env": [*_PYTHON_ENV]})


def _python() -> Layer:
    return Layer("python", debian_root.make_python_root, _key(debian_root), minutes=1.5)


def _pip() -> Path:
    found = importlib.util.find_spec("pip")
    if found is None or found.origin is None:
        raise ClusterError("this Python has no pip: use the one that `make` sets up, .venv/bin/python")
    return Path(found.origin).parent


def _key(source: Any, *inputs: Path) -> str:
    """A key over the source of what makes a layer, how layers are packed, and the files that go in."""
    return cache.digest(inspect.getsource(source), inspect.getsource(oci), *inputs)


def _program(name: str) -> str:
    found = find_program(name)
    if found is None:
        raise ClusterError(
            f"{name} is not installed: run `python -m devcluster build` once, it installs what is missing"
        )
    return found
