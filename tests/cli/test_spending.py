"""`spend`, `describe`, `set-limit` and `rotate-key`, against an API server in memory and without an engine."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from sandbox_components.cli.options import Target
from sandbox_components.errors import SandboxError
from sandbox_components.kube import paths
from sandbox_components.manifests.limit import limit_config_map
from sandbox_components.manifests.placement import Placement
from sandbox_components.operations.change import Change
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.plan import Plan
from sandbox_components.operations.project import Project as Project_
from sandbox_components.spec.inference_key import make_read_key
from sandbox_components.spec.naming import PROXY_LABEL
from sandbox_components.spec.spending import DeclaredLimit
from tests.cli.in_process import ORDINARY, Command, Project
from tests.kube.api import FakeApi
from tests.kube.objects import NAMESPACE
from tests.operations.cluster_side import sandbox_in

SIGNING_KEY = "0123456789abcdef0123456789abcdef"
SPEND_PATH = "/api/v1/namespaces/inference/services/proxy:admin/proxy/v1/spend"
LIMIT = {
    "id": "nightly-month-1a",
    "actorType": "sandbox",
    "actorId": "fleet/dev/nightly",
    "period": "month",
    "timeZone": "UTC",
    "source": "fleet/dev",
    "limitNanos": 50_000_000_000,
    "usedNanos": 1_200_000_000,
    "heldNanos": 300_000_000,
    "beginsAt": "2026-11-01T00:00:00Z",
    "endsAt": "2026-12-01T00:00:00Z",
}
NOBODY = 'no endpoints available for service "proxy"'
TOKENS = {
    "inputTokens": 1000,
    "cachedInputTokens": 200,
    "cacheWriteTokens": 0,
    "outputTokens": 500,
    "reasoningTokens": 0,
}


def amounts(nanos: int, calls: int = 1) -> dict[str, Any]:
    return {"calls": calls, "nanos": nanos, "estimatedNanos": 0, "overrunNanos": 0, **TOKENS}


class Cluster(FakeApi):
    """An API server with a sandbox, and an inference proxy behind its Service."""

    def __init__(self) -> None:
        super().__init__()
        self.proxied: list[tuple[dict[str, str], str | None]] = []
        self.answer: tuple[int, Any] | None = None
        self.limits: list[dict[str, Any]] = [{**LIMIT, "actorType": "org", "actorId": "acme", "id": "o"}, LIMIT]
        sandbox_in(self)
        self.mark({"sandbox-components/inference": "inference/proxy"})

    def mark(self, notes: dict[str, str], name: str = "nightly") -> None:
        found = self.objects[paths.statefulsets(NAMESPACE, name)]
        own = {"sandbox-components/project": "fleet", "sandbox-components/stack": "dev"}
        found["metadata"]["annotations"] = own | notes

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if "/proxy/v1/" not in request.url.path:
            return super().handle_request(request)
        assert request.url.path == SPEND_PATH
        asked = dict(request.url.params)
        self.proxied.append((asked, request.headers.get("x-sandbox-admin-key")))
        if self.answer is not None:
            return httpx2.Response(self.answer[0], json=self.answer[1])
        rows = {
            "day": [{"key": "2026-11-28", **amounts(400_000_000)}, {"key": "2026-11-29", **amounts(800_000_000)}],
            "model": [{"key": "=gpt", **amounts(1_200_000_000, 2)}],
        }
        body = {
            "schemaVersion": 1,
            "kind": "Spend",
            "actorType": asked["actorType"],
            "actorId": asked["actorId"],
            "period": {
                "key": f"{asked['period']}:UTC:2026-11",
                "timeZone": "UTC",
                "beginsAt": LIMIT["beginsAt"],
                "endsAt": LIMIT["endsAt"],
            },
            "total": amounts(1_200_000_000, 2),
            "by": asked["by"],
            "rows": rows.get(asked["by"], []),
            "limits": self.limits,
        }
        return httpx2.Response(200, json=body)


@pytest.fixture
def cluster(project: Project, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    api = Cluster()
    monkeypatch.setattr(Target, "connect", lambda self, timeout_seconds=30.0: api.cluster(stack=self.stack))
    monkeypatch.setenv("SANDBOX_NAMESPACE", NAMESPACE)

    def read(self: Engine, *arguments: str) -> str:
        assert arguments == ("config", "get", "sandbox-components:inferenceSigningKey")
        return f"{SIGNING_KEY}\n"

    monkeypatch.setattr(Engine, "read", read)
    monkeypatch.setattr("sandbox_components.cli.options.Target.namespace_in", lambda self, cluster: NAMESPACE)
    return api


def test_the_total_and_the_limits(cluster: Cluster, command: Command) -> None:
    said = command("spend", "nightly")
    assert said.code == 0, said.err
    lines = [[cell for cell in line.split("   ") if cell.strip()] for line in said.out.splitlines()]
    rows = [[cell.strip() for cell in line] for line in lines]
    assert rows == [
        ["PERIOD", "SPENT", "CALLS", "INPUT", "CACHED", "OUTPUT", "ESTIMATED"],
        ["month:UTC:2026-11", "$1.20", "2", "1000", "200", "500", "$0.00"],
        [],
        ["LIMIT OF", "ACTOR", "PERIOD", "USED", "LIMIT", "LEFT", "RESETS", "SET BY"],
        [
            "sandbox",
            "fleet/dev/nightly",
            "month",
            "$1.20",
            "$50.00",
            "$48.50",
            "2026-12-01T00:00:00Z",
            "fleet/dev",
        ],
        ["org", "acme", "month", "$1.20", "$50.00", "$48.50", "2026-12-01T00:00:00Z", "fleet/dev"],
    ]
    assert cluster.proxied == [
        (
            {
                "actorType": "sandbox",
                "actorId": "fleet/dev/nightly",
                "period": "month",
                "timeZone": "UTC",
                "by": "total",
            },
            make_read_key(SIGNING_KEY.encode()),
        )
    ]
    assert SIGNING_KEY not in said.out + said.err


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_document(form: str, cluster: Cluster, command: Command) -> None:
    said = command("spend", "nightly", "--by", "day", "--period", "week", "-o", form)
    found = json.loads(said.out) if form == "json" else yaml.safe_load(said.out)
    assert (found["schemaVersion"], found["kind"], found["by"]) == (1, "Spend", "day")
    assert found["total"]["dollars"] == "1.2"
    assert [(row["key"], row["nanos"]) for row in found["rows"]] == [
        ("2026-11-28", 400_000_000),
        ("2026-11-29", 800_000_000),
    ]
    assert found["period"]["endsAt"] == "2026-12-01T00:00:00Z"
    assert found["limits"][0]["limitDollars"] == "50"
    assert cluster.proxied[0][0]["period"] == "week"


def test_rows_for_a_spreadsheet_hold_no_formula(cluster: Cluster, command: Command) -> None:
    said = command("spend", "nightly", "--by", "model", "-o", "csv")
    [row] = csv.DictReader(io.StringIO(said.out))
    assert row["model"] == "'=gpt"
    assert (row["dollars"], row["nanos"], row["calls"]) == ("1.2", "1200000000", "2")
    total = list(csv.DictReader(io.StringIO(command("spend", "nightly", "-o", "csv").out)))
    assert [one["total"] for one in total] == ["total"]


def test_the_chart_is_by_day_and_without_colours(cluster: Cluster, command: Command) -> None:
    said = command("spend", "nightly", "-o", "chart")
    assert said.code == 0, said.err
    assert cluster.proxied[0][0]["by"] == "day"
    assert "\x1b" not in said.out
    bars = {line.strip().split("┤")[0]: line.count("█") for line in said.out.splitlines() if "┤" in line}
    assert set(bars) == {"2026-11-28", "2026-11-29"}
    assert said.out.endswith("total: $1.20\n")


def test_an_org_by_the_sandboxes_proxy_or_a_named_one(cluster: Cluster, command: Command) -> None:
    said = command("spend", "--scope", "org", "--subject", "acme", "--by", "model")
    assert said.code == 0, said.err
    assert (cluster.proxied[0][0]["actorType"], cluster.proxied[0][0]["actorId"]) == ("org", "acme")
    cluster.objects.clear()
    assert command("spend", "--scope", "org", "--subject", "acme").code == 6
    assert command("spend", "--scope", "org", "--subject", "acme", "--proxy", "inference/proxy").code == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "NAME: is missing"),
        (["nightly", "--scope", "org", "--subject", "acme"], 2, "NAME: is given beside --scope"),
        (["--scope", "org"], 2, "--subject: is missing"),
        (["--subject", "acme"], 2, "--scope: is missing"),
        (["--scope", "org", "--subject", "a b"], 2, '--subject: "a b" is not a name'),
        (["--scope", "org", "--subject", "a", "--proxy", "x"], 2, '--proxy: "x" is not NAMESPACE/NAME'),
        (["nightli"], 6, "nightli"),
    ],
)
def test_what_is_wrong_is_told(words: list[str], code: int, says: str, cluster: Cluster, command: Command) -> None:
    said = command("spend", *words)
    assert said.code == code, said.err
    assert says in said.errors[0]
    assert cluster.proxied == []


def test_a_sandbox_without_inference(cluster: Cluster, command: Command) -> None:
    cluster.mark({})
    said = command("spend", "nightly")
    assert said.code == 6
    assert "has no inference" in said.errors[0]


@pytest.mark.parametrize(
    ("status", "body", "code", "says", "hint"),
    [
        (
            401,
            {"error": {"code": "access_denied", "message": "the header holds no read key of this proxy"}},
            1,
            "holds no read key",
            "must be the proxy's own",
        ),
        (400, {"error": {"code": "invalid_input", "message": "timeZone: no"}}, 1, "timeZone: no", ""),
        (
            503,
            {"kind": "Status", "message": NOBODY},
            1,
            "is ready: it may be starting, or being replaced",
            "in some seconds",
        ),
        (503, {"kind": "Status", "message": "dial tcp: i/o timeout"}, 1, "i/o timeout", "admin_cidrs"),
        (404, {"kind": "Status", "message": "not found"}, 6, 'finds no Service "proxy"', ""),
        (403, {"kind": "Status", "message": "forbidden"}, 3, "get services/proxy", "kubectl auth can-i"),
        (200, {"kind": "Else"}, 1, "of another version", ""),
    ],
)
def test_refusals_of_proxy_and_cluster(
    status: int, body: Any, code: int, says: str, hint: str, cluster: Cluster, command: Command
) -> None:
    cluster.answer = status, body
    said = command("spend", "nightly")
    assert said.code == code
    assert says in said.errors[0]
    assert hint in said.err
    assert ("admin_cidrs" in said.err) is (hint == "admin_cidrs")
    assert make_read_key(SIGNING_KEY.encode()) not in said.err


def test_without_a_signing_key(cluster: Cluster, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(self: Engine, *arguments: str) -> str:
        raise SandboxError("configuration key 'inferenceSigningKey' not found for stack 'dev'")

    monkeypatch.setattr(Engine, "read", read)
    said = command("spend", "nightly")
    assert said.code == 6
    assert "has no sandbox-components:inferenceSigningKey" in said.errors[0]
    assert "pulumi config get sandbox-components:inferenceSigningKey --stack STACK-OF-THE-PROXY" in said.err
    described = command("describe", "nightly", "--no-events")
    assert described.code == 0
    assert "Limits:         <unknown> (stack dev has no" in described.out


def test_describe_tells_used_limit_and_reset(cluster: Cluster, command: Command) -> None:
    said = command("describe", "nightly", "--no-events")
    assert said.code == 0, said.err
    section = said.out[said.out.index("Spending") :].split("\n\n")[0].splitlines()
    assert [line.strip() for line in section[1:]] == [
        "Proxy:          inference/proxy",
        "month:          $1.20 of $50.00 used, $0.30 in flight, resets 2026-12-01T00:00:00Z",
        "org month:      $1.20 of $50.00 used, $0.30 in flight, resets 2026-12-01T00:00:00Z",
    ]
    found = json.loads(command("describe", "nightly", "--no-events", "-o", "json").out)
    assert found["inference"] == "inference/proxy"
    assert [one["usedDollars"] for one in found["spendingLimits"]] == ["1.2", "1.2"]


def test_describe_tells_what_the_proxy_told_of_limits(cluster: Cluster, command: Command) -> None:
    for name, reason in (("nightly-month-1a", "SpendingLimitNear"), ("others-1a", "SpendingLimitNear"), ("o", "Else")):
        event = {
            "metadata": {"name": f"{name}.{reason}", "namespace": "inference", "uid": name},
            "involvedObject": {"kind": "ConfigMap", "name": name},
            "type": "Warning",
            "reason": reason,
            "message": f"{name} has spent $0.04 of $0.05",
            "lastTimestamp": "2026-11-29T11:00:00Z",
        }
        cluster.put(event, paths.events("inference"))
    found = json.loads(command("describe", "nightly", "-o", "json").out)
    told = [one["message"] for one in found["events"] if one["kind"] == "ConfigMap"]
    assert told == ["nightly-month-1a has spent $0.04 of $0.05"]


def test_describe_without_the_right_to_ask_the_proxy(cluster: Cluster, command: Command) -> None:
    cluster.answer = 403, {"kind": "Status", "message": "forbidden"}
    said = command("describe", "nightly", "--no-events")
    assert said.code == 0
    assert "Limits:         not allowed: get services/proxy" in said.out
    found = json.loads(command("describe", "nightly", "--no-events", "-o", "json").out)
    assert found["spendingLimits"] is None
    assert found["notAllowed"] == {"spendingLimits": "get services/proxy"}


def test_describe_asks_nobody_where_there_is_no_inference(cluster: Cluster, command: Command) -> None:
    cluster.mark({})
    said = command("describe", "nightly", "--no-events")
    assert said.code == 0
    assert "Spending" not in said.out
    assert cluster.proxied == []


def config_of(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(project.config_file.read_text())["config"]
    return found


def test_setting_and_clearing_by_the_file_alone(project: Project, command: Command) -> None:
    before = project.config_file.read_text()
    assert command("set-limit", "nightly", "--period", "month", "--limit-cents", "5000", "--no-up").out == (
        "nightly edited\n"
    )
    words = ["set-limit", "--scope", "org", "--subject", "acme", "--period", "day", "--no-up"]
    assert command(*words, "--limit-cents", "100", "--time-zone", "Asia/Tokyo").out == "org/acme edited\n"
    assert command(*words, "--limit-cents", "0").out == "org/acme edited\n"
    assert config_of(project)["sandbox-components:spendingLimits"] == {
        "nightly": {"month": {"limitCents": 5000}},
        "org/acme": {"day": {"limitCents": 0, "timeZone": "Asia/Tokyo"}},
    }
    assert "    # works at night\n" in project.config_file.read_text()
    assert command(*words, "--clear").out == "org/acme edited\n"
    assert command(*words, "--clear").out == "org/acme unchanged\n"
    assert command("set-limit", "nightly", "--period", "day", "--clear", "--no-up").out == "nightly unchanged\n"
    assert command("set-limit", "nightly", "--period", "month", "--clear", "--no-up").out == "nightly edited\n"
    assert project.config_file.read_text() == before


@pytest.mark.parametrize(
    ("written", "field"),
    [
        ("5", "sandbox-components:spendingLimits: is not a mapping"),
        ("{nightly: 5}", "sandbox-components:spendingLimits.nightly: is not a mapping of day, week or month"),
        ("{nightly: {month: 5}}", "sandbox-components:spendingLimits.nightly.month: is not a mapping of limitCents"),
    ],
)
@pytest.mark.parametrize("what", [["--clear"], ["--limit-cents", "5"]])
def test_broken_limits_are_told_and_left(
    written: str, field: str, what: list[str], project: Project, command: Command
) -> None:
    place = ORDINARY.index("encryptionsalt")
    before = project.write(f"{ORDINARY[:place]}  sandbox-components:spendingLimits: {written}\n{ORDINARY[place:]}")
    said = command("set-limit", "nightly", "--period", "month", *what, "--no-up")
    assert said.code == 2
    assert field in said.errors[0]
    assert project.config_file.read_bytes() == before


def test_an_empty_key_takes_a_limit(project: Project, command: Command) -> None:
    place = ORDINARY.index("encryptionsalt")
    project.write(f"{ORDINARY[:place]}  sandbox-components:spendingLimits:\n{ORDINARY[place:]}")
    assert command("set-limit", "nightly", "--period", "month", "--limit-cents", "5", "--no-up").code == 0
    assert config_of(project)["sandbox-components:spendingLimits"] == {"nightly": {"month": {"limitCents": 5}}}


def test_a_limit_goes_with_its_sandbox(project: Project, command: Command) -> None:
    command("set-limit", "nightly", "--period", "month", "--limit-cents", "5000", "--no-up")
    assert command("delete", "nightly", "--no-up").code == 0
    assert "spendingLimits" not in project.config_file.read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nightly", "--period", "month"], "--limit-cents: or --clear is needed"),
        (["nightly", "--period", "month", "--limit-cents", "1", "--clear"], "--limit-cents: or --clear is needed"),
        (["nightly", "--limit-cents", "1"], "--period: is missing"),
        (["nightly", "--period", "month", "--limit-cents", "$5"], "--limit-cents: "),
        (["nightly", "--period", "month", "--limit-cents", "-1"], "--limit-cents: "),
        (["Nightly", "--period", "month", "--limit-cents", "1"], 'NAME: "Nightly" is not a sandbox name'),
        (["nightly", "--period", "day", "--limit-cents", "1", "--time-zone", "Tokyo"], "--time-zone: "),
        (["--period", "day", "--limit-cents", "1"], "NAME: is missing"),
    ],
)
def test_wrong_limits_change_nothing(words: list[str], says: str, project: Project, command: Command) -> None:
    before = project.files()
    said = command("set-limit", *words, "--no-up")
    assert said.code == 2
    assert says in said.errors[0]
    assert project.files() == before


def test_rotating_by_the_file_alone(project: Project, command: Command) -> None:
    project.write(
        ORDINARY.replace(
            "      labels: {team: core}\n",
            "      labels: {team: core}\n      inference: {namespace: inference, name: proxy}\n",
        )
    )
    for generation in (2, 3):
        assert command("rotate-key", "nightly", "--no-up").out == "nightly edited\n"
        declared = config_of(project)["sandbox-components:sandboxes"]["nightly"]
        assert declared["keyGeneration"] == generation
    assert "# survives" in project.config_file.read_text()


def test_rotating_what_has_no_key(project: Project, command: Command) -> None:
    before = project.files()
    said = command("rotate-key", "nightly", "--no-up")
    assert (said.code, '"nightly" has no inference' in said.errors[0]) == (2, True)
    assert (
        "  try: give it inference: {namespace, name} of an inference proxy, at sandbox-components:sandboxes.nightly"
        in (said.err)
    )
    assert project.files() == before


def test_the_chart_library_loads_for_charts_alone(cluster: Cluster, command: Command, tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; import sandbox_components.cli.commands.spend, sandbox_components.cli.spend_text; "
        "sys.exit('plotext' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_lower_limit_of_another_stack_is_told(
    cluster: Cluster, command: Command, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sandbox_components.operations import change

    monkeypatch.setattr(change, "change", lambda *_, **__: Change("nightly", "limited"))
    monkeypatch.setattr(Project_, "default_namespace", lambda self, stack: NAMESPACE)
    other = {**LIMIT, "source": "other/prod", "limitNanos": 20_000_000}
    cluster.limits = [LIMIT, other, {**other, "actorType": "org"}, {**other, "period": "day"}]
    words = ["set-limit", "nightly", "--period", "month", "-y"]
    assert "lower limit" not in command(*words, "--limit-cents", "2").err
    said = command(*words, "--limit-cents", "3")
    assert said.out == "nightly limited\n"
    assert said.err.count("stack other/prod has a lower limit, $0.02 a month: that one binds") == 1
    cluster.answer = 503, {"kind": "Status", "message": "no endpoints"}
    said = command(*words, "--limit-cents", "3")
    assert said.code == 0
    assert "whether another stack's limit binds isn't known" in said.err


def test_a_limit_of_the_stacks_own_proxy_is_compared_without_a_sandbox(
    cluster: Cluster, command: Command, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sandbox_components.operations import change

    place = Placement("proxy", "inference", "fleet", "dev", "1.2.3", label=PROXY_LABEL)
    made = limit_config_map(place, "proxy-org-month-1a", DeclaredLimit("org", "acme", "month", 3, source="fleet/dev"))
    urn = "urn:pulumi:dev::fleet::kubernetes:core/v1:ConfigMap::proxy-org-month"
    [step] = Plan.read({"steps": [{"op": "create", "urn": urn, "newState": {"urn": urn, "inputs": made}}]}).steps
    monkeypatch.setattr(change, "change", lambda *_, **__: Change("org/acme", "limited", steps=(step,)))
    monkeypatch.setattr(Project_, "default_namespace", lambda self, stack: NAMESPACE)
    cluster.objects.clear()
    cluster.limits = [
        {**LIMIT, "actorType": "org", "actorId": "acme", "source": "other/prod", "limitNanos": 20_000_000}
    ]
    said = command("set-limit", "--scope", "org", "--subject", "acme", "--period", "month", "-y", "--limit-cents", "3")
    assert (said.code, said.out) == (0, "org/acme limited by the month: none → $0.03\n")
    assert "stack other/prod has a lower limit, $0.02 a month: that one binds" in said.err
    assert "isn't known" not in said.err
