"""What the proxy knows of sandboxes: from a file and from ConfigMaps, fresh or not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.errors import SandboxError, Unreachable
from sandbox_components.ledger.model import Limit, StoreDown
from sandbox_components.proxy.cluster_source import ClusterSource
from sandbox_components.proxy.directory import Directory
from sandbox_components.proxy.fault import BadKey, NotReady
from sandbox_components.proxy.source import Complain, FileSource, Loaded, Source, Take
from sandbox_components.spec.identity import IDENTITY_ANNOTATION, Identity, print_identity
from sandbox_components.spec.inference_key import KeyClaims
from sandbox_components.spec.spending import (
    IDENTITY,
    INFERENCE_LABEL,
    LIMIT,
    LIMIT_ANNOTATION,
    DeclaredLimit,
    config_map_name,
    print_limit,
)
from tests.kube.api import FakeApi

ONE = Identity("p/s/one", org="acme")
FOLDER = "/api/v1/namespaces/inference/configmaps"


class Table:
    """Takes limits."""

    def __init__(self) -> None:
        self.limits: Sequence[Limit] | None = None
        self.is_down = False

    async def replace_limits(self, limits: Sequence[Limit], now: datetime) -> None:
        if self.is_down:
            raise StoreDown("down")
        self.limits = limits


class Told:
    """A source that tells what a test says."""

    def __init__(self) -> None:
        self.take: Take | None = None
        self.known: dict[str, Identity] = {}
        self.asked: list[str] = []
        self.is_away = False

    async def follow(self, take: Take, complain: Complain) -> None:
        self.take = take
        await asyncio.Event().wait()

    async def read_one(self, sandbox_id: str) -> Identity | None:
        self.asked.append(sandbox_id)
        if self.is_away:
            raise Unreachable("away")
        return self.known.get(sandbox_id)


class Clock:
    """Seconds."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def following(source: Source, table: Table, work: Callable[[Directory, list[Exception]], Awaitable[None]]) -> None:
    async def main() -> None:
        faults: list[Exception] = []
        directory = Directory(source, table, faults.append, Clock())
        task = asyncio.create_task(directory.follow())
        try:
            async with asyncio.timeout(20):
                await asyncio.sleep(0)
                await work(directory, faults)
        finally:
            task.cancel()

    asyncio.run(main())


async def until(is_so: Callable[[], object]) -> None:
    while not is_so():
        await asyncio.sleep(0.01)


def test_keys_open_what_is_known_and_no_more() -> None:
    source, table = Told(), Table()

    async def work(directory: Directory, faults: list[Exception]) -> None:
        assert directory.trouble() == "identities and limits are not loaded yet"
        assert source.take is not None
        await source.take(Loaded({"p/s/one": Identity("p/s/one", generation=2)}))
        assert directory.trouble() is None
        assert (await directory.identify(KeyClaims("p/s/one", 2))).generation == 2
        with pytest.raises(BadKey, match="replaced by a newer"):
            await directory.identify(KeyClaims("p/s/one", 1))
        assert source.asked == []
        for _ in range(3):  # an unknown one is looked up once in a while, not at every call
            with pytest.raises(BadKey, match="doesn't know"):
                await directory.identify(KeyClaims("p/s/two", 1))
        assert source.asked == ["p/s/two"]
        source.known["p/s/one"] = Identity("p/s/one", generation=3)
        assert (await directory.identify(KeyClaims("p/s/one", 3))).generation == 3
        with pytest.raises(BadKey):
            await directory.identify(KeyClaims("p/s/one", 2))
        source.is_away = True
        with pytest.raises(NotReady):
            await directory.identify(KeyClaims("p/s/three", 1))
        assert isinstance(faults[-1], Unreachable)
        await source.take(Loaded({}))
        with pytest.raises((BadKey, NotReady)):
            await directory.identify(KeyClaims("p/s/one", 3))

    following(source, table, work)


def test_a_silent_source_stops_all_calls() -> None:
    source, clock = Told(), Clock()

    async def main() -> None:
        directory = Directory(source, Table(), lambda error: None, clock)
        task = asyncio.create_task(directory.follow())
        await asyncio.sleep(0)
        assert source.take is not None
        await source.take(Loaded({}))
        clock.now += 59
        assert directory.trouble() is None
        clock.now += 1
        assert "no word" in str(directory.trouble())
        await source.take(Loaded({}))
        assert directory.trouble() is None
        await source.take(Loaded({}, problems=("ConfigMap x: limitCents: no",)))
        assert "ConfigMap x" in str(directory.trouble())
        task.cancel()

    asyncio.run(main())


def test_limits_that_the_ledger_has_not_taken_are_not_loaded() -> None:
    source, table = Told(), Table()

    async def work(directory: Directory, faults: list[Exception]) -> None:
        assert source.take is not None
        table.is_down = True
        with pytest.raises(StoreDown):
            await source.take(Loaded({"p/s/one": ONE}))
        assert directory.trouble() is not None
        assert directory.find("p/s/one") is None

    following(source, table, work)


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path, table = tmp_path / "source.yaml", Table()

    def write(document: dict[str, Any]) -> None:
        path.with_suffix(".new").write_text(json.dumps(document))
        path.with_suffix(".new").rename(path)

    limit = {"actorType": "org", "actorId": "acme", "period": "week", "limitCents": 7, "timeZone": "Asia/Tokyo"}

    async def work(directory: Directory, faults: list[Exception]) -> None:
        await until(lambda: faults)
        assert "can't be read" in str(faults[0])
        write({"identities": [{"id": "p/s/one", "org": "acme", "generation": 1}], "limits": [limit]})
        await until(lambda: directory.find("p/s/one"))
        assert directory.find("p/s/one") == ONE
        assert table.limits is not None
        assert (table.limits[0].limit_nanos, table.limits[0].time_zone) == (70_000_000, "Asia/Tokyo")
        for wrong in ({"limits": [{**limit, "limitCents": -1}]}, {"limits": 3}, {"limit": []}, {"limits": [limit] * 2}):
            faults.clear()
            write(wrong)
            await until(lambda: faults)
        assert directory.find("p/s/one") == ONE
        write({})
        await until(lambda: len(directory) == 0)
        assert table.limits == ()

    following(FileSource(path, 0.01), table, work)


def config_map(name: str, kind: str, annotation: str, text: str) -> dict[str, Any]:
    labels, annotations = {INFERENCE_LABEL: kind}, {annotation: text}
    return {"metadata": {"name": name, "namespace": "inference", "labels": labels, "annotations": annotations}}


def identity_map(identity: Identity) -> dict[str, Any]:
    name = config_map_name(identity.sandbox_id.rsplit("/", 1)[-1], identity.sandbox_id, IDENTITY)
    return config_map(name, IDENTITY, IDENTITY_ANNOTATION, print_identity(identity))


def limit_map(name: str, cents: int) -> dict[str, Any]:
    text = print_limit(DeclaredLimit("org", "acme", "day", cents))
    return config_map(name, LIMIT, LIMIT_ANNOTATION, text)


def test_config_maps_are_listed_and_watched() -> None:
    api, table = FakeApi(), Table()
    api.put(identity_map(ONE), FOLDER)
    api.put(limit_map("acme-1", 5), FOLDER)
    source = ClusterSource(api.cluster, "inference")

    def cents() -> list[int]:
        return sorted(one.limit_nanos // 10**7 for one in table.limits or ())

    async def work(directory: Directory, faults: list[Exception]) -> None:
        await until(lambda: directory.find("p/s/one"))
        assert directory.find("p/s/one") == ONE
        assert cents() == [5]
        await until(lambda: any(params.get("watch") for _, _, params in api.asked))
        api.put(limit_map("acme-1", 9), FOLDER)
        api.put(limit_map("acme-2", 3), FOLDER)
        await until(lambda: cents() == [3, 9])
        api.drop(f"{FOLDER}/acme-1")
        await until(lambda: cents() == [3])
        # What can't be read: a limit stops everything, an identity only itself; both are told once.
        api.put(config_map("broken", LIMIT, LIMIT_ANNOTATION, "{"), FOLDER)
        await until(lambda: "ConfigMap broken" in str(directory.trouble()))
        api.drop(f"{FOLDER}/broken")
        await until(lambda: directory.trouble() is None)
        stolen = identity_map(Identity("p/s/two"))
        stolen["metadata"]["name"] = "another"
        api.put(stolen, FOLDER)
        api.put(limit_map("acme-3", 1), FOLDER)
        await until(lambda: cents() == [1, 3])
        assert directory.find("p/s/two") is None
        said = [str(one) for one in faults]
        assert len([one for one in said if "ConfigMap another" in one]) == 1
        assert len([one for one in said if "ConfigMap broken" in one]) == 1

    following(source, table, work)


def test_a_config_map_is_read_for_a_key_that_is_news() -> None:
    api = FakeApi()
    source = ClusterSource(api.cluster, "inference")
    api.put(identity_map(ONE), FOLDER)
    assert asyncio.run(source.read_one("p/s/one")) == ONE
    assert asyncio.run(source.read_one("p/s/two")) is None
    api.refused["GET .*"] = (500, "no")
    with pytest.raises(SandboxError):
        asyncio.run(source.read_one("p/s/one"))


def test_a_cluster_that_is_away_is_told_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_components.proxy.cluster_source._RETRY_SECONDS", 0.01)
    api = FakeApi()
    api.refused["GET .*"] = (503, "no")
    api.put(identity_map(ONE), FOLDER)

    async def work(directory: Directory, faults: list[Exception]) -> None:
        await until(lambda: len(faults) > 2)
        assert directory.trouble() is not None
        api.refused.clear()
        await until(lambda: directory.trouble() is None)

    following(ClusterSource(api.cluster, "inference"), Table(), work)
