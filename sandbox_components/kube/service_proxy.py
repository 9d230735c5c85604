"""Asking a Service's pods through the API server: no port-forward, no way through a policy, the caller's own rights.

The API server hands on the status and body of whoever answers, so a refusal may be its own or the server's behind it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox_components.errors import NotFound, SandboxError, Unreachable
from sandbox_components.kube import answers, paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import Json, text

_NO_POD_IS_READY = "no endpoints available"


def ask(
    cluster: Cluster,
    namespace: str,
    service: str,
    port: str,
    path: str,
    *,
    params: Mapping[str, Any],
    headers: Mapping[str, str],
) -> Json:
    """Return the JSON that a Service's pod answers.

    Args:
        cluster: where.
        namespace: of the Service.
        service: its name.
        port: the port's name.
        path: such as `/v1/spend`.
        params: the query.
        headers: handed on to the pod.

    Raises:
        NotFound: there is no such Service.
        Unreachable: no pod of it answers.
        SandboxError: the pod refuses, with its own code and message.
        AccessDenied: the cluster doesn't let this user ask Services.
    """
    whole = paths.service_proxy(namespace, service, port) + path
    status, body = cluster.answer(whole, params=params, headers=headers)
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if status < 400:
        if not isinstance(found, dict):
            raise SandboxError(f'Service "{service}" in namespace "{namespace}" answered no JSON to {path}')
        return found
    own = found.get("error") if isinstance(found, dict) else None
    if isinstance(own, dict):
        raise SandboxError(text(own, "message") or f"HTTP {status}", code=text(own, "code") or None)
    if status == 404 and isinstance(found, dict) and found.get("kind") == "Status":
        said = text(found, "message")
        raise NotFound(f'the API server finds no Service "{service}" with pods in namespace "{namespace}": {said}')
    if status == 503 and _NO_POD_IS_READY in answers.message_of(body):
        raise Unreachable(
            f'no pod of Service "{service}" in namespace "{namespace}" is ready: it may be starting, or being replaced',
            suggestions=["run it again in some seconds", f"kubectl get pods -n {namespace}"],
        )
    if status in (500, 502, 503, 504):
        raise Unreachable(
            f'the API server reaches no pod of Service "{service}" in namespace "{namespace}": '
            f"{answers.message_of(body) or f'HTTP {status}'}",
            suggestions=[f"kubectl get pods -n {namespace}", "let its addresses in: admin_cidrs of InferenceProxy"],
        )
    request = answers.Request.of("GET", whole)
    raise answers.fault(status, body, request, server=cluster.connection.server, who=f'"{cluster.who}"')
