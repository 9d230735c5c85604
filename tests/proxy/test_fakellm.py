"""The proxy before a provider that others wrote: fakellm, from PyPI, in OpenAI's and Anthropic's formats."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx2
import pytest

from tests.proxy.calls import CHAT, MESSAGES, Kind, way_name
from tests.proxy.place import Place, running

pytestmark = pytest.mark.server

RULES = """
version: 1
rules:
  - name: all
    when: {}
    respond: {content: "Hello from another house."}
"""


@pytest.fixture(scope="module")
def fakellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address."""
    folder = tmp_path_factory.mktemp("fakellm")
    (folder / "fakellm.yaml").write_text(RULES)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serve = "from fakellm.cli import main; main()"
    command = [sys.executable, "-c", serve, "serve", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 40
        while True:
            try:
                httpx2.get(f"http://127.0.0.1:{port}/_fakellm/stats", trust_env=False)
                break
            except httpx2.TransportError:
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def place(fakellm: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A proxy in front of it."""
    with running(Place(tmp_path_factory.mktemp("place"), fakellm)) as one:
        yield one


@pytest.mark.parametrize("stream", [False, True], ids=way_name)
@pytest.mark.parametrize("kind", [CHAT, MESSAGES], ids=way_name)
def test_it_is_passed_on_and_charged(place: Place, kind: Kind, stream: bool) -> None:
    before = place.spend()["total"]
    with place.client() as client:
        answer = client.post(kind.path, json=kind.body(stream=stream))
    assert answer.status_code == 200, answer.text
    assert "Hello" in answer.text
    total = place.spend()["total"]
    assert total["calls"] == before["calls"] + 1
    assert total["nanos"] > before["nanos"]
