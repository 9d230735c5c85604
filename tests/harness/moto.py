"""Amazon's S3 and KMS as moto plays them: a server over HTTP in a process of its own, for Pulumi and for us.

Run as a module it is that server: it says its URL on standard output, and every request in a line on standard error.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REGION = "us-east-1"
ENVIRONMENT: Mapping[str, str] = {
    "AWS_ACCESS_KEY_ID": "only-for-tests",
    "AWS_SECRET_ACCESS_KEY": "only-for-tests",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""Credentials that moto takes, and no look for others."""
_REQUEST = re.compile(r'"(?:\x1b\[\d+m)*([A-Z]+ \S+) HTTP/')


@dataclass(frozen=True)
class Moto:
    """A running server.

    Attributes:
        url: `http://127.0.0.1:PORT`.
        log: its requests, one a line.
    """

    url: str
    log: Path

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which Amazon's SDKs (and Pulumi's `awskms://`) find it."""
        return {**ENVIRONMENT, "AWS_ENDPOINT_URL": self.url}

    def client(self, service: str) -> Any:
        """A boto3 client of a service, such as `s3` or `kms`."""
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=ENVIRONMENT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
        )

    def backend(self, bucket: str, prefix: str = "") -> str:
        """Make a bucket, if it isn't there, and return Pulumi's URL of a state backend in it."""
        self.client("s3").create_bucket(Bucket=bucket)
        path = f"/{prefix}" if prefix else ""
        return f"s3://{bucket}{path}?endpoint={self.url}&s3ForcePathStyle=true&region={REGION}"

    def requests(self) -> list[str]:
        """All requests up to now, such as `GET /bucket?list-type=2`."""
        return _REQUEST.findall(self.log.read_text())


@contextmanager
def server(log: Path, *, delay_seconds: float = 0.0) -> Iterator[Moto]:
    """Have a server until the end of the block, every answer later by `delay_seconds` as if it were far away."""
    command = [sys.executable, "-m", "tests.harness.moto", str(delay_seconds)]
    root = Path(__file__).parents[2]
    with log.open("w") as file:
        process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), f"moto did not start:\n{log.read_text()}"
        yield Moto(url, log)
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(20)
        process.stdout.close()


def main() -> None:
    """Serve until standard input ends, so that no server outlives its test."""
    from moto.server import ThreadedMotoServer

    if float(sys.argv[1]) > 0:
        _delay(float(sys.argv[1]))
    serving = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    serving.start()
    host, port = serving.get_host_and_port()
    print(f"http://{host}:{port}", flush=True)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    ended.wait()


def _delay(seconds: float) -> None:
    from moto.moto_server import threaded_moto_server as module

    class FarAway(module.DomainDispatcherApplication):
        def __call__(self, *request: Any) -> Any:
            time.sleep(seconds)
            return super().__call__(*request)

    module.DomainDispatcherApplication = FarAway


if __name__ == "__main__":
    main()
