"""Kubeconfig files with everything in them, so that one file can be copied and used elsewhere."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import yaml

from devcluster.pki import Pair


def write(path: Path, *, cluster: str, server: str, authority: Path, user: str, pair: Pair) -> None:
    """Write a kubeconfig that only its owner may read.

    Args:
        path: where.
        cluster: the name of the cluster and of the context.
        server: the API server's address.
        authority: the file with the certificate of the authority that signed the server's.
        user: the user's name within the file.
        pair: what the user proves to be.
    """
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {"server": server, "certificate-authority-data": _encoded(authority)},
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _encoded(pair.certificate),
                    "client-key-data": _encoded(pair.key),
                },
            }
        ],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
        "current-context": cluster,
    }
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        yaml.safe_dump(content, file, sort_keys=False)
    temporary.replace(path)


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
