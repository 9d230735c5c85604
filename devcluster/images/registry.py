"""Loads images into a registry's storage folder by a registry that runs for just that, on loopback."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from devcluster.debian import find_program
from devcluster.errors import ClusterError

CONFIG = """\
version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: {storage}}}
  delete: {{enabled: true}}
  maintenance: {{uploadpurging: {{enabled: false}}}}
http: {{addr: "{address}"}}
"""


class RegistryError(ClusterError):
    """The registry did not start or an image could not be pushed; the message holds the tool's last lines."""


def registry_config(storage: Path, address: str) -> str:
    """The configuration of Debian's docker-registry over a storage folder, plain HTTP at ``host:port``."""
    return CONFIG.format(storage=storage, address=address)


@contextlib.contextmanager
def loopback_registry(storage: Path) -> Iterator[str]:
    """Run a registry over the storage folder on a free loopback port; yields its ``127.0.0.1:port``."""
    program = find_program("docker-registry")
    if program is None:
        raise RegistryError("docker-registry is not installed")
    with tempfile.TemporaryDirectory(prefix="sandbox-registry-") as folder:
        address = f"127.0.0.1:{_free_port()}"
        config, log = Path(folder) / "config.yml", Path(folder) / "log"
        config.write_text(registry_config(storage, address))
        with log.open("wb") as output:
            process = subprocess.Popen(
                [program, "serve", str(config)], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            _wait(process, address, log)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def push(layout: Path, tag: str, address: str, reference: str) -> None:
    """Copy an image of an OCI layout into the registry as ``name:tag``, its bytes unchanged.

    Raises:
        RegistryError: skopeo failed.
    """
    options = ["--quiet", "--preserve-digests", "--dest-tls-verify=false"]
    source, target = f"oci:{layout}:{tag}", f"docker://{address}/{reference}"
    command = [find_program("skopeo") or "skopeo", "--insecure-policy", "copy", *options, source, target]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise RegistryError(f"pushing {reference} failed: {done.stderr.strip()[-600:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], address: str, log: Path, seconds: float = 20) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError):
            opener.open(f"http://{address}/v2/", timeout=2).close()
            return
        time.sleep(0.05)
    raise RegistryError(f"docker-registry did not start at {address}: {log.read_text(errors='replace')[-600:]}")
