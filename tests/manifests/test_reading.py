"""A rendered StatefulSet read back: what a person wrote comes out again, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from sandbox_components.manifests.process import plainly
from sandbox_components.manifests.reading import UNKNOWN, Reading, read_workload
from sandbox_components.manifests.workload import claim_of, mount_path, stateful_set
from sandbox_components.spec.revision import revision_groups
from sandbox_components.spec.sandbox import SandboxSpec, read_sandbox
from tests.manifests.sandboxes import FEWER, GOLDEN, PLACEMENT, requests, spec_of


def reading_of(spec: SandboxSpec, secret_env: tuple[str, ...] = ()) -> Reading:
    name = "nightly-env-1" if secret_env else ""
    return read_workload(stateful_set(PLACEMENT, spec, revision="", secret_env=secret_env, secret_name=name))


def groups_of(found: Reading) -> dict[str, Any]:
    """The six groups as a revision has them."""
    words = found.words
    groups: dict[str, Any] = {"v": 1, "image": {"uri": words["image"]}}
    if words.get("entrypoint") is not None:
        groups["command"] = {"entrypoint": words["entrypoint"]}
    if "command" in words:
        groups["command"] = {"command": words["command"]}
    groups["resources"] = {"limits": words["resourceLimits"]}
    if words["resourceRequests"]:
        groups["resources"]["requests"] = words["resourceRequests"]
    if words["env"]:
        groups["env"] = words["env"]
    if words["secretEnv"]:
        groups["secretEnv"] = {"names": sorted(words["secretEnv"]), "secret": "nightly-env-1"}
    check = words["healthCheck"]
    if check is not None:
        usual = {"intervalSeconds": 10, "initialDelaySeconds": 30, "timeoutSeconds": 5, "failureThreshold": 3}
        groups["healthCheck"] = {"type": check["type"], "http": check["http"]}
        groups["healthCheck"] |= {key: check[key] for key, value in usual.items() if check[key] != value}
    if words["ports"]:
        groups["ports"] = []
        for key, name in words["ports"].items():
            number, _, protocol = key.partition("/")
            groups["ports"].append({"port": int(number), "name": name, "protocol": protocol or "TCP"})
    return groups


def check(spec: SandboxSpec, secret_env: tuple[str, ...] = ()) -> None:
    found = reading_of(spec, secret_env)
    wanted = revision_groups(spec, secret_env, "nightly-env-1")
    if wanted.get("env", {}).get("HOME") == mount_path(spec) and "HOME" not in found.words["env"]:
        del wanted["env"]["HOME"]  # written out where it is the default anyway: the template is the same
        wanted = {key: value for key, value in wanted.items() if value != {}}
    assert groups_of(found) == wanted
    assert (found.claim, found.mount_path) == (claim_of(PLACEMENT, spec), mount_path(spec))
    assert found.words["runAsUser"] == spec.run_as_user
    assert found.words["security"] == spec.security
    assert found.words["terminationGracePeriodSeconds"] == spec.termination_grace_period_seconds
    assert found.words["runtimeClass"] == spec.runtime_class
    assert found.words["nodeSelector"] == dict(spec.node_selector)
    assert tuple(found.words["imagePullSecrets"] or ()) == spec.image_pull_secrets
    assert found.words["imagePullPolicy"] in (None, spec.image_pull_policy)


@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_ones_come_out_as_they_went_in(name: str) -> None:
    check(spec_of(name), GOLDEN[name][1])


@given(requests())
@FEWER
def test_any_comes_out_as_it_went_in(request: dict[str, Any]) -> None:
    check(read_sandbox(request))


def test_two_specs_read_alike_only_where_the_template_is_the_same() -> None:
    found = {name: reading_of(spec_of(name), GOLDEN[name][1]) for name in GOLDEN}
    for one in GOLDEN:
        for other in GOLDEN:
            templates = [
                stateful_set(
                    PLACEMENT, spec_of(name), revision="", secret_env=GOLDEN[name][1], secret_name="nightly-env-1"
                )["spec"]["template"]
                for name in (one, other)
            ]
            assert (found[one] == found[other]) == (templates[0] == templates[1]), (one, other)


def test_what_is_not_one_of_our_words_keeps_its_path() -> None:
    manifest = stateful_set(PLACEMENT, spec_of("seed-ephemeral"), revision="")
    pod = manifest["spec"]["template"]["spec"]
    pod["hostNetwork"] = True
    pod["containers"][0]["stdin"] = True
    pod["containers"].append({"name": "sidecar", "image": "proxy"})
    pod["volumes"].append({"name": "more", "emptyDir": {}})
    pod["securityContext"]["fsGroup"] = 7
    words = read_workload(manifest).words
    assert words["pod.hostNetwork"] is True
    assert words["container.stdin"] is True
    assert words["pod.containers"] == [{"name": "sidecar", "image": "proxy"}]
    assert words["pod.volumes"] == [{}, {"name": "more", "emptyDir": {}}]
    assert words["pod.securityContext"]["fsGroup"] == 7
    assert "runAsUser" not in words


@pytest.mark.parametrize(
    "inputs", [{}, {"spec": UNKNOWN}, {"spec": {"template": UNKNOWN}}, {"spec": {"template": {"spec": "[secret]"}}}]
)
def test_what_is_not_known_yet_says_so(inputs: dict[str, Any]) -> None:
    assert not read_workload(inputs).is_known


def test_odd_values_do_not_stop_it() -> None:
    for key in ("command", "env", "image", "livenessProbe", "ports", "resources", "securityContext", "volumeMounts"):
        for value in (UNKNOWN, "[secret]", [UNKNOWN], {}, None, 7):
            manifest = stateful_set(PLACEMENT, spec_of("seed-health-check"), revision="")
            manifest["spec"]["template"]["spec"]["containers"][0][key] = value
            assert read_workload(manifest).is_known


@pytest.mark.parametrize(("written", "meant"), [("$$(A)", "$(A)"), ("$A", "$A"), ("$$$$", "$$"), ("5$", "5$")])
def test_dollars_come_back(written: str, meant: str) -> None:
    assert plainly(written) == meant
