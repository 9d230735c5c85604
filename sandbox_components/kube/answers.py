"""What the API server's refusals mean: HTTP status and path become one of our exceptions.

A 403 must name the verb and the resource in RBAC's own words, because that is what an administrator has to grant.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from sandbox_components.errors import AccessDenied, NotFound, Refused, SandboxError, Unreachable

_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Conflict(SandboxError):
    """Someone else changed the object in between (409)."""

    code = "conflict"


class Gone(SandboxError):
    """A watch's starting point is too old (410): begin again with a list."""

    code = "gone"


@dataclass(frozen=True)
class Request:
    """A request in RBAC's words."""

    verb: str
    resource: str
    namespace: str
    name: str

    @classmethod
    def of(cls, method: str, path: str, *, watch: bool = False) -> Request:
        """Read verb, resource (with subresource), namespace and name from an API path."""
        parts = [part for part in path.split("/") if part]
        rest = parts[2:] if parts[:1] == ["api"] else parts[3:]
        namespace = ""
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        resource, name = [*rest, "", ""][:2]
        if len(rest) > 2:
            resource = f"{resource}/{rest[2]}"
        verb = _VERBS.get(method, method.lower())
        if verb == "get" and not name and rest:
            verb = "watch" if watch else "list"
        return cls(verb, resource or path, namespace, name)


def fault(status: int, body: bytes, request: Request, *, server: str, who: str) -> SandboxError:
    """Return the exception that tells what a refused request means for the user."""
    said = message_of(body) or f"HTTP {status}"
    where = f' in namespace "{request.namespace}"' if request.namespace else ""
    if status == 401:
        return AccessDenied(
            f"the cluster at {server} does not accept the credentials of {who}: {said}",
            suggestions=["kubectl auth whoami", "renew the credentials in the kubeconfig"],
        )
    if status == 403:
        option = f" -n {request.namespace}" if request.namespace else ""
        right = f"{request.verb} {request.resource}"
        denied = AccessDenied(
            f'the cluster does not let {who} "{right}"{where}: {said}',
            suggestions=[f"kubectl auth can-i {right}{option}", "sandbox doctor"],
        )
        denied.right = right
        return denied
    if status == 404:
        return NotFound(f'there is no {request.resource} "{request.name}"{where}: {said}')
    if status == 409:
        return Conflict(f'{request.resource} "{request.name}"{where} was changed in between: {said}')
    if status == 410:
        return Gone(said)
    if status in (400, 405, 413, 415, 422):
        return Refused(f'the cluster refused to {request.verb} {request.resource} "{request.name}"{where}: {said}')
    if status == 429 or status >= 500:
        return Unreachable(
            f"the cluster at {server} could not {request.verb} {request.resource}{where}: {said}",
            suggestions=["try again in a moment", "sandbox doctor"],
        )
    return SandboxError(f"the cluster answered {status} to {request.verb} {request.resource}{where}: {said}")


def message_of(body: bytes) -> str:
    """Return the message of a Kubernetes Status object, or the start of whatever else was sent."""
    try:
        read = json.loads(body)
    except ValueError:
        return " ".join(body.decode(errors="replace").split())[:200]
    return str(read.get("message") or "") if isinstance(read, dict) else ""
