"""The inference proxy on a real API server: identities and limits in ConfigMaps, heard as they change."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from devcluster.cluster import Cluster
from sandbox_components.spec.identity import IDENTITY_ANNOTATION, Identity, print_identity
from sandbox_components.spec.spending import (
    IDENTITY,
    INFERENCE_LABEL,
    LIMIT,
    LIMIT_ANNOTATION,
    DeclaredLimit,
    config_map_name,
    print_limit,
)
from tests.harness.api import Api, Json
from tests.harness.ground import new_namespace
from tests.proxy.calls import CHAT
from tests.proxy.place import SANDBOX, Place, double, running

pytestmark = pytest.mark.engine

NAME = config_map_name("nightly", SANDBOX, IDENTITY)


@pytest.fixture
def namespace(api: Api) -> Iterator[str]:
    name = new_namespace()
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    api.delete("Namespace", name)


def config_map(namespace: str, name: str, kind: str, annotations: dict[str, str]) -> Json:
    labels = {INFERENCE_LABEL: kind}
    meta = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def identity(generation: int = 1) -> dict[str, str]:
    return {IDENTITY_ANNOTATION: print_identity(Identity(SANDBOX, generation=generation, limit_required=True))}


def limit(cents: int) -> dict[str, str]:
    return {LIMIT_ANNOTATION: print_limit(DeclaredLimit("sandbox", SANDBOX, "month", cents))}


def until(is_so: Callable[[], bool]) -> float:
    begun = time.monotonic()
    while not is_so():
        assert time.monotonic() < begun + 60
        time.sleep(0.05)
    return time.monotonic() - begun


def test_config_maps_are_heard_as_they_change(
    node_cluster: Cluster, api: Api, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "KUBECONFIG", str(node_cluster.kubeconfig))
    with double() as provider:
        place = Place(tmp_path, provider.url, more={"source": {"namespace": namespace}})
        with running(place), place.client() as client:

            def answered(generation: int = 1) -> int:
                key = {"authorization": f"Bearer {place.key(generation=generation)}"}
                return client.post(CHAT.path, json=CHAT.body(), headers=key).status_code

            assert answered() == 401
            # A sandbox that has just been made is known at its first call, its limit as soon as the watch tells.
            api.create(config_map(namespace, NAME, IDENTITY, identity()))
            until(lambda: answered() == 503)
            api.create(config_map(namespace, "a-limit", LIMIT, limit(100)))
            until(lambda: answered() == 200)
            for cents, wanted in ((0, 429), (100, 200), (0, 429)):
                body = {"metadata": {"annotations": limit(cents)}}
                api.patch("ConfigMap", "a-limit", namespace, body)
                took = until(lambda wanted=wanted: answered() == wanted)  # type: ignore[misc]
                print(f"a limit of {cents} cents was in force after {took:.2f} s")
            api.delete("ConfigMap", "a-limit", namespace)
            until(lambda: answered() == 503)
            api.create(config_map(namespace, "a-limit", LIMIT, limit(100)))
            until(lambda: answered() == 200)
            # Rotation: the new key opens at once, the old one no more.
            api.patch("ConfigMap", NAME, namespace, {"metadata": {"annotations": identity(2)}})
            assert answered(2) == 200
            assert answered(1) == 401
            # A limit that can't be read could be anybody's: nobody spends, and readiness says which it is.
            api.create(config_map(namespace, "broken", LIMIT, {LIMIT_ANNOTATION: "{"}))
            until(lambda: answered(2) == 503)
            assert "ConfigMap broken" in httpx2.get(f"{place.admin_url}/readyz", trust_env=False).text
            api.delete("ConfigMap", "broken", namespace)
            until(lambda: answered(2) == 200)
            api.delete("ConfigMap", NAME, namespace)
            until(lambda: answered(2) == 401)
