"""A bucket of moto's server, over HTTP, read as a state backend."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.errors import InvalidInput, NotFound, SandboxError, Unreachable
from sandbox_components.revisions.bucket_store import BucketStore
from sandbox_components.revisions.cache import HistoryCache
from sandbox_components.revisions.diy import DiyHistory
from sandbox_components.revisions.folder_store import FolderStore
from tests.harness import moto
from tests.harness.moto import Moto
from tests.revisions.told import spec
from tests.revisions.written import Written

pytestmark = pytest.mark.server

PAGE = 20
"""Objects in one answer of a listing; Amazon's are of a thousand."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("MOTO_S3_DEFAULT_MAX_KEYS", str(PAGE))
        with moto.server(tmp_path_factory.mktemp("moto") / "log") as server:
            yield server


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in moto.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))


def upload(server: Moto, folder: Path, bucket: str, prefix: str = "") -> None:
    client: Any = server.client("s3")
    for path in folder.rglob("*"):
        if path.is_file():
            key = f"{prefix}/{path.relative_to(folder)}".lstrip("/")
            client.put_object(Bucket=bucket, Key=key, Body=path.read_bytes())


@pytest.mark.parametrize("prefix", ["", "team/one two"])
def test_the_same_as_on_disk(server: Moto, tmp_path: Path, prefix: str) -> None:
    written = Written(tmp_path / "disk")
    for number, compression in enumerate(("plain", "gzip", "zstd")):
        written.entry({"one": spec(f"a:{number}")}, compression=compression)
    bucket = "same-" + ("with" if prefix else "without")
    url = server.backend(bucket, prefix)
    upload(server, written.root, bucket, prefix)
    stores = FolderStore.open(written.root.as_uri(), tmp_path), BucketStore.open(url)
    answers = []
    for store in stores:
        history = DiyHistory(store, "agents", "test", HistoryCache(store.url, tmp_path / "caches"))
        entries = history.entries()
        raw = [history.raw_checkpoint(entry) for entry in entries]
        answers.append((entries, history.checkpoints(entries), raw, history.problems))
    assert answers[0] == answers[1]
    assert len(answers[0][0]) == 3


def test_how_many_requests(server: Moto, tmp_path: Path) -> None:
    written = Written(tmp_path / "disk")
    for _ in range(5):
        written.entry({"one": spec()})
    url = server.backend("counted")
    upload(server, written.root, "counted")
    counts = []
    for _ in range(2):
        store = BucketStore.open(url)
        history = DiyHistory(store, "agents", "test", HistoryCache(store.url, tmp_path / "caches"))
        before = len(server.requests())
        history.checkpoints(history.entries())
        counts.append(len(server.requests()) - before)
    assert counts == [2 + 2 * 5, 2]


def test_more_than_a_page_and_what_lies_below(server: Moto, tmp_path: Path) -> None:
    url = server.backend("pages")
    client: Any = server.client("s3")
    for number in range(2 * PAGE + 5):
        client.put_object(Bucket="pages", Key=f"folder/{number}.json", Body=b"x" * (number % 7))
    client.put_object(Bucket="pages", Key="folder/below/x.json", Body=b"")
    client.put_object(Bucket="pages", Key="folder-2/x.json", Body=b"")
    found = {one.name: one.mark for one in BucketStore.open(url).list("folder")}
    assert set(found) == {f"{number}.json" for number in range(2 * PAGE + 5)}
    assert found["3.json"] != found["4.json"]


def test_what_is_not_there(server: Moto) -> None:
    store = BucketStore.open(server.backend("sparse"))
    assert store.list("nothing") == []
    with pytest.raises(NotFound, match="there is no nothing/x"):
        store.read("nothing/x")
    missing = BucketStore.open(server.backend("sparse").replace("sparse", "missing"))
    with pytest.raises(NotFound, match="no such bucket"):
        missing.list("x")
    history = DiyHistory(missing, "agents", "test", HistoryCache("x", Path("/nonexistent")))
    with pytest.raises(NotFound, match="no such bucket"):
        history.entries()


def test_a_server_that_does_not_answer() -> None:
    store = BucketStore.open("s3://state?endpoint=127.0.0.1:1&disableSSL=true&region=us-east-1")
    with pytest.raises(Unreachable, match=r"s3://state\?endpoint=http://127.0.0.1:1 can't be read: "):
        store.read("x")


def test_without_the_package_that_reads_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(SandboxError, match="needs the package obstore") as caught:
        BucketStore.open("s3://state")
    assert caught.value.suggestions == ('pip install "sandbox-components[remote-state]"',)


def test_certificates_that_can_not_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "nothing.pem"))
    with pytest.raises(InvalidInput, match=r"AWS_CA_BUNDLE: .* can't be read: No such file"):
        BucketStore.open("s3://state")


def test_the_urls_endpoint_wins_over_the_environments(server: Moto, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.backend("wins")
    server.client("s3").put_object(Bucket="wins", Key="x", Body=b"here")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert BucketStore.open(url).read("x") == b"here"
