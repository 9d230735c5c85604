"""Images that a Dockerfile makes: the package's own, and those that tests need; built by Debian's buildah on demand.

The Dockerfile is the one that users build from: here its base is the local Python image, with pip, and this machine's
settings of pip reach it as secrets, of which nothing stays in the image. A built image is kept by all that goes in.
"""

from __future__ import annotations

import ast
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster import cache, images, progress
from devcluster.debian import find_program, install_debian_packages
from devcluster.errors import ClusterError
from devcluster.images import oci, recipes, registry

CHECKOUT = Path(__file__).parents[2]
KEPT = 2
"""Built images of one name, the newest first: every change of the package's code makes another."""
_PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "default-timeout", "retries")
_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


class BuildError(ClusterError):
    """The image could not be built; the message holds the last lines of the log, and where it is."""


@dataclass(frozen=True)
class Source:
    """What an image is built from.

    Attributes:
        name: of the image.
        file: the Dockerfile.
        key: changes whenever what `fill` puts there would.
        fill: puts the Dockerfile's context into an empty folder.
        minutes: how long it takes, for the progress line.
    """

    name: str
    file: Path
    key: str = ""
    fill: Callable[[Path], None] = lambda _: None
    minutes: float = 1.0


def package() -> Source:
    """The image with the command `sandbox`, as the checkout's Dockerfile makes it of the checkout."""
    top = CHECKOUT / "sandbox_components"
    files = [path for path in sorted(top.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    files += [CHECKOUT / name for name in ("pyproject.toml", "README.md", "LICENSE", ".ci/constraints.txt")]
    key = cache.digest(*(str(path.relative_to(CHECKOUT)) for path in files), *files)
    return Source("sandbox-components", CHECKOUT / "Dockerfile", key, _fill_package)


def publish(source: Source, registry_address: str) -> str:
    """Have an image in a cluster's registry, built first if need be, and return the reference that its pods use.

    Args:
        source: what it is built from.
        registry_address: host and port as this machine sees it.

    Raises:
        BuildError: a step of the build failed.
        devcluster.images.registry.RegistryError: the registry doesn't take it.
    """
    with cache.locked(_built() / "lock", f"image {source.name} is being built"):
        layout = _layout(source)
        tag = layout.name.rpartition("-")[2]
        registry.push(layout, tag, registry_address, f"{source.name}:{tag}")
    return f"localhost:5000/{source.name}:{tag}"


def ensure(source: Source) -> Path:
    """Have an image as an OCI layout in the cache, built first if need be; it may go when newer ones are built.

    Raises:
        BuildError: a step of the build failed.
    """
    with cache.locked(_built() / "lock", f"image {source.name} is being built"):
        return _layout(source)


def pip_settings(listed: str, environment: Mapping[str, str]) -> tuple[str, Path | None]:
    """Return the pip.conf that a build gets, and the certificates that it trusts where they aren't pip's own.

    Args:
        listed: what `pip config list` printed.
        environment: may name certificates too.
    """
    found: dict[str, str] = {}
    for line in listed.splitlines():
        name, _, text = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in ("global", "install") or (section == ":env:" and key != "config-file"):
            found[key] = str(ast.literal_eval(text)).strip().replace("\n", "\n  ")
    ca = found.get("cert") or next((environment[one] for one in _CA_VARIABLES if environment.get(one)), None)
    lines = ["[global]", *(f"{key} = {found[key]}" for key in _PIP_SETTINGS if key in found)]
    if ca is not None:
        lines.append("cert = /run/secrets/ca")
    return "\n".join(lines) + "\n", None if ca is None else Path(ca)


def _built() -> Path:
    return cache.cache_root() / "images" / "built"


def _layout(source: Source) -> Path:
    """The image as an OCI layout whose folder's name ends with the image's tag; the lock is held."""
    base = recipes.python_with_pip()
    key = cache.digest(source.key, source.file, inspect.getsource(_build), *(x.key for x in base.layers))
    layout = _built() / f"{source.name}-{key}"
    for left in _built().glob("unfinished-*"):  # by a run that was killed
        shutil.rmtree(left)
    if not layout.exists():
        install_debian_packages((*images.PACKAGES, "buildah"))
        progress.say(f"building image {source.name}, takes about {source.minutes:g} min")
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=_built()) as work:
            _build(source, base, Path(work), key)
            (Path(work) / "layout").rename(layout)
    os.utime(layout)
    same = [path for path in _built().glob(f"{source.name}-*") if path.name.rpartition("-")[0] == source.name]
    for old in sorted(same, key=lambda path: -path.stat().st_mtime)[KEPT:]:
        shutil.rmtree(old)
    return layout


def _build(source: Source, base: recipes.Image, work: Path, key: str) -> None:
    """Build into `work/layout`, in mount namespaces of its own, so that a killed run leaves no mount behind."""
    home = cache.cache_root() / "images"
    with cache.locked(home / "lock", "images are being made"):
        archives = [images.layer_archive(part, home / "layers", work) for part in base.layers]
    oci.write_image(work / "base", base.tag, archives, base.config)
    context = work / "context"
    context.mkdir()
    source.fill(context)
    pip, ca = pip_settings(_run_for([sys.executable, "-m", "pip", "config", "list"]), os.environ)
    (work / "pip.conf").write_text(pip)
    secrets = [f"id=pip,src={work / 'pip.conf'}", *([] if ca is None else [f"id=ca,src={ca}"])]
    # vfs works on every file system; its copies are few, because all steps make one layer.
    storage = ["--root", str(work / "root"), "--runroot", str(work / "run"), "--storage-driver", "vfs"]
    buildah = ["unshare", "--mount", find_program("buildah") or "buildah", *storage]
    image = f"localhost/{source.name}:{key}"
    options = ["--isolation", "chroot", "--format", "oci", "--layers=false", f"--build-arg=BASE=oci:base:{base.tag}"]
    options += [f"--secret={one}" for one in secrets]
    log = cache.cache_root() / "logs" / f"image-{source.name}.log"
    _run([*buildah, "bud", *options, "--file", str(source.file), "--tag", image, str(context)], work, log)
    _run([*buildah, "push", image, f"oci:{work / 'layout'}:{key}"], work, log)


def _fill_package(context: Path) -> None:
    """The wheel of the checkout, and the versions that it is tested with."""
    (context / ".ci").mkdir()
    shutil.copy(CHECKOUT / ".ci/constraints.txt", context / ".ci")
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(context / "dist")]
    _run([*wheel, str(CHECKOUT)], context, cache.cache_root() / "logs" / "wheel.log")


def _run_for(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


def _run(command: Sequence[str], folder: Path, log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    if done.returncode:
        raise BuildError(f"{Path(command[0]).name} failed. Log {log} ends:\n{progress.last_lines(log)}")
