"""Identities and limits out of the annotations of ConfigMaps in the proxy's own namespace.

A thread lists them and then watches for a quarter of a minute, again and again: a change is heard at once, and whatever
a watch may miss the next list has. A thread that hangs in a broken connection is left behind for a new one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sandbox_components.errors import InvalidInput, SandboxError
from sandbox_components.kube import paths
from sandbox_components.kube.answers import Gone
from sandbox_components.kube.client import Cluster
from sandbox_components.ledger.model import Limit
from sandbox_components.proxy.source import LIST_SECONDS, Complain, Loaded, Take, limit_of
from sandbox_components.spec.identity import IDENTITY_ANNOTATION, Identity, parse_identity
from sandbox_components.spec.spending import (
    IDENTITY,
    INFERENCE_LABEL,
    LIMIT,
    LIMIT_ANNOTATION,
    config_map_name,
    parse_limit,
)

_HANGING_SECONDS = 2 * LIST_SECONDS
_RETRY_SECONDS = 2.0
_RECONNECT_SECONDS = 600.0
"""Credentials of a service account are renewed in their file; a client reads them once."""
_SELECTED = {"labelSelector": f"{INFERENCE_LABEL} in ({IDENTITY},{LIMIT})"}

Emit = Callable[[Loaded | Exception], None]


class ClusterSource:
    """A namespace's ConfigMaps as a source.

    Args:
        connect: makes a client; called again when one has failed.
        namespace: the proxy's own.
    """

    def __init__(self, connect: Callable[[], Cluster], namespace: str) -> None:
        self._connect = connect
        self._path = paths.config_maps(namespace)
        self._namespace = namespace

    async def follow(self, take: Take, complain: Complain) -> None:
        """List and watch; never ends."""
        while True:
            heard: asyncio.Queue[Loaded | Exception] = asyncio.Queue()
            stop = threading.Event()
            loop = asyncio.get_running_loop()

            def emit(
                what: Loaded | Exception,
                loop: asyncio.AbstractEventLoop = loop,
                heard: asyncio.Queue[Loaded | Exception] = heard,
            ) -> None:
                loop.call_soon_threadsafe(heard.put_nowait, what)

            threading.Thread(target=self._work, args=(emit, stop), daemon=True, name="cluster-source").start()
            try:
                await _hand_over(heard, take, complain)
            finally:
                stop.set()

    async def read_one(self, sandbox_id: str) -> Identity | None:
        """Read the sandbox's ConfigMap."""
        name = config_map_name(sandbox_id.rsplit("/", 1)[-1], sandbox_id, IDENTITY)

        def read() -> Mapping[str, Any] | None:
            with self._connect() as cluster:
                return cluster.find(paths.config_maps(self._namespace, name))

        found = await asyncio.to_thread(read)
        if found is None or _kind(found) != IDENTITY:
            return None
        identity = _identity(found)
        return identity if identity.sandbox_id == sandbox_id else None

    def _work(self, emit: Emit, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                with self._connect() as cluster:
                    until = time.monotonic() + _RECONNECT_SECONDS
                    while not stop.is_set() and time.monotonic() < until:
                        self._list_and_watch(cluster, emit, stop)
            except Exception as error:
                if stop.is_set():
                    return
                try:
                    emit(error)
                except RuntimeError:  # the event loop has ended
                    return
                stop.wait(_RETRY_SECONDS)

    def _list_and_watch(self, cluster: Cluster, emit: Emit, stop: threading.Event) -> None:
        listed_at = datetime.now(UTC)
        items, version = cluster.list_at(self._path, _SELECTED)
        present = {_name(item): item for item in items}
        emit(_loaded(present, listed_at))
        seconds = {"timeoutSeconds": str(int(LIST_SECONDS))}
        try:
            for kind, item in cluster.watch(self._path, version, {**_SELECTED, **seconds}):
                if stop.is_set():
                    return
                if kind == "DELETED":
                    present.pop(_name(item), None)
                else:
                    present[_name(item)] = item
                emit(_loaded(present, datetime.now(UTC)))
        except Gone:
            return


async def _hand_over(heard: asyncio.Queue[Loaded | Exception], take: Take, complain: Complain) -> None:
    """Pass on what a thread tells, until it is silent for too long."""
    while True:
        try:
            what = await asyncio.wait_for(heard.get(), _HANGING_SECONDS)
        except TimeoutError:
            complain(SandboxError("the cluster has fallen silent: asking on a new connection", code="source_silent"))
            return
        waiting = [what]
        while not heard.empty():
            waiting.append(heard.get_nowait())
        for error in waiting:
            if isinstance(error, Exception):
                complain(error)
        newest = [one for one in waiting if isinstance(one, Loaded)][-1:]
        try:
            for one in newest:
                await take(one)
        except SandboxError as error:
            complain(error)


def _loaded(present: Mapping[str, Mapping[str, Any]], at: datetime) -> Loaded:
    identities: dict[str, Identity] = {}
    limits: list[Limit] = []
    problems: list[str] = []
    ignored: list[str] = []
    for name, item in present.items():
        try:
            if _kind(item) == LIMIT:
                limits.append(limit_of(parse_limit(_annotation(item, LIMIT_ANNOTATION)), name))
            else:
                identity = _identity(item)
                identities[identity.sandbox_id] = identity
        except InvalidInput as error:
            (problems if _kind(item) == LIMIT else ignored).append(f"ConfigMap {name}: {error.message}")
    return Loaded(identities, tuple(limits), tuple(problems), tuple(ignored), at)


def _identity(item: Mapping[str, Any]) -> Identity:
    identity = parse_identity(_annotation(item, IDENTITY_ANNOTATION))
    name = config_map_name(identity.sandbox_id.rsplit("/", 1)[-1], identity.sandbox_id, IDENTITY)
    if _name(item) != name:
        raise InvalidInput(IDENTITY_ANNOTATION, f"belongs into the ConfigMap {name}")
    return identity


def _kind(item: Mapping[str, Any]) -> str:
    return str((item["metadata"].get("labels") or {}).get(INFERENCE_LABEL) or "")


def _annotation(item: Mapping[str, Any], key: str) -> str:
    return str((item["metadata"].get("annotations") or {}).get(key) or "")


def _name(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])
