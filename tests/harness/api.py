"""The cluster's API in plain JSON, under any field manager: the tests' own eyes, apart from the package's client."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import KubeConfig

Json = dict[str, Any]
T = TypeVar("T")

_PATHS = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Endpoints": "/api/v1/namespaces/{}/endpoints",
    "Event": "/api/v1/namespaces/{}/events",
    "Ingress": "/apis/networking.k8s.io/v1/namespaces/{}/ingresses",
    "Namespace": "/api/v1/namespaces",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "Node": "/api/v1/nodes",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Pod": "/api/v1/namespaces/{}/pods",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
}


class ApiError(Exception):
    """The API server said no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}")
        self.status = status


class Api:
    """One cluster's API server."""

    def __init__(self, kubeconfig: Path) -> None:
        config = KubeConfig.from_file(kubeconfig).get()
        assert config is not None
        self._http = client_adapter.Client(config, client_adapter.ConnectionParams(timeout=httpx2.Timeout(30.0)))

    def close(self) -> None:
        self._http.close()

    def get(self, kind: str, name: str, namespace: str = "") -> Json:
        return self._call("GET", f"{path(kind, namespace)}/{name}")

    def find(self, kind: str, name: str, namespace: str = "") -> Json | None:
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, kind: str, namespace: str = "", selector: str = "") -> list[Json]:
        found: list[Json] = self._call("GET", path(kind, namespace), {"labelSelector": selector})["items"]
        return found

    def create(self, manifest: Json, manager: str = "tests") -> Json:
        where = path(manifest["kind"], manifest["metadata"].get("namespace", ""))
        return self._call("POST", where, {"fieldManager": manager}, manifest)

    def patch(self, kind: str, name: str, namespace: str, body: Json, manager: str = "tests", part: str = "") -> Json:
        where = f"{path(kind, namespace)}/{name}" + (f"/{part}" if part else "")
        return self._call("PATCH", where, {"fieldManager": manager}, body, "application/merge-patch+json")

    def scale(self, name: str, namespace: str, replicas: int, manager: str) -> None:
        """Do what `kubectl scale` does."""
        self.patch("StatefulSet", name, namespace, {"spec": {"replicas": replicas}}, manager, "scale")

    def delete(self, kind: str, name: str, namespace: str = "", *, grace_seconds: int | None = None) -> None:
        options: Json = {"propagationPolicy": "Background"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            self._call("DELETE", f"{path(kind, namespace)}/{name}", body=options)
        except ApiError as error:
            if error.status != 404:
                raise

    def token(self, account: str, namespace: str) -> str:
        """Do what `kubectl create token` does."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        made = self._call("POST", f"{path('ServiceAccount', namespace)}/{account}/token", body=body)
        return str(made["status"]["token"])

    def evict(self, pod: str, namespace: str) -> None:
        """Do what a drain does to one pod."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        self._call("POST", f"{path('Pod', namespace)}/{pod}/eviction", body=body)

    def watch(self, kind: str, namespace: str) -> Iterator[Json]:
        """Yield each state of each object, from now on, until the connection ends."""
        params = {"watch": "true", "timeoutSeconds": "3600"}
        with self._http.stream("GET", path(kind, namespace), params=params, timeout=None) as answer:
            for line in answer.iter_lines():
                if line:
                    yield json.loads(line)

    def _call(
        self,
        method: str,
        where: str,
        params: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = "application/json",
    ) -> Json:
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": content_type}
        answer = self._http.request(method, where, params=dict(params or {}), content=content, headers=headers)
        if answer.status_code >= 400:
            try:
                message = answer.json()["message"]
            except (ValueError, KeyError):
                message = answer.text
            raise ApiError(answer.status_code, message)
        decoded: Json = answer.json()
        return decoded


def path(kind: str, namespace: str = "") -> str:
    """Where objects of a kind are."""
    return _PATHS[kind].format(namespace)


def eventually(ask: Callable[[], T | None], what: str, seconds: float = 60.0) -> T:
    """Return what `ask` finds as soon as it is neither None nor False.

    Raises:
        AssertionError: after `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        found = ask()
        if found is not None and found is not False:
            return found
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)


def is_ready(pod: Json | None) -> bool:
    """Whether a pod is there to stay, and Ready."""
    if pod is None or pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = pod.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
