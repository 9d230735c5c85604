"""Writes container images in the OCI layout: a folder becomes a layer, layers and a config become an image.

Written by hand because no packaged tool makes images without a base image, a daemon or a user namespace. All
that varies from run to run (order, times, user names) is fixed, so equal folders give equal digests.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FIXED_TIME = 1735689600
CREATED = "2025-01-01T00:00:00Z"
LAYER = "application/vnd.oci.image.layer.v1.tar"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def architecture() -> str:
    """This machine's architecture as images name it."""
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def write_layer(root: Path, target: Path) -> None:
    """Pack a root file system into an uncompressed layer: a cluster waits for unpacking, not for the disk.

    Owners are kept as numbers, times are fixed, device nodes are left out (a runtime makes its own).
    """
    unfinished = target.with_suffix(".unfinished")
    with tarfile.open(unfinished, "w", format=tarfile.PAX_FORMAT) as archive:
        for folder, folders, files in os.walk(root):
            folders.sort()
            for name in sorted([*folders, *files]):
                path = Path(folder) / name
                entry = archive.gettarinfo(path, str(path.relative_to(root)))
                if entry is None or entry.isdev():
                    continue
                entry.mtime, entry.uname, entry.gname = FIXED_TIME, "", ""
                if entry.isreg():
                    with path.open("rb") as content:
                        archive.addfile(entry, content)
                else:
                    archive.addfile(entry)
    unfinished.rename(target)


def write_image(layout: Path, tag: str, layers: Sequence[Path], config: Mapping[str, Any]) -> str:
    """Write an image into a new OCI layout folder and return its manifest's digest.

    Args:
        layout: the folder to make.
        tag: the name of the image inside the layout.
        layers: layer archives as `write_layer` makes them, lowest first.
        config: the image's ``config`` object (Cmd, Env, WorkingDir, ...).
    """
    blobs = layout / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    described = []
    for layer in layers:
        with layer.open("rb") as file:
            name = hashlib.file_digest(file, "sha256").hexdigest()
        (blobs / name).symlink_to(layer.resolve())
        described.append({"mediaType": LAYER, "digest": f"sha256:{name}", "size": layer.stat().st_size})
    image = {
        "created": CREATED,
        "architecture": architecture(),
        "os": "linux",
        "config": dict(config),
        "rootfs": {"type": "layers", "diff_ids": [one["digest"] for one in described]},
        "history": [{"created": CREATED, "created_by": "devcluster.images"} for _ in described],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _put(blobs, CONFIG, image),
        "layers": described,
    }
    entry = _put(blobs, MANIFEST, manifest)
    entry["annotations"] = {"org.opencontainers.image.ref.name": tag}
    (layout / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}))
    return str(entry["digest"])


def _put(blobs: Path, media_type: str, content: Mapping[str, Any]) -> dict[str, Any]:
    raw = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    name = hashlib.sha256(raw).hexdigest()
    (blobs / name).write_bytes(raw)
    return {"mediaType": media_type, "digest": f"sha256:{name}", "size": len(raw)}
