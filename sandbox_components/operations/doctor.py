"""Check that this machine and this cluster have what sandboxes need, and say what to do about what is missing."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata

from sandbox_components.errors import AccessDenied, SandboxError
from sandbox_components.kube import inspection
from sandbox_components.kube.client import Cluster
from sandbox_components.operations.inference import proxies_in
from sandbox_components.spec.inference import ADMIN_PORT_NAME

_OLDEST_SERVER = (1, 30)
"""Since 1.30 exec goes over a websocket that can close stdin."""
_OLDEST_PULUMI = (3, 256)
"""Since 3.256 `preview` and `up` take `--ignore-protect`, which `sandbox delete` stands on."""
_POLICY_TEST = (
    "apply a NetworkPolicy without rules to a pod and see whether it still reaches another; once you know that it is "
    f"enforced, say so: kubectl annotate namespace kube-system {inspection.ENFORCER_ANNOTATION}=NAME"
)


class Verdict(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"
    """Works, or can't be told; something to know."""
    FAILED = "failed"


@dataclass(frozen=True)
class Check:
    """One thing that was checked."""

    name: str
    verdict: Verdict
    detail: str
    next_step: str | None = None


def check_machine() -> Iterator[Check]:
    """Check what is installed here."""
    yield Check("python", Verdict.OK, platform.python_version())
    yield _pulumi()
    for package in ("sandbox-components", "pulumi", "pulumi-kubernetes"):
        try:
            yield Check(package, Verdict.OK, metadata.version(package))
        except metadata.PackageNotFoundError:
            yield Check(package, Verdict.FAILED, "not installed", f"pip install {package}")


def check_cluster(connect: Callable[[], Cluster], namespace: str | None) -> Iterator[Check]:
    """Check a cluster; after one that can't be reached, nothing more is asked.

    Args:
        connect: connects to it.
        namespace: where sandboxes are to run; the context's by default.
    """
    try:
        cluster = connect()
    except SandboxError as error:
        yield _unusable(error)
        return
    with cluster:
        try:
            version = inspection.version(cluster)
        except SandboxError as error:
            yield _unusable(error)
            return
        yield _server(cluster, version)
        where = namespace or cluster.connection.namespace or "default"
        yield _namespace(cluster, where)
        for verbs, rights in inspection.RIGHTS.items():
            yield _rights(cluster, where, verbs, rights)
        yield from _proxies(cluster, where)
        yield _classes(cluster)
        yield _policy(cluster)


def _unusable(error: SandboxError) -> Check:
    return Check("cluster", Verdict.FAILED, error.message, next(iter(error.suggestions), None))


def _pulumi() -> Check:
    found = shutil.which("pulumi")
    if found is None:
        step = "install it: https://www.pulumi.com/docs/install/ (list, describe, pause, resume, exec, logs do without)"
        return Check("pulumi CLI", Verdict.WARNING, "not on PATH", step)
    try:
        done = subprocess.run([found, "version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Check("pulumi CLI", Verdict.FAILED, f"{found} does not run: {error}", "install it anew")
    version = done.stdout.strip()
    numbers = _numbers(version)
    if numbers is None or numbers < _OLDEST_PULUMI or numbers[0] != _OLDEST_PULUMI[0]:
        step = f"use v{_OLDEST_PULUMI[0]}.{_OLDEST_PULUMI[1]} or a newer v{_OLDEST_PULUMI[0]}"
        return Check("pulumi CLI", Verdict.WARNING, f"{version} at {found}", step)
    return Check("pulumi CLI", Verdict.OK, version)


def _numbers(version: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version such as `v1.34.4`; None if it is none."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None


def _server(cluster: Cluster, version: str) -> Check:
    detail = f"{version} at {cluster.connection.server} as {cluster.who}"
    numbers = _numbers(version)
    if numbers is None:
        return Check("cluster", Verdict.WARNING, f"{detail}: a version that can't be read")
    if numbers < _OLDEST_SERVER:
        return Check("cluster", Verdict.WARNING, detail, "exec -i can't close stdin before Kubernetes 1.30")
    return Check("cluster", Verdict.OK, detail)


def _namespace(cluster: Cluster, namespace: str) -> Check:
    try:
        if inspection.has_namespace(cluster, namespace):
            return Check("namespace", Verdict.OK, namespace)
    except SandboxError as error:
        return Check("namespace", Verdict.WARNING, f"{namespace}: {error.message}")
    return Check("namespace", Verdict.WARNING, f"{namespace} is not there", "`pulumi up` of a program makes its own")


def _proxies(cluster: Cluster, namespace: str) -> Iterator[Check]:
    """Check the rights where the sandboxes' inference proxies are, if there are any."""
    try:
        proxies = proxies_in(cluster, namespace)
    except SandboxError as error:
        yield Check("inference proxy", Verdict.WARNING, f"whether sandboxes talk to one isn't known: {error.message}")
        return
    for proxy in proxies:
        for verbs, rights in inspection.proxy_rights(f"{proxy.name}:{ADMIN_PORT_NAME}").items():
            yield _rights(cluster, proxy.namespace, verbs, rights)


def _rights(cluster: Cluster, namespace: str, verbs: str, rights: tuple[inspection.Right, ...]) -> Check:
    name = f"rights for {verbs}"
    try:
        missing = inspection.missing_rights(cluster, namespace, rights)
    except SandboxError as error:
        return Check(name, Verdict.WARNING, f"can't be asked: {error.message}")
    if missing:
        lacking = ", ".join(right.shown for right in missing)
        return Check(name, Verdict.FAILED, f'missing in namespace "{namespace}": {lacking}', "ask for a Role with them")
    return Check(name, Verdict.OK, f'in namespace "{namespace}"')


def _classes(cluster: Cluster) -> Check:
    name = "storage classes"
    try:
        classes = inspection.storage_classes(cluster)
    except AccessDenied as error:
        return Check(name, Verdict.WARNING, f"can't be listed: {error.message}", "name a class in stack config")
    except SandboxError as error:
        return Check(name, Verdict.FAILED, error.message)
    if not classes:
        return Check(name, Verdict.FAILED, "there is none", "install a provisioner: persistent sandboxes need one")
    shown = ", ".join(
        entry.name + (" (default)" if entry.is_default else "") + (" (can grow)" if entry.can_grow else "")
        for entry in classes
    )
    if not any(entry.is_default for entry in classes):
        step = "set `sandbox-components:agentVolumeStorageClass` in stack config"
        return Check(name, Verdict.WARNING, f"{shown}; none is the default", step)
    return Check(name, Verdict.OK, shown)


def _policy(cluster: Cluster) -> Check:
    name = "network policy"
    enforcers = inspection.policy_enforcers(cluster)
    if enforcers is None:
        return Check(name, Verdict.WARNING, "unknown: daemon sets can't be listed", _POLICY_TEST)
    if not enforcers:
        detail = "nothing known that enforces it runs here: sandboxes may not be isolated"
        return Check(name, Verdict.WARNING, detail, _POLICY_TEST)
    return Check(name, Verdict.OK, f"{', '.join(enforcers)} runs")
