"""Refusals: status, headers and bodies that the SDKs understand, and texts that say what to do and tell no secrets."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from sandbox_components.ledger.model import Limit, LimitMissing, NewerSchema, Refusal, Scope, StoreDown
from sandbox_components.proxy.fault import (
    BadKey,
    BadRequest,
    Fault,
    NotReady,
    NotServed,
    TooBusy,
    Unpriced,
    UpstreamDown,
    UpstreamSlow,
)
from sandbox_components.proxy.refusal import Answer, answer_for
from sandbox_components.spec.money import from_cents

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
ENDS = datetime(2026, 11, 30, 15, tzinfo=UTC)
SANDBOX = Scope("sandbox", "shop/dev/nightly")
ORG = Scope("org", "acme")
APIS: list[Literal["openai", "anthropic"]] = ["openai", "anthropic"]


def refusal(kind: Any, scope: Scope = SANDBOX, cents: int = 5000, used: int = 4999, ends: datetime = ENDS) -> Refusal:
    limit = Limit("a", scope, "month", from_cents(cents), "Asia/Tokyo", "shop/dev")
    return Refusal(kind, limit, from_cents(used), from_cents(7), ends)


def headers(answer: Answer) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in answer.headers}


def message(answer: Answer) -> str:
    return str(json.loads(answer.body)["error"]["message"])


def test_a_spent_limit_for_openai() -> None:
    answer = answer_for(refusal("spent"), "openai", NOW, request_id="req_1")
    assert answer.status == 429
    assert headers(answer) == {
        "retry-after": "97200",
        "x-should-retry": "false",
        "x-request-id": "req_1",
        "content-type": "application/json",
        "content-length": str(len(answer.body)),
    }
    assert json.loads(answer.body) == {
        "error": {
            "message": "The spending limit of sandbox shop/dev/nightly is used up: $50.00 per month, $49.99 used. It "
            "resets at 2026-12-01 00:00 Asia/Tokyo (2026-11-30T15:00Z). The sandbox keeps running; calls to models are "
            "refused until then, or until the limit is raised.",
            "type": "insufficient_quota",
            "param": None,
            "code": "project_spend_limit_exceeded",
            "resets_at": int(ENDS.timestamp()),
        }
    }


def test_a_spent_limit_for_anthropic() -> None:
    answer = answer_for(refusal("spent"), "anthropic", NOW, request_id="req_1")
    assert answer.status == 429
    assert headers(answer)["request-id"] == "req_1"
    assert headers(answer)["x-should-retry"] == "false"
    document = json.loads(answer.body)
    assert document.pop("request_id") == "req_1"
    text = document["error"].pop("message")
    assert "is used up: $50.00 per month" in text
    assert document == {
        "type": "error",
        "error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}},
    }


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("left", "wait"),
    [
        (timedelta(seconds=1), "61"),
        (timedelta(seconds=61), "61"),
        (timedelta(seconds=61.2), "62"),
        (-timedelta(1), "61"),
    ],
)
def test_nobody_sleeps_until_the_reset(api: str, left: timedelta, wait: str) -> None:
    assert headers(answer_for(refusal("spent", ends=NOW + left), api, NOW))["retry-after"] == wait


@pytest.mark.parametrize("api", APIS)
def test_calls_in_flight_are_waited_for(api: str) -> None:
    answer = answer_for(refusal("busy"), api, NOW)
    assert answer.status == 429
    assert headers(answer)["retry-after"] == "2"
    assert headers(answer)["x-should-retry"] == "true"
    assert "Calls in flight hold what is left" in message(answer)


@pytest.mark.parametrize("api", APIS)
def test_a_call_that_never_fits_names_the_field(api: str) -> None:
    answer = answer_for(refusal("too_large"), api, NOW, worst_nanos=from_cents(128), limit_field="max_output_tokens")
    assert answer.status == 429
    assert headers(answer)["x-should-retry"] == "false"
    assert int(headers(answer)["retry-after"]) >= 61
    assert message(answer).startswith("This call can cost up to $1.28, more than the $0.01 left of the spending limit")
    assert "set max_output_tokens lower, or send less input. The sandbox keeps running." in message(answer)
    if api == "openai":
        assert json.loads(answer.body)["error"]["param"] == "max_output_tokens"


def test_embeddings_have_no_such_field() -> None:
    text = message(answer_for(refusal("too_large"), "openai", NOW, worst_nanos=1, limit_field=""))
    assert "To make it fit, send less input." in text


@pytest.mark.parametrize("kind", ["spent", "too_large", "busy"])
@pytest.mark.parametrize("scope", [ORG, Scope("user", "ada"), Scope("agent", "reviewer")])
def test_what_others_spent_is_not_told(kind: str, scope: Scope) -> None:
    text = message(answer_for(refusal(kind, scope, used=1234), "openai", NOW, worst_nanos=from_cents(9999)))
    assert f"of {scope.actor_type} {scope.actor_id}" in text
    assert "$50.00 per month" in text
    assert "12.34" not in text
    assert "37.66" not in text


def test_an_orgs_limit_has_its_own_code() -> None:
    document = json.loads(answer_for(refusal("spent", ORG), "openai", NOW).body)
    assert document["error"]["code"] == "organization_spend_limit_exceeded"


def test_zero_blocks_all() -> None:
    text = message(answer_for(refusal("spent", cents=0, used=0), "openai", NOW))
    assert text == (
        "The spending limit of sandbox shop/dev/nightly is $0.00 per month, which blocks all calls to models. The "
        "sandbox keeps running."
    )


def test_utc_is_told_once() -> None:
    limit = Limit("a", SANDBOX, "day", from_cents(1))
    text = message(answer_for(Refusal("spent", limit, 1, 0, datetime(2026, 11, 30, tzinfo=UTC)), "openai", NOW))
    assert "resets at 2026-11-30 00:00 UTC." in text


def test_codex_gets_the_type_and_the_header_that_it_shows() -> None:
    for kind in ("spent", "too_large"):
        answer = answer_for(refusal(kind), "openai", NOW, is_codex=True)
        error = json.loads(answer.body)["error"]
        assert (error["type"], error["resets_at"]) == ("usage_limit_reached", int(ENDS.timestamp()))
        assert headers(answer)["x-codex-promo-message"] == error["message"].removesuffix(".")
        assert "x-codex-promo-message" not in headers(answer_for(refusal(kind), "openai", NOW))
    answer = answer_for(refusal("spent", Scope("org", "Søster")), "openai", NOW, is_codex=True)
    assert "x-codex-promo-message" not in headers(answer)
    assert json.loads(answer_for(refusal("busy"), "openai", NOW, is_codex=True).body)["error"]["type"] == "requests"


FAULTS: list[tuple[BaseException, int, str, str, str | None, str | None]] = [
    (BadRequest("n is wrong", param="n"), 400, "invalid_request_error", "invalid_request_error", "n", None),
    (BadRequest("too much", status=413), 413, "invalid_request_error", "request_too_large", None, None),
    (BadKey("no key"), 401, "invalid_request_error", "authentication_error", None, None),
    (NotServed("no path"), 404, "invalid_request_error", "not_found_error", None, None),
    (NotServed("no method", status=405), 405, "invalid_request_error", "invalid_request_error", None, None),
    (Unpriced("no price", param="model"), 400, "invalid_request_error", "invalid_request_error", "model", None),
    (NotReady("no limits"), 503, "server_error", "api_error", None, "2"),
    (TooBusy("full"), 503, "server_error", "api_error", None, "1"),
    (UpstreamDown("down"), 502, "server_error", "api_error", None, "1"),
    (UpstreamSlow("slow"), 504, "server_error", "timeout_error", None, "1"),
    (StoreDown("postgres at 10.0.0.9 said no"), 503, "server_error", "api_error", None, "2"),
    (LimitMissing("of scope 7"), 503, "server_error", "api_error", None, "5"),
    (NewerSchema("/data/ledger.sqlite"), 500, "server_error", "api_error", None, None),
    (RuntimeError("secret"), 500, "server_error", "api_error", None, None),
]


@pytest.mark.parametrize(("fault", "status", "openai", "anthropic", "param", "wait"), FAULTS, ids=lambda one: str(one))
def test_faults(
    fault: BaseException, status: int, openai: str, anthropic: str, param: str | None, wait: str | None
) -> None:
    for api in APIS:
        answer = answer_for(fault, api, NOW)
        document = json.loads(answer.body)
        error = document["error"]
        assert answer.status == status
        assert headers(answer).get("retry-after") == wait
        assert "x-should-retry" not in headers(answer)
        assert error["type"] == (openai if api == "openai" else anthropic)
        if api == "openai":
            assert error["param"] == param
            assert isinstance(error["code"], str)
        if isinstance(fault, Fault):
            assert error["message"] == fault.message
        else:
            assert str(fault) not in error["message"]
        if status == 503 and not isinstance(fault, Fault):
            assert "nothing was sent" in error["message"]
            assert "The sandbox keeps running" in error["message"]


def test_a_wrong_key_is_never_a_reason_to_wait() -> None:
    document = json.loads(answer_for(BadKey("no"), "openai", NOW).body)
    assert document["error"]["code"] == "invalid_api_key"
