"""Why the proxy doesn't pass a call on, other than a limit (which is the ledger's to say).

Each fault knows its HTTP status, a code for machines, the request's field that is to blame, and whether the same call
may work later. `refusal.answer_for` turns it into the words of the caller's own API. No message quotes a key or a
prompt: what is shown of a request is names and numbers.
"""

from __future__ import annotations

from sandbox_components.errors import SandboxError


class Fault(SandboxError):
    """A call that isn't passed on.

    Args:
        message: what is wrong and what would be accepted; it reaches the agent.
        param: the field of the request that is to blame.
        status: HTTP status, if it isn't the class's own.
        code: stable word for machines, if it isn't the class's own.
    """

    status = 400
    code = "bad_request"
    retry_after: int | None = None
    """Seconds after which the same call may work."""

    def __init__(
        self, message: str, *, param: str | None = None, status: int | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.param = param
        if status is not None:
            self.status = status


class BadRequest(Fault):
    """The request is malformed, or asks for something whose cost can't be known beforehand."""


class BadKey(Fault):
    """No key, a forged one, a replaced one, or one of a sandbox that is gone."""

    status = 401
    code = "invalid_api_key"


class NotServed(Fault):
    """The path or model is none of those that the proxy passes on."""

    status = 404
    code = "not_served"


class Unpriced(Fault):
    """Nobody knows what the model costs, so a cap on it could not hold."""

    code = "model_has_no_price"


class NotReady(Fault):
    """The proxy can't vouch for the limits now: its store or its list of limits is out of reach. Nothing was sent."""

    status = 503
    code = "not_ready"
    retry_after = 2


class TooBusy(Fault):
    """The proxy has as many calls in flight as it may. Nothing was sent."""

    status = 503
    code = "too_busy"
    retry_after = 1


class UpstreamDown(Fault):
    """The provider could not be reached. Nothing was sent, or nothing came back."""

    status = 502
    code = "upstream_unreachable"
    retry_after = 1


class UpstreamSlow(UpstreamDown):
    """The provider didn't answer in time."""

    status = 504
    code = "upstream_timeout"
