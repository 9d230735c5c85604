"""An API server in memory: objects by path, selectors, merge patches, watches. Enough for what the command asks."""

from __future__ import annotations

import copy
import json
import queue
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl

import httpx2
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster as ClusterModel
from lightkube.config.models import User

from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.config import Connection
from sandbox_components.kube.objects import dig
from tests.kube.objects import NAMESPACE, Json

_FOLDERS = {"StatefulSet": paths.statefulsets, "Pod": paths.pods, "PersistentVolumeClaim": paths.claims}


class FakeApi(httpx2.BaseTransport):
    """Answers requests out of a dictionary, and remembers what it was asked."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.bodies: list[tuple[str, Json]] = []
        self.refused: dict[str, tuple[int, str]] = {}
        """Path pattern -> status and message."""
        self.logs: dict[str, bytes] = {}
        self.on_scale: Callable[[str, int], None] = lambda name, replicas: None
        self._version = 0
        self._watches: list[tuple[str, dict[str, str], queue.SimpleQueue[Json | None]]] = []
        self._told: list[tuple[int, str, Json]] = []
        self._lock = threading.Lock()

    def put(self, obj: Json, folder: str | None = None) -> Json:
        """Store an object, and tell the watches."""
        self._version += 1
        obj = copy.deepcopy(obj)
        obj["metadata"]["resourceVersion"] = str(self._version)
        path = f"{folder or self._folder(obj)}/{obj['metadata']['name']}"
        kind = "MODIFIED" if path in self.objects else "ADDED"
        self.objects[path] = obj
        self._tell(path, kind, obj)
        return obj

    def drop(self, path: str) -> None:
        """Delete an object, and tell the watches."""
        obj = self.objects.pop(path)
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        self._tell(path, "DELETED", obj)

    def cluster(self, namespace: str | None = NAMESPACE, stack: str | None = None) -> Cluster:
        """Return a client of this server."""
        config = KubeConfig.from_one(
            cluster=ClusterModel(server="https://api.example"), user=User(token="t"), namespace=namespace
        ).get()
        assert config is not None
        cluster = Cluster(Connection(config, "a test"), transport=self)
        cluster.only_stack = stack
        return cluster

    def changes(self) -> list[tuple[str, str]]:
        """Return the requests that change something."""
        return [(method, path) for method, path, _ in self.asked if method != "GET"]

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        path, params = request.url.path, dict(parse_qsl(request.url.query.decode(), keep_blank_values=True))
        self.asked.append((request.method, path, params))
        for pattern, (status, message) in self.refused.items():
            if re.fullmatch(pattern, f"{request.method} {path}"):
                return _status(status, message)
        if request.method == "PATCH":
            return self._patched(path, json.loads(request.read()))
        if request.method == "POST":
            return httpx2.Response(201, json=self._created(path, json.loads(request.read())))
        if path.endswith("/log"):
            return httpx2.Response(200, content=iter([self.logs.get(path, b"")]))
        if path == paths.VERSION:
            return httpx2.Response(200, json={"gitVersion": "v1.34.4"})
        if params.get("watch"):
            return httpx2.Response(200, content=self._watch(path, params))
        if path in self.objects:
            return httpx2.Response(200, json=self.objects[path])
        name = path.rpartition("/")[2]
        is_list = name in {"statefulsets", "pods", "persistentvolumeclaims", "events", "storageclasses"}
        if is_list or name in {"services", "daemonsets", "nodes", "configmaps"}:
            found = [obj for key, obj in self.objects.items() if _is_inside(key, path) and _selected(obj, params)]
            return httpx2.Response(200, json={"metadata": {"resourceVersion": str(self._version)}, "items": found})
        return _status(404, f"{name} not found")

    def _folder(self, obj: Json) -> str:
        if "involvedObject" in obj:
            obj["metadata"].setdefault("name", obj["metadata"]["uid"])
            return paths.events(NAMESPACE)
        if "provisioner" in obj or not obj["metadata"].get("namespace"):
            return paths.STORAGE_CLASSES
        kind = "Pod" if "podIP" in obj.get("status", {}) else "PersistentVolumeClaim"
        kind = "StatefulSet" if "template" in obj.get("spec", {}) else kind
        return _FOLDERS[kind](obj["metadata"]["namespace"])

    def _patched(self, path: str, body: Json) -> httpx2.Response:
        self.bodies.append((path, body))
        base = path.removesuffix("/scale")
        if base not in self.objects:
            return _status(404, "not found")
        changed = copy.deepcopy(self.objects[base])
        _merge(changed, body)
        if path != base:
            changed["metadata"]["generation"] += 1
        self.put(changed, base.rpartition("/")[0])
        if path != base:
            self.on_scale(base.rpartition("/")[2], body["spec"]["replicas"])
        return httpx2.Response(200, json=changed)

    def _created(self, path: str, body: Json) -> Json:
        self.bodies.append((path, body))
        if path == paths.ACCESS_REVIEWS:
            return {**body, "status": {"allowed": True}}
        return body

    def _watch(self, path: str, params: dict[str, str]) -> Iterator[bytes]:
        feed: queue.SimpleQueue[Json | None] = queue.SimpleQueue()
        since = int(params["resourceVersion"] or 0)
        with self._lock:
            missed = [
                change
                for version, key, change in self._told
                if version > since and _concerns(key, change, path, params)
            ]
            self._watches.append((path, params, feed))
        for change in missed:
            yield json.dumps(change).encode() + b"\n"
        try:
            while (change := feed.get(timeout=5)) is not None:
                yield json.dumps(change).encode() + b"\n"
        except queue.Empty:
            return

    def _tell(self, path: str, kind: str, obj: Json) -> None:
        change = {"type": kind, "object": copy.deepcopy(obj)}
        with self._lock:
            self._told.append((self._version, path, change))
            for folder, params, feed in self._watches:
                if _concerns(path, change, folder, params):
                    feed.put(change)


def _concerns(key: str, change: Json, folder: str, params: dict[str, str]) -> bool:
    return _is_inside(key, folder) and _selected(change["object"], params)


def _is_inside(key: str, folder: str) -> bool:
    head, _, plural = folder.rpartition("/")
    return key.startswith(f"{folder}/") or re.fullmatch(f"{head}/namespaces/[^/]+/{plural}/[^/]+", key) is not None


def _selected(obj: Json, params: dict[str, str]) -> bool:
    labels = dig(obj, "metadata", "labels") or {}
    selector = params.get("labelSelector", "")
    if " in (" in selector:
        key, _, values = selector.partition(" in (")
        if labels.get(key) not in values.rstrip(")").split(","):
            return False
    elif selector and selector not in labels:
        return False
    for part in filter(None, params.get("fieldSelector", "").split(",")):
        path, _, value = part.partition("=")
        if dig(obj, *path.split(".")) != value:
            return False
    return True


def _merge(target: Json, patch: Json) -> None:
    for key, value in patch.items():
        if isinstance(value, dict):
            _merge(target.setdefault(key, {}), value)
        elif value is None:
            target.pop(key, None)
        else:
            target[key] = value


def _status(code: int, message: str) -> httpx2.Response:
    body: dict[str, Any] = {"kind": "Status", "status": "Failure", "message": message, "code": code}
    return httpx2.Response(code, json=body)
