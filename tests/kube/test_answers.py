from __future__ import annotations

import json

import pytest

from sandbox_components.errors import AccessDenied, NotFound, Refused, SandboxError, Unreachable
from sandbox_components.kube.answers import Conflict, Gone, Request, fault


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("GET", "/api/v1/namespaces/agents/pods", ("list", "pods", "agents", "")),
        ("GET", "/api/v1/pods", ("list", "pods", "", "")),
        ("GET", "/api/v1/namespaces/agents/pods/x-0", ("get", "pods", "agents", "x-0")),
        ("GET", "/api/v1/namespaces/agents/pods/x-0/log", ("get", "pods/log", "agents", "x-0")),
        ("GET", "/api/v1/namespaces/agents", ("get", "namespaces", "", "agents")),
        ("PATCH", "/apis/apps/v1/namespaces/a/statefulsets/x/scale", ("patch", "statefulsets/scale", "a", "x")),
        ("GET", "/apis/storage.k8s.io/v1/storageclasses", ("list", "storageclasses", "", "")),
        ("POST", "/api/v1/namespaces/a/pods/x-0/exec", ("create", "pods/exec", "a", "x-0")),
    ],
)
def test_a_path_is_read_in_the_words_of_rbac(method: str, path: str, words: tuple[str, ...]) -> None:
    read = Request.of(method, path)
    assert (read.verb, read.resource, read.namespace, read.name) == words


def test_a_watch_is_its_own_verb() -> None:
    assert Request.of("GET", "/api/v1/pods", watch=True).verb == "watch"


@pytest.mark.parametrize(
    ("status", "kind", "exit_code"),
    [
        (400, Refused, 4),
        (401, AccessDenied, 3),
        (403, AccessDenied, 3),
        (404, NotFound, 6),
        (409, Conflict, 1),
        (410, Gone, 1),
        (422, Refused, 4),
        (429, Unreachable, 1),
        (500, Unreachable, 1),
        (503, Unreachable, 1),
        (302, SandboxError, 1),
    ],
)
def test_each_status_is_one_of_our_faults(status: int, kind: type[SandboxError], exit_code: int) -> None:
    body = json.dumps({"kind": "Status", "message": "so it is"}).encode()
    request = Request("patch", "statefulsets/scale", "agents", "nightly")
    error = fault(status, body, request, server="https://api.example", who="ada")
    assert type(error) is kind
    assert error.exit_code == exit_code
    assert "so it is" in error.message


def test_a_403_names_what_has_to_be_granted() -> None:
    request = Request("patch", "statefulsets/scale", "agents", "nightly")
    error = fault(403, b"{}", request, server="https://api.example", who="ada")
    assert '"patch statefulsets/scale" in namespace "agents"' in error.message
    assert error.suggestions[0] == "kubectl auth can-i patch statefulsets/scale -n agents"
    assert isinstance(error, AccessDenied)
    assert error.right == "patch statefulsets/scale"


def test_an_answer_that_is_no_status_is_shown_cut() -> None:
    error = fault(502, b"<html>" + b"x" * 900, Request("get", "pods", "", ""), server="s", who="w")
    assert "<html>" in error.message
    assert len(error.message) < 400
