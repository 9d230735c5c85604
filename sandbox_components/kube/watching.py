"""Changes of several lists, merged into one queue.

Each list is watched by a daemon thread of its own. Where watching is refused or breaks off, the thread lists again,
so that whoever reads the queue only gets slower, never wrong.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeVar

from sandbox_components.errors import AccessDenied, SandboxError, Unreachable
from sandbox_components.kube import paths
from sandbox_components.kube.answers import Gone
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import Json, name_of, uid
from sandbox_components.spec.naming import SANDBOX_LABEL

T = TypeVar("T")

_POLL_SECONDS = 0.5
_RETRY_SECONDS = 1.0


@dataclass(frozen=True)
class Source:
    """One list to watch."""

    key: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    skip_old: bool = False
    """Leave out what is there at the beginning; used for events."""
    polled: bool = True
    """List again and again where watching isn't allowed; else that is told, once, and nothing else of this source."""


@dataclass(frozen=True)
class Change:
    """A change in one source; `whole` says that `objects` is all there is now, what isn't in it is gone."""

    key: str
    objects: tuple[Json, ...]
    whole: bool = False
    is_deletion: bool = False
    denied: AccessDenied | None = None
    """This source can't be watched."""


class Feed:
    """Watch sources for as long as the context lasts.

    The first list of each source is made before `__enter__` returns and is the first change of that source, so
    nothing that happens afterwards is missed.

    Args:
        cluster: where.
        sources: what to watch.
        until: moment of the monotonic clock until which a cluster that is away is tried again at the beginning.
    """

    def __init__(self, cluster: Cluster, sources: list[Source], *, until: float = 0.0) -> None:
        self._cluster = cluster
        self._until = until
        self._sources = sources
        self._queue: queue.SimpleQueue[Change] = queue.SimpleQueue()
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        for source in self._sources:
            version = outlast(functools.partial(self._list, source, is_first=True), self._until)
            thread = threading.Thread(target=self._follow, args=(source, version), daemon=True)
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()

    def next(self, timeout_seconds: float) -> Change | None:
        """Return the next change, None when there is none in time."""
        try:
            return self._queue.get(timeout=max(timeout_seconds, 0.0))
        except queue.Empty:
            return None

    def _list(self, source: Source, *, is_first: bool = False) -> str:
        if is_first and source.skip_old:
            return self._cluster.list_at(source.path, {**source.params, "limit": 1})[1]
        found, version = self._cluster.list_at(source.path, source.params)
        self._queue.put(Change(source.key, tuple(found), whole=True))
        return version

    def _follow(self, source: Source, version: str) -> None:
        can_watch = True
        while not self._stop.is_set():
            # Whatever goes wrong, the answer is to list again; what the user must hear is raised by the reader's own
            # requests.
            with contextlib.suppress(Exception):
                if not can_watch:
                    self._stop.wait(_POLL_SECONDS)
                    version = self._list(source)
                    continue
                try:
                    version = self._watch(source, version)
                    continue
                except AccessDenied as error:
                    if not source.polled:
                        self._queue.put(Change(source.key, (), denied=error))
                        return
                    can_watch = False
                    continue
                except Gone:
                    pass
                except SandboxError:
                    self._stop.wait(_RETRY_SECONDS)
                version = self._list(source)
                continue
            self._stop.wait(_RETRY_SECONDS)

    def _watch(self, source: Source, version: str) -> str:
        for kind, obj in self._cluster.watch(source.path, version, source.params):
            if self._stop.is_set():
                break
            version = obj["metadata"].get("resourceVersion") or version
            self._queue.put(Change(source.key, (obj,), is_deletion=kind == "DELETED"))
        return version


def outlast(read: Callable[[], T], until: float) -> T:
    """Call `read`, again and again while the cluster is away, but not after `until` of the monotonic clock."""
    while True:
        try:
            return read()
        except Unreachable:
            if time.monotonic() >= until:
                raise
        time.sleep(_RETRY_SECONDS)


def pods_of(namespace: str, names: Iterable[str]) -> Source:
    """Return the source `pods`: the pods of these sandboxes."""
    selector = f"{SANDBOX_LABEL} in ({','.join(names)})"
    return Source("pods", paths.pods(namespace), {"labelSelector": selector})


def applied(change: Change, present: dict[str, Json]) -> dict[str, Json]:
    """Return the objects that are there after a change."""
    if change.whole:
        return {name_of(obj): obj for obj in change.objects}
    changed = {name_of(obj): obj for obj in change.objects}
    if change.is_deletion:
        return {name: obj for name, obj in present.items() if uid(changed.get(name)) != uid(obj)}
    return {**present, **changed}
