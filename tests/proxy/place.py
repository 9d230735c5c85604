"""A running proxy for tests: the command in a process of its own, our double behind it, a file as its source."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from sandbox_components.spec.identity import Identity, print_identity
from sandbox_components.spec.inference_key import make_key, make_read_key
from sandbox_components.spec.spending import DeclaredLimit, print_limit
from tests.harness.mortal import with_us
from tests.proxy.double import KEY

SIGNING_KEY = "the-signing-key-of-the-tests-0123456789"
SANDBOX = "proj/prod/nightly"
COMMAND = (sys.executable, "-c", "from sandbox_components.cli.app import main; main()", "serve", "proxy", "--config")
ROOT = Path(__file__).parents[2]
START_SECONDS = 180
"""More than a busy machine needs."""


@dataclass
class Double:
    """A running double; see `tests.proxy.double`."""

    url: str
    _client: httpx2.Client

    def calls(self) -> list[dict[str, Any]]:
        """Everything that was asked of it."""
        calls: list[dict[str, Any]] = self._told("calls")["calls"]
        return calls

    def served(self) -> list[dict[str, Any]]:
        """Calls that a provider would charge for."""
        return [one for one in self.calls() if one["is_served"]]

    def open(self) -> int:
        """Connections with a call in flight."""
        return int(self._told("calls")["open"])

    def reset(self) -> None:
        """Forget all calls."""
        self._told("reset")

    def _told(self, what: str) -> dict[str, Any]:
        answer = self._client.get(f"{self.url}/double/{what}")
        told: dict[str, Any] = answer.json()
        return told


@contextmanager
def double(host: str = "127.0.0.1") -> Iterator[Double]:
    """Have a double until the end of the block, at an address of this machine's."""
    command = [sys.executable, "-m", "tests.proxy.double", host]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), "the double did not start"
        with httpx2.Client(trust_env=False) as client:
            yield Double(url, client)
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(20)
        process.stdout.close()


@dataclass
class Place:
    """Settings, source and processes of one proxy.

    Args:
        folder: its files.
        upstream: base URL behind it.
        database: URL of the ledger; default a file of SQLite's.
        more: over the settings.
        command: up to the settings file's name.
    """

    folder: Path
    upstream: str
    database: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    command: Sequence[str] = COMMAND
    url: str = ""
    admin_url: str = ""
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.database = self.database or f"sqlite:///{self.folder}/ledger.sqlite"
        self.source = self.folder / "source.yaml"
        self.settings = self.folder / "settings.yaml"
        self.log = self.folder / "log"

    def know(self, identities: Sequence[Identity], limits: Sequence[DeclaredLimit] = ()) -> None:
        """Write who there is, and what they may spend."""
        document = {
            "identities": [json.loads(print_identity(one)) for one in identities],
            "limits": [json.loads(print_limit(one)) for one in limits],
        }
        new = self.source.with_suffix(".new")
        new.write_text(json.dumps(document))
        new.rename(self.source)

    def start(self) -> None:
        """Start the proxy and wait until it is ready."""
        if not self.source.exists():
            self.know([Identity(SANDBOX)])
        settings = {
            "listen": "127.0.0.1:0",
            "admin": "127.0.0.1:0",
            "database": {"env": "LEDGER_URL"},
            "signingKey": {"env": "SIGNING_KEY"},
            "source": {"file": str(self.source)},
            "upstreams": [
                {"name": api, "api": api, "baseUrl": self.upstream, "key": {"env": "PROVIDER_KEY"}}
                for api in ("openai", "anthropic")
            ],
            **self.more,
        }
        self.settings.write_text(json.dumps(settings))
        environment = {
            **os.environ,
            "LEDGER_URL": self.database,
            "SIGNING_KEY": SIGNING_KEY,
            "PROVIDER_KEY": KEY,
        }
        begin = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            arguments = [*with_us(), *self.command, str(self.settings)]
            self.process = subprocess.Popen(
                arguments, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        serving = self._wait_for("serving", begin)
        self.url, self.admin_url = f"http://{serving['listen']}", f"http://{serving['admin']}"
        deadline = time.monotonic() + START_SECONDS
        while httpx2.get(f"{self.admin_url}/readyz", trust_env=False).status_code != 200:
            assert time.monotonic() < deadline, f"not ready: {self.log.read_text()}"
            time.sleep(0.02)

    def _wait_for(self, event: str, begin: int) -> dict[str, Any]:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            found = next((one for one in self.lines(begin) if one.get("event") == event), None)
            if found:
                return found
            assert self.process is not None
            assert self.process.poll() is None, f"the proxy ended: {self.log.read_text()}"
            time.sleep(0.02)
        raise AssertionError(f"the proxy does not serve: {self.log.read_text()}")

    def lines(self, begin: int = 0) -> list[dict[str, Any]]:
        """The log's lines."""
        text = self.log.read_bytes()[begin:].decode()
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n") and line[0] == "{"]

    def kill(self) -> None:
        """Kill the proxy at once."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(20)
        self.process = None

    def stop(self) -> int:
        """Tell the proxy to end, and return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(40)
        self.process = None
        return code

    def key(self, sandbox: str = SANDBOX, generation: int = 1) -> str:
        """A sandbox's key."""
        return make_key(SIGNING_KEY.encode(), sandbox, generation)

    def client(self, sandbox: str = SANDBOX, **more: Any) -> httpx2.Client:
        """A client with a sandbox's key."""
        headers = {"authorization": f"Bearer {self.key(sandbox)}"}
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, **{"timeout": 30, **more})

    def spend(self, sandbox: str = SANDBOX, **query: str) -> dict[str, Any]:
        """What the admin port tells of a sandbox."""
        asked = {"actorType": "sandbox", "actorId": sandbox, **query}
        headers = {"x-sandbox-admin-key": make_read_key(SIGNING_KEY.encode())}
        answer = httpx2.get(f"{self.admin_url}/v1/spend", params=asked, headers=headers, trust_env=False)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told


@contextmanager
def running(place: Place) -> Iterator[Place]:
    """Have it running until the end of the block."""
    try:
        place.start()
        yield place
    finally:
        if place.process is not None:
            place.process.kill()
            place.process.wait(20)
