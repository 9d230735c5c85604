"""A sandbox in the in-memory API server, with a controller that makes and removes its pod when it is scaled."""

from __future__ import annotations

from sandbox_components.kube import paths
from tests.kube.api import FakeApi
from tests.kube.objects import NAME, NAMESPACE, Json, claim, pod, running, statefulset, terminated

POD = paths.pods(NAMESPACE, f"{NAME}-0")
SET = paths.statefulsets(NAMESPACE, NAME)


def api_pod(pod_: Json, uid: str = "uid-pod") -> Json:
    """Give a pod the label that selects it, and a UID."""
    pod_["metadata"] |= {"uid": uid, "labels": {"sandbox-components/sandbox": NAME}}
    return pod_


def sandbox_in(api: FakeApi, replicas: int = 1, **more: object) -> FakeApi:
    """Put a sandbox into the server; scaling it stops its pod, or makes a new and ready one, at once."""
    api.put(statefulset(replicas, **more))  # type: ignore[arg-type]
    disk = claim()
    disk["metadata"]["labels"] = {"sandbox-components/sandbox": NAME}
    api.put(disk)
    if replicas:
        api.put(api_pod(pod(running())))
    made = iter(range(100))

    def controller(name: str, wanted: int) -> None:
        assert name == NAME
        if not wanted and POD in api.objects:
            api.put(api_pod(pod(running(), deleted=1), api.objects[POD]["metadata"]["uid"]))
            api.put(api_pod(pod(terminated(143), ready=False, deleted=1), api.objects[POD]["metadata"]["uid"]))
            api.drop(POD)
        elif wanted:
            api.put(api_pod(pod(running()), f"uid-new-{next(made)}"))
        status = api.objects[SET]["status"]
        status["observedGeneration"] = api.objects[SET]["metadata"]["generation"]

    api.on_scale = controller
    return api
