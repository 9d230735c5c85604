"""A copy of the Pulumi project with settings of its own, for those who must not edit the checkout.

A cluster that isn't ours knows neither the local registry's image nor the local storage class; tests change what they
like.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import yaml

CHECKOUT = Path(__file__).resolve().parents[1]


def make(folder: Path, checkout: Path = CHECKOUT) -> Path:
    """Copy ``Pulumi.yaml`` and ``programs/`` into a folder, over an older copy, and return the folder.

    The copy runs with the Python that runs this.

    Args:
        folder: made if it isn't there.
        checkout: where to copy from.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "programs", ignore_errors=True)
    shutil.copytree(checkout / "programs", folder / "programs", ignore=shutil.ignore_patterns("__pycache__"))
    for file in (checkout / "Pulumi.yaml", *(checkout / "programs").glob("*/Pulumi.yaml")):
        project = yaml.safe_load(file.read_text())
        project["runtime"]["options"]["virtualenv"] = sys.prefix
        (folder / file.relative_to(checkout)).write_text(yaml.safe_dump(project, sort_keys=False))
    return folder


def for_any_cluster(folder: Path, stack: str, image: str) -> None:
    """Have every sandbox of a copied stack use an image, and the cluster's default storage class.

    Args:
        folder: of the copy.
        stack: whose config is changed.
        image: what the cluster can pull.
    """
    file = folder / "programs" / "config" / f"Pulumi.{stack}.yaml"
    content = yaml.safe_load(file.read_text())
    config = content["config"]
    config.pop("sandbox-components:agentVolumeStorageClass", None)
    for sandbox in config["sandbox-components:sandboxes"].values():
        sandbox["image"] = {"uri": image}
    file.write_text(yaml.safe_dump(content, sort_keys=False))
