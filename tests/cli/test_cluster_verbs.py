"""list, describe, pause, resume, exec, logs, doctor: what they print, and their exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
import yaml

from sandbox_components.kube import paths
from sandbox_components.manifests.process import first_process
from sandbox_components.spec.sandbox import read_sandbox
from tests.cli.cluster_side import command_on
from tests.cli.in_process import Answer, Command
from tests.kube.api import FakeApi
from tests.kube.objects import NAME, NAMESPACE, claim, condition, pod, running, storage_class, terminated, waiting
from tests.operations.cluster_side import POD, SET, api_pod, sandbox_in

LOG = f"{POD}/log"
LIMITS = {"cpu": "500m", "memory": "64Mi"}


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def sandbox(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    return command_on(api, monkeypatch, capsys, tmp_path)


def test_list_prints_a_table(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    answer = sandbox("list")
    assert answer.code == 0
    heads, row = answer.out.splitlines()
    assert heads.split() == ["NAME", "STATE", "AGE", "PROBE", "RESTARTS", "IMAGE"]
    assert row.split()[:2] == [NAME, "Running"]
    assert "   " in row
    assert not row.endswith(" ")


def test_list_of_all_namespaces_names_them(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    assert sandbox("list", "-A", "--no-headers").out.split()[:3] == [NAMESPACE, NAME, "Running"]
    assert sandbox("list", "-A", "-o", "name").out == f"{NAMESPACE}/{NAME}\n"
    assert sandbox("list", "-o", "name").out == f"{NAME}\n"


def test_list_wide_tells_workspace_and_reason(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.put(api_pod(pod(waiting("InvalidImageName", "bad"), ready=False)))
    out = sandbox("list", "-o", "wide").out
    assert f"{NAME}-workspace" in out
    assert "is not an image name: bad" in out


def test_list_as_json_and_yaml_says_the_same(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    as_json = json.loads(sandbox("list", "-o", "json").out)
    as_yaml = yaml.safe_load(sandbox("list", "-o", "yaml").out)
    assert as_json["kind"] == as_yaml["kind"] == "SandboxList"
    assert [entry["name"] for entry in as_json["items"]] == [NAME]
    assert as_yaml["items"][0]["workspace"] == as_json["items"][0]["workspace"]


def test_list_of_nothing_says_so_on_stderr(sandbox: Command) -> None:
    answer = sandbox("list")
    assert (answer.code, answer.out) == (0, "")
    assert "no sandboxes" in answer.err
    assert json.loads(sandbox("list", "-o", "json").out)["items"] == []


def test_listing_many_takes_three_requests(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    sandbox("list")
    assert [path.rpartition("/")[2] for _, path, _ in api.asked] == ["statefulsets", "pods", "persistentvolumeclaims"]


def test_describe_has_its_sections_and_ends_with_what_helps_next(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    out = sandbox("describe", NAME).out
    titles = [line for line in out.splitlines() if line and not line.startswith(" ") and ":" not in line]
    assert titles == ["Sandbox", "Container", "Health", "Workspace", "Ports", "Events"]
    last = out.strip().splitlines()[-2:]
    assert last == [
        f"copy: kubectl cp -c agent {NAMESPACE}/{NAME}-0:/workspace ./{NAME}",
        f"logs: sandbox logs {NAME} -n {NAMESPACE} -f",
    ]
    assert "Exit status:    <none>" in out


def test_describe_shows_a_shell_line_as_it_was_declared(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    spec = read_sandbox({"image": "agent", "command": "cd $HOME\n./start.sh", "resourceLimits": LIMITS})
    api.objects[SET]["spec"]["template"]["spec"]["containers"][0] |= first_process(spec)
    assert "  Command:        cd $HOME\\n./start.sh\n" in sandbox("describe", NAME).out
    as_run = json.loads(sandbox("describe", NAME, "-o", "json").out)["command"]
    assert as_run[:2] == ["/bin/sh", "-c"]


def test_describe_of_a_paused_one_ends_with_resume(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api, replicas=0)
    out = sandbox("describe", NAME).out
    assert "Paused by:      <unknown>" in out
    assert out.strip().splitlines()[-1] == f"resume: sandbox resume {NAME} -n {NAMESPACE}"


def test_describe_tells_the_last_log_line_as_activity(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.logs[LOG] = b"2026-11-29T11:59:30.123456789Z step=7\n"
    assert json.loads(sandbox("describe", NAME, "-o", "json").out)["lastActivityAt"] == "2026-11-29T11:59:30Z"


@pytest.mark.parametrize(
    ("refused", "part", "right", "line"),
    [
        ("events", "events", "list events", "\n  not allowed: list events"),
        ("services/.*", "service", "get services", "Service:        not allowed: get services"),
        ("pods/.*/log", "lastActivityAt", "get pods/log", "Last activity:  not allowed: get pods/log"),
        (
            "persistentvolumeclaims/.*",
            "workspace",
            "get persistentvolumeclaims",
            "Phase:          not allowed: get persistentvolumeclaims",
        ),
    ],
)
def test_describe_shows_all_that_may_be_read(
    refused: str, part: str, right: str, line: str, api: FakeApi, sandbox: Command
) -> None:
    sandbox_in(api)
    whole = sandbox("describe", NAME).out
    api.refused[f"GET .*/{refused}"] = (403, "forbidden")
    answer = sandbox("describe", NAME)
    assert (answer.code, answer.err) == (0, "")
    assert line in answer.out
    assert len(set(whole.splitlines()) - set(answer.out.splitlines())) <= 3
    found = json.loads(sandbox("describe", NAME, "-o", "json").out)
    assert found["notAllowed"] == {part: right}
    assert found["state"] == "Running"
    assert part == "service" or not (found["workspace"]["phase"] if part == "workspace" else found[part])


@pytest.mark.parametrize("refused", ["statefulsets/.*", "pods/[^/]*"])
def test_describe_needs_the_sandbox_itself(refused: str, api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.refused[f"GET .*/{refused}"] = (403, "forbidden")
    answer = sandbox("describe", NAME)
    assert (answer.code, answer.out) == (3, "")


def test_credentials_that_end_midway_are_no_missing_right(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.refused["GET .*/events"] = (401, "expired")
    answer = sandbox("describe", NAME)
    assert (answer.code, answer.out) == (3, "")


def test_who_may_not_read_logs_may_pause(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.refused["GET .*/log"] = (403, "forbidden")
    assert sandbox("pause", NAME, "--no-wait").code == 0


@pytest.mark.parametrize("words", [("describe",), ("pause",), ("resume",), ("logs",)])
def test_another_stacks_sandbox_is_refused(api: FakeApi, sandbox: Command, words: tuple[str, ...]) -> None:
    sandbox_in(api)
    answer = sandbox(*words, NAME, "-s", "org/agents/staging", "-n", NAMESPACE)
    assert answer.code == 2
    assert api.changes() == []
    assert 'belongs to stack "production"' in answer.err
    assert f"  try: sandbox {words[0]} {NAME} -n {NAMESPACE} --stack production\n" in answer.err
    assert sandbox("describe", NAME, "-s", "production", "-n", NAMESPACE).code == 0


def test_exec_in_another_stacks_sandbox_names_exec(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    answer = sandbox("exec", NAME, "-s", "staging", "--", "true")
    assert answer.code == 125
    assert f"  try: sandbox exec {NAME} -n {NAMESPACE} --stack production -- CMD...\n" in answer.err


def test_an_unknown_name_is_answered_with_those_like_it(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    answer = sandbox("describe", "nightli", "-n", NAMESPACE)
    assert answer.code == 6
    assert answer.err.splitlines() == [
        f'error: sandbox "nightli" is not in namespace "{NAMESPACE}"',
        f"  did you mean: {NAME}",
        f"  try: sandbox list -n {NAMESPACE}",
    ]


def test_an_error_is_one_line_of_json_where_json_was_asked_for(api: FakeApi, sandbox: Command) -> None:
    answer = sandbox("describe", "x", "--output=json")
    assert answer.out == ""
    error = json.loads(answer.err)["error"]
    assert error["schemaVersion"] == 1
    assert error["code"] == "sandbox_not_found"
    assert error["suggestions"] == ["sandbox list -A"]


def test_missing_rights_are_exit_code_3(api: FakeApi, sandbox: Command) -> None:
    api.refused["GET .*statefulsets"] = (403, "forbidden")
    answer = sandbox("list")
    assert answer.code == 3
    assert '"list statefulsets" in namespace "agents"' in answer.err


def test_pause_and_resume_print_what_became_of_it(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    assert sandbox("pause", NAME, "--reason", "weekend").out == f"{NAME} paused\n"
    assert sandbox("pause", NAME).out == f"{NAME} already paused\n"
    described = json.loads(sandbox("describe", NAME, "-o", "json").out)
    assert (described["state"], described["pause"]["reason"]) == ("Paused", "weekend")
    assert described["exitStatus"] == {"code": 143, "signal": "SIGTERM"}
    answer = sandbox("resume", NAME)
    assert answer.out == f"{NAME} resumed\n"
    assert f"{NAME}: ready" in answer.err
    assert sandbox("resume", NAME, "-q").err == ""


def test_pausing_an_ephemeral_one_warns(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api, claim=False)
    assert "nothing of its files is kept" in sandbox("pause", NAME).err


def test_a_timeout_is_exit_code_9(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.on_scale = lambda name, replicas: None
    answer = sandbox("pause", NAME, "--timeout", "1s")
    assert answer.code == 9
    assert "they go on stopping" in answer.err


@pytest.mark.parametrize("words", [("pause",), ("pause", NAME, "--timeout", "soon"), ("describe", "a", "b"), ("lst",)])
def test_wrong_flags_are_exit_code_2(sandbox: Command, words: tuple[str, ...]) -> None:
    answer = sandbox(*words)
    assert answer.code == 2
    assert len(answer.errors) == 1


def test_a_namespace_that_is_none_is_refused(sandbox: Command) -> None:
    assert sandbox("list", "-n", "../x").code == 2


def test_logs_are_printed_as_they_are(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.logs[LOG] = b"step=1\nstep=2"
    assert sandbox("logs", NAME, "--tail", "5", "--since", "10m", "--timestamps").out == "step=1\nstep=2"
    assert api.asked[-1][2] == {
        "container": "agent",
        "tailLines": "5",
        "sinceSeconds": "600",
        "timestamps": "true",
    }
    sandbox("logs", NAME, "--tail", "all")
    assert api.asked[-1][2] == {"container": "agent"}


def test_logs_of_an_earlier_container_that_never_was(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.refused["GET .*log"] = (400, "previous terminated container not found")
    answer = sandbox("logs", NAME, "-p")
    assert answer.code == 4
    assert "no earlier container" in answer.err


@pytest.mark.parametrize("words", [(), ("-p",), ("-f",)])
def test_logs_of_a_container_that_is_not_there(api: FakeApi, sandbox: Command, words: tuple[str, ...]) -> None:
    sandbox_in(api)
    api.refused["GET .*log"] = (400, "container sidecar is not valid for pod nightly-0")
    answer = sandbox("logs", NAME, "-c", "sidecar", *words)
    assert answer.code == 4
    assert answer.errors == [f'error: sandbox "{NAME}" has no container "sidecar", but: agent']


@pytest.mark.parametrize(("words", "code"), [(("logs", NAME), 4), (("exec", NAME, "--", "true"), 125)])
def test_nothing_runs_in_a_paused_one_and_it_is_not_started(
    api: FakeApi, sandbox: Command, words: tuple[str, ...], code: int
) -> None:
    sandbox_in(api, replicas=0)
    answer = sandbox(*words)
    assert answer.code == code
    assert f"try: sandbox resume {NAME} -n {NAMESPACE}" in answer.err
    assert api.changes() == []


def test_exec_in_one_that_crash_loops_says_why(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.put(api_pod(pod(waiting("CrashLoopBackOff", "back-off"), ready=False, restarts=5)))
    answer = sandbox("exec", NAME, "--", "true")
    assert answer.code == 125
    assert "state Error" in answer.err


def test_exec_says_where_the_dashes_go(api: FakeApi, sandbox: Command) -> None:
    answer = sandbox("exec", NAME, "ls", "-l")
    assert answer.code == 2
    assert "Put -- before the command" in answer.err


def test_a_terminal_without_one_is_refused(sandbox: Command) -> None:
    assert sandbox("exec", NAME, "-it", "--", "sh").code == 2


def test_doctor_finds_what_is_wrong(api: FakeApi, sandbox: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    api.refused["GET .*storageclasses"] = (500, "no")
    answer = sandbox("doctor", "-o", "json")
    assert answer.code == 1
    document = json.loads(answer.out)
    verdicts = {check["name"]: check["verdict"] for check in document["checks"]}
    assert document["ok"] is False
    assert verdicts["storage classes"] == "failed"
    assert verdicts["pulumi CLI"] == "warning"
    assert verdicts["network policy"] == "warning"
    assert verdicts["cluster"] == "ok"


def test_doctor_is_content_with_a_good_cluster(api: FakeApi, sandbox: Command) -> None:
    api.put({**storage_class("local-path", default=True), "provisioner": "x"})
    api.put(
        {"metadata": {"name": "cilium", "namespace": "kube-system"}, "status": {"numberReady": 1}},
        "/apis/apps/v1/namespaces/kube-system/daemonsets",
    )
    answer = sandbox("doctor")
    assert answer.code == 0
    assert "storage classes: local-path (default)" in answer.out
    assert "network policy: Cilium runs" in answer.out


@pytest.mark.parametrize(("argument", "enforces"), [("true", True), ("false", False)])
def test_doctor_knows_an_agent_that_is_switched_off(
    argument: str, enforces: bool, api: FakeApi, sandbox: Command
) -> None:
    """As Amazon's is in every node's pod, until somebody switches it on."""
    agent = {"image": "amazon/aws-network-policy-agent:v1.2", "args": [f"--enable-network-policy={argument}"]}
    pod_spec = {"containers": [{"image": "amazon-k8s-cni:v1"}, agent]}
    api.put(
        {
            "metadata": {"name": "aws-node", "namespace": "kube-system"},
            "spec": {"template": {"spec": pod_spec}},
            "status": {"numberReady": 1},
        },
        "/apis/apps/v1/namespaces/kube-system/daemonsets",
    )
    assert ("AWS network policy agent runs" in sandbox("doctor").out) is enforces


@pytest.mark.parametrize(("version", "verdict"), [("v3.256.0", "ok"), ("v3.255.2", "warning"), ("v4.0.0", "warning")])
def test_doctor_knows_which_pulumi_is_too_old(
    version: str, verdict: str, api: FakeApi, sandbox: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "pulumi"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    checks = json.loads(sandbox("doctor", "-o", "json").out)["checks"]
    assert {check["name"]: check["verdict"] for check in checks}["pulumi CLI"] == verdict


def test_doctor_believes_who_runs_the_cluster(api: FakeApi, sandbox: Command) -> None:
    annotations = {"sandbox-components/network-policy": "kube-router"}
    api.put({"metadata": {"name": "kube-system", "annotations": annotations}}, paths.NAMESPACES)
    assert "network policy: kube-router runs" in sandbox("doctor").out


def watched(sandbox: Command, monkeypatch: pytest.MonkeyPatch, steps: list[Callable[[], None]], *words: str) -> Answer:
    """What `sandbox list -w` prints while `steps` happen, one before each change that it waits for."""
    from sandbox_components.kube.watching import Feed

    left, original = iter(steps), Feed.next

    def stepping(self: Feed, timeout_seconds: float) -> object:
        step = next(left, None)
        if step is None:
            raise KeyboardInterrupt
        step()
        return original(self, 5)

    monkeypatch.setattr(Feed, "next", stepping)
    return sandbox("list", "-w", "-o", "json", *words)


def test_watching_prints_a_row_for_each_change(api: FakeApi, sandbox: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox_in(api)
    sick = api_pod(pod(waiting("ErrImagePull", "not found"), ready=False))
    answer = watched(sandbox, monkeypatch, [lambda: api.put(sick) and None])
    assert answer.code == 130
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [row["state"] for row in rows] == ["Running", "Error"]
    assert not any("lastActivityAt" in row for row in rows)


def test_watching_outlasts_a_cluster_that_is_away_and_minds_no_stack(
    api: FakeApi, sandbox: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_in(api)
    monkeypatch.setattr("sandbox_components.kube.watching._RETRY_SECONDS", 0.01)
    original, away = api.handle_request, iter([True, True])

    def unsteady(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == SET and next(away, False):
            raise httpx2.ConnectError("refused")
        return original(request)

    api.handle_request = unsteady  # type: ignore[method-assign]
    sick = api_pod(pod(waiting("ErrImagePull", "not found"), ready=False))
    answer = watched(sandbox, monkeypatch, [lambda: api.put(sick) and None], "--stack", "another")
    assert answer.code == 130
    assert [json.loads(line)["state"] for line in answer.out.splitlines()] == ["Running", "Error"]


def test_who_may_not_watch_gets_a_list_now_and_then(
    api: FakeApi, sandbox: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_in(api)
    sick = api_pod(pod(waiting("ErrImagePull", "not found"), ready=False))
    steps: list[Callable[[], object]] = [lambda: None, lambda: api.put(sick), lambda: None]
    slept: list[float] = []
    original = api.handle_request

    def refusing(request: httpx2.Request) -> httpx2.Response:
        if "watch=true" in str(request.url):
            return httpx2.Response(403, json={"message": "no watch"})
        return original(request)

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    api.handle_request = refusing  # type: ignore[method-assign]
    monkeypatch.setattr("sandbox_components.operations.listing.time.sleep", sleep)
    answer = sandbox("list", "-w", "-o", "json")
    assert answer.code == 130
    assert [json.loads(line)["state"] for line in answer.out.splitlines()] == ["Running", "Error"]
    assert answer.err.splitlines()[0] in (
        "not allowed: watch statefulsets; listing every 5 s instead",
        "not allowed: watch pods; listing every 5 s instead",
    )
    assert answer.err.count("not allowed") == 1
    assert slept == [5.0] * 4
    lists = [path for _, path, params in api.asked if path.endswith("/statefulsets") and params.get("limit") != "1"]
    assert len(lists) == 4


def test_an_agents_last_words_do_nothing_to_the_terminal(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    ended = terminated(1)
    ended["terminated"]["message"] = "\x1b]0;gotcha\x07\x1b[2Jall is well"
    api.put(api_pod(pod(ended, ready=False)))
    for words in (["describe", NAME], ["list", "-o", "wide"], ["exec", NAME, "--", "true"]):
        answer = sandbox(*words)
        assert r"\x1b]0;gotcha\x07\x1b[2Jall is well" in answer.out + answer.err
        assert "\x1b" not in answer.out + answer.err


def test_a_claim_without_class_is_explained(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.put(claim("Pending", None))
    unbound = [condition("PodScheduled", False, "Unschedulable", "unbound immediate PersistentVolumeClaims")]
    api.put(api_pod(pod(phase="Pending", node=None, conditions=unbound)))
    api.put({**storage_class("fast"), "provisioner": "x"})
    seen = json.loads(sandbox("describe", NAME, "-o", "json").out)
    assert (seen["state"], seen["exitStatus"]) == ("Pending", None)
    assert "the cluster has no default class; set a storage class (there are: fast)" in seen["errorReason"]


def test_the_pod_of_a_sandbox_is_found_by_name(api: FakeApi, sandbox: Command) -> None:
    sandbox_in(api)
    api.drop(POD)
    api.put(api_pod(pod(running())))
    assert SET in api.objects
    assert json.loads(sandbox("describe", NAME, "-o", "json").out)["podName"] == f"{NAME}-0"
