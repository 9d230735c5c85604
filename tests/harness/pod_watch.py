"""When each pod of a namespace became Ready and when it went, by a watch: polling would blur what is measured."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tests.harness.api import Api, is_ready


class PodWatch:
    """Watches a namespace's pods from its making until `close`; times are of `time.perf_counter`."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._api, self._namespace = Api(kubeconfig), namespace
        self._changed = threading.Condition()
        self._ready: dict[str, float] = {}
        self._gone: dict[str, float] = {}
        self._is_closed = False
        threading.Thread(target=self._follow, daemon=True).start()

    def ready_at(self, name: str, after: float, seconds: float = 120.0) -> float:
        """Wait until a pod of the name is Ready, later than `after`, and return when that was."""
        return self._wait(self._ready, name, after, seconds)

    def gone_at(self, name: str, after: float, seconds: float = 120.0) -> float:
        """Wait until a pod of the name is gone, later than `after`, and return when that was."""
        return self._wait(self._gone, name, after, seconds)

    def close(self) -> None:
        self._is_closed = True
        self._api.close()

    def _wait(self, times: dict[str, float], name: str, after: float, seconds: float) -> float:
        with self._changed:
            found = self._changed.wait_for(lambda: times.get(name, 0.0) > after, seconds)
            assert found, f"nothing of pod {name} within {seconds:.0f} s"
            return times[name]

    def _follow(self) -> None:
        seen: set[str] = set()
        try:
            for change in self._api.watch("Pod", self._namespace):
                now, pod = time.perf_counter(), change["object"]
                name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
                with self._changed:
                    if change["type"] == "DELETED":
                        self._gone[name] = now
                    elif is_ready(pod) and uid not in seen:
                        seen.add(uid)
                        self._ready[name] = now
                    self._changed.notify_all()
        except Exception:
            if not self._is_closed:
                raise
