"""Every value that `spec.replicas` of each StatefulSet ever has: what flips back within a second is seen too."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from tests.harness.api import Api, eventually


class ScalingWatch:
    """Watches a namespace's StatefulSets from its making until `close`."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._api, self._namespace = Api(kubeconfig), namespace
        self._seen: dict[str, list[int]] = {}
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._closed = False
        self._thread.start()

    def values(self, name: str) -> list[int]:
        """All values so far, repetitions left out; a new StatefulSet of the name begins with its own."""
        return list(self._seen.get(name, []))

    def expect(self, name: str, values: list[int]) -> None:
        """Assert that these were all the values, in this order."""
        assert self._thread.is_alive(), "the watch has ended"
        with contextlib.suppress(AssertionError):  # the text below says more
            eventually(lambda: self.values(name) == values, "the watch catches up", 5)
        assert self.values(name) == values, f"replicas of {name}"

    def close(self) -> None:
        self._closed = True
        self._api.close()

    def _follow(self) -> None:
        born: dict[str, str] = {}
        try:
            for change in self._api.watch("StatefulSet", self._namespace):
                metadata, replicas = change["object"]["metadata"], change["object"]["spec"]["replicas"]
                name, uid = metadata["name"], metadata["uid"]
                seen = self._seen.setdefault(name, [])
                if change["type"] == "DELETED":
                    continue
                if born.get(name) != uid or seen[-1] != replicas:
                    seen.append(replicas)
                born[name] = uid
        except Exception:
            if not self._closed:
                raise
