"""Makes the build folder of the Kubernetes provider: the module zip leaves out two files that its program embeds.

Both come from files that the module does hold: the schema gets the version, the mapping is only compacted. They are
generated outside the checkout, beside copies of our ``main.go``, ``go.mod`` and ``go.sum``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from devcluster import golang
from devcluster.errors import ClusterError

MODULE = "github.com/pulumi/pulumi-kubernetes/provider/v4"
VERSION = "4.25.0"
FILES = ("main.go", "go.mod", "go.sum")


def prepare(go: Path, source: Path, folder: Path) -> None:
    """Fill an empty build folder.

    Args:
        go: the go program.
        source: the tools module in the checkout.
        folder: the empty folder.

    Raises:
        ClusterError: the module could not be downloaded.
    """
    for name in FILES:
        shutil.copyfile(source / name, folder / name)
    env = golang.environment(go)
    command = [str(go), "mod", "download", "-json", MODULE]
    done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise ClusterError(f"downloading {MODULE} failed: {(done.stdout + done.stderr).strip()[-800:]}")
    module = Path(json.loads(done.stdout)["Dir"]) / "cmd" / "pulumi-resource-kubernetes"
    schema = json.loads((module / "schema.json").read_text())
    schema["version"] = VERSION
    _write(folder / "schema-embed.json", schema)
    _write(folder / "terraform-mapping-embed.json", json.loads((module / "terraform-mapping.json").read_text()))


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, separators=(",", ":")))
