"""How `pulumi` is called, and what becomes of what it says: plans, progress, and errors in our words."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sandbox_components.errors import AccessDenied, InvalidInput, NotFound, Refused, SandboxError
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.engine_faults import fault
from sandbox_components.operations.project import Project
from tests.cli.stand_in_engine import StandIn

CLAIM_URN = "urn:pulumi:dev::agents::sandbox-components:index:Sandbox$kubernetes:core/v1:PersistentVolumeClaim::one-ws"
LOCKED = """\
error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock \
file with `pulumi cancel`.
  file:///state/.pulumi/locks/organization/agents/dev/6a.json: created by me@host (pid 4711) at 2026-11-29T16:00:00Z
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A stand-in for `pulumi`, on PATH."""
    made = StandIn(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.env["PATH"])
    return made


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """The engine on stack dev."""
    return Engine(Project(tmp_path, "agents", tmp_path, "."), "dev")


def test_a_preview_names_stack_and_config(stand_in: StandIn, engine: Engine, tmp_path: Path) -> None:
    plan = engine.preview(tmp_path / "draft.yaml", ignore_protect=True)
    assert plan.knows("nightly")
    (call,) = stand_in.asked
    assert call[:3] == ["preview", "--json", "--show-sames"]
    assert call[3:6] == ["--config-file", str(tmp_path / "draft.yaml"), "--ignore-protect"]
    assert call[-5:] == ["--stack", "dev", "--non-interactive", "--color", "never"]


def test_an_update_names_its_targets(stand_in: StandIn, engine: Engine) -> None:
    engine.up(["urn:a", "urn:b"], message="sandbox update one", report=lambda line: None)
    (call,) = stand_in.asked
    assert call[:6] == ["up", "--yes", "--skip-preview", "--json", "--message", "sandbox update one"]
    assert call[6:10] == ["--target", "urn:a", "--target", "urn:b"]
    assert "--ignore-protect" not in call


def test_secrets_go_by_standard_input(stand_in: StandIn, engine: Engine, tmp_path: Path) -> None:
    engine.set_secret(tmp_path / "draft.yaml", "a.b", "s3cret")
    assert "s3cret" not in json.dumps(stand_in.asked)


def test_progress_comes_from_the_engines_events(stand_in: StandIn, engine: Engine) -> None:
    urn = "urn:pulumi:dev::agents::sandbox-components:index:Sandbox$kubernetes:apps/v1:StatefulSet::one"
    stack = "urn:pulumi:dev::agents::pulumi:pulumi:Stack::agents-dev"
    events = [
        {"resourcePreEvent": {"metadata": {"op": "create", "urn": urn}}},
        {"resourcePreEvent": {"metadata": {"op": "same", "urn": urn}}},
        {"resourcePreEvent": {"metadata": {"op": "update", "urn": stack}}},
        {"resOutputsEvent": {"metadata": {"op": "create", "urn": urn}}},
        {"resourcePreEvent": {"metadata": {"op": "create-replacement", "urn": urn}}},
        {"summaryEvent": {}},
        {"diagnosticEvent": {"severity": "warning", "message": "never mind"}},
        *(
            {"diagnosticEvent": {"severity": "info", "urn": urn, "message": text, "ephemeral": True}}
            for text in ("Retry #0; creation failed: why\n", "Retry #1; creation failed: why\n", "[1/2] Waiting\n")
        ),
        {"diagnosticEvent": {"severity": "info", "urn": urn, "message": "\n", "ephemeral": True}},
        {"diagnosticEvent": {"severity": "error", "message": 'pods "one-0" is forbidden: exceeded quota'}},
    ]
    stand_in.fails("\n".join(json.dumps(event) for event in events) + "\nnot JSON at all")
    news: list[str] = []
    with pytest.raises(Refused) as caught:
        engine.up([urn], message="m", report=news.append)
    assert news == [
        "creating StatefulSet one",
        "create-replacement StatefulSet one",
        "StatefulSet one: creation failed: why, it is tried again",
    ]
    assert "exceeded quota" in str(caught.value)
    assert "not JSON at all" in str(caught.value)
    assert "never mind" not in str(caught.value)


def test_an_update_that_fails_without_a_word(stand_in: StandIn, engine: Engine) -> None:
    stand_in.fails("{}")
    with pytest.raises(SandboxError, match="pulumi up ended with exit code 1"):
        engine.up(["urn:a"], message="m", report=lambda line: None)


def test_words_between_the_events_are_told_whatever_they_are(stand_in: StandIn, engine: Engine) -> None:
    stand_in.fails('5\n"ä"\nnull\n{"sequence": 1}\nthe provider is cross\n')
    with pytest.raises(SandboxError, match="the provider is cross"):
        engine.up(["urn:a"], message="m", report=lambda line: None)


def test_no_pulumi(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(NotFound, match="the command pulumi is not on PATH"):
        engine.preview()


def test_a_kubeconfig_stands_for_the_environments(stand_in: StandIn, tmp_path: Path) -> None:
    project = Project(tmp_path, "agents", tmp_path, ".")
    given = Engine(project, "dev", kubeconfig="kube.config")._environment()
    assert given["KUBECONFIG"] == str(Path("kube.config").resolve())
    assert Engine(project, "dev")._environment().get("KUBECONFIG") == os.environ.get("KUBECONFIG")


@pytest.mark.parametrize(
    ("text", "kind", "exit_code", "says", "tries"),
    [
        (
            LOCKED,
            SandboxError,
            1,
            "stack dev is locked by another update (created by me@host (pid 4711) at 2026-11-29T16:00:00Z)",
            "pulumi cancel --stack dev --yes && pulumi refresh --stack dev --yes",
        ),
        (
            "error: the current deployment has 1 resource(s) with pending operations:\n  * urn:x, interrupted\n",
            SandboxError,
            1,
            "operations pending from an update that was killed",
            "pulumi refresh --stack dev --yes",
        ),
        (
            "error: no stack named 'dev' found",
            NotFound,
            6,
            'there is no stack "dev" in this backend',
            "pulumi stack init dev",
        ),
        (
            "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions",
            SandboxError,
            1,
            "Pulumi is not logged in to a backend",
            "pulumi login URL",
        ),
        (
            'error: resource "urn:x" was not successfully created by the Kubernetes API server: '
            'namespaces "agents-dev" not found\nupdate failed',
            NotFound,
            6,
            'there is no namespace "agents-dev"',
            "pulumi refresh --stack dev",
        ),
        ("error: incorrect passphrase", SandboxError, 1, "can't be read: wrong or missing passphrase", "set PULUMI_"),
        (
            "error: sandbox-components:sandboxes.one.image.uri: is blank",
            InvalidInput,
            2,
            "sandbox-components:sandboxes.one.image.uri: is blank",
            "",
        ),
        ("error: one.ports[0].port: 0 is not a port", InvalidInput, 2, "one.ports[0].port: 0 is not a port", ""),
        (
            f'error: Preview failed: resource "{CLAIM_URN}" cannot be deleted\nbecause it is protected. To unprotect',
            Refused,
            4,
            "this would delete the claim one-ws and all that is on it",
            "keep class, volume and claimName as they are; size may grow",
        ),
        (
            f'error: unable to replace resource "{CLAIM_URN}"\nas it is currently marked for protection. To unprotect',
            Refused,
            4,
            "this would delete the claim one-ws and all that is on it",
            "",
        ),
        (
            'error: resource "urn:pulumi:dev::agents::kubernetes:core/v1:Namespace::ns" cannot be deleted\n'
            "because it is protected.",
            Refused,
            4,
            "this would delete ns (kubernetes:core/v1:Namespace), which the program protects",
            "",
        ),
        ('error: pods "x" is forbidden: exceeded quota: small', Refused, 4, "is forbidden", ""),
        (
            'error: namespaces is forbidden: User "ada" cannot create resource "namespaces" in API group ""',
            AccessDenied,
            3,
            'User "ada" cannot create resource "namespaces"',
            "sandbox doctor",
        ),
        (
            "error: the server has asked for the client to provide credentials",
            AccessDenied,
            3,
            "to provide credentials",
            "sandbox doctor",
        ),
        ('error: StatefulSet.apps "x" is invalid: spec', Refused, 4, "is invalid", ""),
        ("error: could not reach cluster", SandboxError, 1, "pulumi up failed: error: could not reach cluster", ""),
    ],
)
def test_what_the_engine_says_in_our_words(
    text: str, kind: type[SandboxError], exit_code: int, says: str, tries: str
) -> None:
    error = fault(text, "up", "dev")
    assert type(error) is kind
    assert error.exit_code == exit_code
    assert says in str(error)
    assert tries in "\n".join(error.suggestions)
    assert "unprotect" not in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "one.imgae: is not a known key: did you mean image?",
        "one.resource_limits.cpu: is a secret: secrets are for env alone",
        "one.resourceLimits.memory: 1 is below 4Mi",
        "one.volumes[0].mountPath: is missing: an absolute path such as /data",
        "one.image_auth.password: is missing",
        "one.expiresAt: is not available yet in this version",
        "proxy.upstreams[0].key: is missing: the provider's key, as a secret Output",
        "proxy.databaseUrl: is not a URL",
        "cap.actorId: is blank",
        "one.env.a.b: is not a string but of type int",
        'sandbox-components:namespace: "X" is not a namespace',
    ],
)
def test_our_own_fields(said: str) -> None:
    error = fault(f"Diagnostics:\nerror: {said}\nerror: preview failed", "preview", "dev")
    assert type(error) is InvalidInput
    assert str(error) == said


@pytest.mark.parametrize(
    "said",
    [
        "registry.example: connection refused",
        "error: host.name: text",
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='db.example', port=443)",
        "error: Program failed with an unhandled exception:\nbotocore.exceptions.NoCredentialsError: Unable to locate",
        "agents.settings: no such module",
        "error: could not open secrets: api.example.com: no such host",
    ],
)
def test_fields_of_others_are_no_fields_of_ours(said: str) -> None:
    error = fault(said, "up", "dev")
    assert type(error) is SandboxError
    assert error.message == f"pulumi up failed: {said}".replace("\n", "\n  ")


@pytest.mark.parametrize("said", ["failed to load checkpoint: EOF", "failed to load: unexpected end of JSON input"])
def test_a_state_that_was_cut_off(said: str) -> None:
    here = fault(f"warning: x\nerror: {said}", "preview", "dev", Path("/my state"))
    assert here.suggestions[0] == "find '/my state/.pulumi' -name '*.attrs' -empty -delete"
    assert here.code == "state_unreadable"
    elsewhere = fault(f"error: {said}", "preview", "dev")
    assert elsewhere.suggestions[0].endswith("-delete, in the folder of the state backend")


def test_warnings_are_no_cause() -> None:
    assert str(fault("warning: a\nerror: b", "up", "dev")) == "pulumi up failed: error: b"
    assert str(fault("warning: a", "up", "dev")) == "pulumi up failed: warning: a"


def test_a_long_story_is_cut() -> None:
    error = fault("\n\n".join(f"line {number}" for number in range(100)), "up", "dev")
    assert len(str(error).splitlines()) == 12
    assert str(error).endswith("...")
