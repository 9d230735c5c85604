"""What doctor asks of the rights around inference: in the proxies' own namespaces, where there are any."""

from __future__ import annotations

from sandbox_components.kube import paths
from sandbox_components.operations.doctor import Check, check_cluster
from tests.kube.api import FakeApi
from tests.kube.objects import NAME, NAMESPACE, Json
from tests.operations.cluster_side import SET, sandbox_in

SPEND, LIMITS = "rights for spend, limits in describe", "rights for set-limit, sandboxes with inference"


class Judge(FakeApi):
    """An API server that grants what isn't withheld, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.withheld: set[tuple[str, str]] = set()
        """Verb, and resource with subresource."""
        self.reviews: list[Json] = []

    def _created(self, path: str, body: Json) -> Json:
        if path != paths.ACCESS_REVIEWS:
            return super()._created(path, body)
        asked = body["spec"]["resourceAttributes"]
        self.reviews.append(asked)
        what = "/".join(filter(None, (asked["resource"], asked["subresource"])))
        return {**body, "status": {"allowed": (asked["verb"], what) not in self.withheld}}


def judge(*proxies: str) -> Judge:
    """A cluster with a sandbox for each of these proxies, as NAMESPACE/NAME."""
    api = Judge()
    sandbox_in(api)
    for at, proxy in enumerate(proxies):
        one = {**api.objects[SET], "metadata": {**api.objects[SET]["metadata"], "name": f"{NAME}-{at}"}}
        one["metadata"]["annotations"] = {"sandbox-components/inference": proxy}
        api.put(one)
    return api


def checks(api: FakeApi) -> list[Check]:
    return list(check_cluster(lambda: api.cluster(), None))


def told(api: FakeApi, name: str) -> list[tuple[str, str]]:
    return [(one.verdict.value, one.detail) for one in checks(api) if one.name == name]


def test_without_inference_no_right_of_its_is_asked_for() -> None:
    api = judge()
    names = {one.name for one in checks(api)}
    assert not {SPEND, LIMITS, "inference proxy"} & names
    assert {one["namespace"] for one in api.reviews} == {NAMESPACE}


def test_each_proxys_namespace_is_asked_once() -> None:
    api = judge("inference/proxy", "inference/proxy", "other/their-proxy")
    wanted = [("ok", 'in namespace "inference"'), ("ok", 'in namespace "other"')]
    assert told(api, SPEND) == told(api, LIMITS) == wanted
    there = [one for one in checks(api) and api.reviews if one["namespace"] == "other"]
    # By the name as a Role would have it: one that allows this proxy alone is enough.
    assert {one["name"] for one in there if one["subresource"] == "proxy"} == {"their-proxy:admin"}
    assert {one["verb"] for one in there if one["resource"] == "configmaps"} == {"get", "create", "patch", "delete"}


def test_what_is_missing_is_named() -> None:
    api = judge("inference/proxy")
    api.withheld = {("get", "services/proxy"), ("patch", "configmaps"), ("delete", "configmaps")}
    assert told(api, SPEND) == [("failed", 'missing in namespace "inference": get services/proxy')]
    assert told(api, LIMITS) == [("failed", 'missing in namespace "inference": patch configmaps, delete configmaps')]
    assert told(api, "rights for list, describe") == [("ok", f'in namespace "{NAMESPACE}"')]


def test_sandboxes_that_may_not_be_listed_are_no_end_of_the_checks() -> None:
    api = judge("inference/proxy")
    api.refused[f"GET {paths.statefulsets(NAMESPACE)}"] = (403, "forbidden")
    [(verdict, detail)] = told(api, "inference proxy")
    assert verdict == "warning"
    assert detail.startswith("whether sandboxes talk to one isn't known: ")
    assert [one.name for one in checks(api)][-1] == "network policy"
