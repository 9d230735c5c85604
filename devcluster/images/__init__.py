"""Images for the local cluster, made on this machine and kept as a registry's storage folder.

`ensure_registry_storage` is all that the rest needs: its folder is what Debian's docker-registry serves. A
cluster works on a copy of it (`devcluster.registry_copy`), because clients may push into their own registry.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from devcluster import cache
from devcluster.debian import install_debian_packages
from devcluster.images import oci, recipes, registry

PACKAGES = ("skopeo", "docker-registry", "busybox-static", "debootstrap", "debian-archive-keyring", "gcc",
             "libc6-dev", "util-linux")  # fmt: skip


def ensure_registry_storage(bin_dir: Path | None = None) -> Path:
    """Make every image that isn't in the cache and return the registry storage folder that holds them all.

    Args:
        bin_dir: where the built binaries are; ``coredns:1`` is left out when coredns isn't there.

    Returns:
        The storage folder. Beside it, in ``digests.json``, stands ``{"name:tag": "sha256:..."}``.

    Raises:
        devcluster.debian.DebianError: a tool is missing and can't be installed.
        devcluster.images.debian_root.RootError, devcluster.images.registry.RegistryError: a step failed.
    """
    install_debian_packages(PACKAGES)
    home = cache.cache_root() / "images"
    wanted = recipes.images(None if bin_dir is None else bin_dir / "coredns")
    key = cache.digest(
        *(f"{one.reference} {json.dumps(one.config)} {[part.key for part in one.layers]}" for one in wanted)
    )
    folder = home / f"registry-{key}"
    with cache.locked(home / "lock", "images are being made"):
        if not folder.exists():
            home.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="unfinished-", dir=home) as work:
                _fill(Path(work), home / "layers", wanted)
                (Path(work) / "result").rename(folder)
    return folder / "storage"


def _fill(work: Path, layers: Path, wanted: list[recipes.Image]) -> None:
    """Make the layers, then the images, and push them into ``work/result/storage``."""
    storage = work / "result" / "storage"
    storage.mkdir(parents=True)
    digests = {}
    with registry.loopback_registry(storage) as address:
        for image in wanted:
            archives = [layer_archive(part, layers, work) for part in image.layers]
            layout = work / f"{image.name}-{image.tag}"
            digests[image.reference] = oci.write_image(layout, image.tag, archives, image.config)
            registry.push(layout, image.tag, address, image.reference)
            print(f"image {image.reference} {digests[image.reference]}", file=sys.stderr, flush=True)
    (work / "result" / "digests.json").write_text(json.dumps(digests, indent=2) + "\n")


def layer_archive(layer: recipes.Layer, layers: Path, work: Path) -> Path:
    """The layer's archive from the cache, made first if need be."""
    archive = layers / f"{layer.name}-{layer.key}.tar"
    if not archive.exists():
        layers.mkdir(parents=True, exist_ok=True)
        print(f"making image layer {layer.name}, takes about {layer.minutes:g} min", file=sys.stderr, flush=True)
        root = work / f"root-{layer.name}"
        root.mkdir()
        layer.make(root)
        oci.write_layer(root, archive)
        shutil.rmtree(root)
    return archive
