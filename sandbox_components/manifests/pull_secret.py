"""The Secret that lets the node pull from a private registry; the kubelet reads it, the agent never does."""

from __future__ import annotations

import base64
import json
from typing import Any

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.spec.image import registry


def docker_config(uri: str, username: str, password: str) -> str:
    """Return the text of a docker config with the credential of the registry that `uri` is in."""
    token = base64.b64encode(f"{username}:{password}".encode()).decode()
    entry = {"auth": token, "username": username, "password": password}
    return json.dumps({"auths": {registry(uri): entry}}, sort_keys=True)


def pull_secret(placement: Placement, config: Any) -> Manifest:
    """Return the pull Secret with a docker config; its name is made up, so that a new credential has a new name."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": placement.metadata(None),
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": config},
    }
