"""What users import and write: lazy names, argument types that agree with the models, a schema for other languages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pulumi.provider.experimental.analyzer import Analyzer

import sandbox_components
from sandbox_components.components import args
from sandbox_components.spec.health import HealthCheck, HttpGet
from sandbox_components.spec.inference import Inference, OwnLimit, SpendingLimitSpec
from sandbox_components.spec.network import EgressPort, EgressRule, Expose, Port
from sandbox_components.spec.proxy import ProxySpec, ProxyUpstream, Storage
from sandbox_components.spec.sandbox import ResourceRequests, SandboxSpec
from sandbox_components.spec.scheduling import Toleration
from sandbox_components.spec.workspace import Workspace

OWN = {
    args.UpstreamArgs: {"key"},
    args.InferenceProxyArgs: {"namespace", "signing_key", "database_url"},
    args.SpendingLimitArgs: {"namespace", "labels"},
    args.SandboxArgs: {"namespace", "egress_rules", "image_auth"},
    args.PersistentWorkspaceArgs: {"namespace", "deletion", "labels"},
}
"""Fields that the component itself takes away before the rest is read."""

MADE = {ProxySpec: {"is_postgres"}}
"""Fields of the models that follow from others."""


def test_importing_the_package_does_not_import_pulumi() -> None:
    code = (
        "import sandbox_components, sys; sys.exit(any(m.split('.')[0] in ('pulumi', 'pydantic') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names_are_there_and_listed() -> None:
    for name in sandbox_components.__all__:
        assert getattr(sandbox_components, name) is not None
        assert name in dir(sandbox_components)
    with pytest.raises(AttributeError, match="no attribute 'Sandbx'"):
        _ = sandbox_components.Sandbx  # type: ignore[attr-defined]


def test_the_package_is_typed() -> None:
    assert (Path(sandbox_components.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    ("written", "model"),
    [
        (args.SandboxArgs, SandboxSpec),
        (args.WorkspaceArgs, Workspace),
        (args.PersistentWorkspaceArgs, Workspace),
        (args.HealthProbeArgs, HealthCheck),
        (args.HttpGetArgs, HttpGet),
        (args.PortArgs, Port),
        (args.ExposeArgs, Expose),
        (args.EgressRuleArgs, EgressRule),
        (args.EgressPortArgs, EgressPort),
        (args.ResourcesArgs, ResourceRequests),
        (args.TolerationArgs, Toleration),
        (args.InferenceArgs, Inference),
        (args.OwnLimitArgs, OwnLimit),
        (args.PayerLimitArgs, SpendingLimitSpec),
        (args.SpendingLimitArgs, SpendingLimitSpec),
        (args.InferenceProxyArgs, ProxySpec),
        (args.UpstreamArgs, ProxyUpstream),
        (args.StorageArgs, Storage),
    ],
)
def test_argument_types_have_the_models_fields(written: Any, model: Any) -> None:
    assert set(written.__annotations__) - OWN.get(written, set()) == set(model.model_fields) - MADE.get(model, set())


def test_every_argument_is_explained() -> None:
    source = Path(args.__file__).read_text()
    assert source.count('"""') // 2 > 60
    for name in ("SandboxArgs", "WorkspaceArgs", "HealthProbeArgs", "InferenceProxyArgs", "SpendingLimitArgs"):
        assert getattr(args, name).__doc__


def test_pulumis_analyser_makes_a_schema() -> None:
    """Users of YAML and other languages get the components from it."""
    names = ("Sandbox", "PersistentWorkspace", "HealthProbe", "SpendingLimit", "InferenceProxy")
    components = [getattr(sandbox_components, name) for name in names]
    result = Analyzer("sandbox-components").analyze(components)  # type: ignore[arg-type]
    found = result["component_definitions"]
    assert set(found) == set(names)
    assert len(found["Sandbox"].inputs) == len(args.SandboxArgs.__annotations__)
    assert {"image", "resourceLimits", "healthCheck", "workspace", "egressRules"} <= set(found["Sandbox"].inputs)
    assert not found["Sandbox"].inputs["image"].optional
    assert found["Sandbox"].inputs["workspace"].optional
    assert {"name", "namespace", "sandboxId", "claimName", "endpoints"} == set(found["Sandbox"].outputs)
    assert {"claimName", "mountPath"} == set(found["PersistentWorkspace"].outputs)
    assert {"livenessProbe", "readinessProbe"} == set(found["HealthProbe"].outputs)
    assert {"configMapName", "namespace"} == set(found["SpendingLimit"].outputs)
    assert {"name", "namespace", "port", "claimName"} == set(found["InferenceProxy"].outputs)
    assert {"upstreams", "databaseUrl", "spendingLimits"} <= set(found["InferenceProxy"].inputs)
    assert {"inference", "spendingLimits", "org", "keyGeneration"} <= set(found["Sandbox"].inputs)
    assert found["Sandbox"].inputs["image"].description
