"""Malformed inference and spending: rows that change one place of the full request, and whole requests."""

from __future__ import annotations

from typing import Any

Row = tuple[str, str, Any, str, str]

_PROXY = {"namespace": "inference", "name": "proxy"}


def _limit(**more: Any) -> dict[str, Any]:
    limit = {"period": "month", "limitCents": 5000, **more}
    return {"inference": _PROXY, "spendingLimits": [{key: value for key, value in limit.items() if value != "-"}]}


ROWS: list[Row] = [
    ("inference empty", "inference", {}, "inference.namespace", "is missing: for example inference"),
    ("inference a name", "inference", "proxy", "inference", '"proxy" is not a mapping of namespace, name, port'),
    ("inference namespace", "inference", {**_PROXY, "namespace": "A_b"}, "inference.namespace", "is not a namespace"),
    ("inference name", "inference", {**_PROXY, "name": "Proxy"}, "inference.name", "is not a sandbox name"),
    ("inference port", "inference", {**_PROXY, "port": 0}, "inference.port", "is not a port"),
    ("inference key", "inference", {**_PROXY, "key": "x"}, "inference.key", "is not a known key"),
    ("org blank", "org", "", "org", "is not a name"),
    ("org list", "org", ["a"], "org", "a list is not a string"),
    ("user with a space", "user", "a b", "user", "is not a name"),
    ("agent of two lines", "agent", "a\nb", "agent", "is not a name"),
    ("generation 0", "keyGeneration", 0, "keyGeneration", "0 is not a whole number from 1"),
    ("generation text", "keyGeneration", "2", "keyGeneration", "is not a whole number"),
    ("spending limits a mapping", "spendingLimits", {"month": 5}, "spendingLimits", "is not a list"),
    (
        "limit without inference",
        "spendingLimits",
        [{"period": "day", "limitCents": 1}],
        "spendingLimits",
        "is given without inference",
    ),
]

WHOLE: list[tuple[str, dict[str, Any], str, str]] = [
    ("period year", _limit(period="year"), "spendingLimits[0].period", "accepted are day, week, month"),
    ("period missing", _limit(period="-"), "spendingLimits[0].period", "is missing: for example month"),
    ("zone", _limit(timeZone="Tokio"), "spendingLimits[0].timeZone", "is not a time zone"),
    ("cents missing", _limit(limitCents="-"), "spendingLimits[0].limitCents", "is missing: for example 5000"),
    ("cents dollars", _limit(limitCents="$50"), "spendingLimits[0].limitCents", "$50 is 5000"),
    ("cents half", _limit(limitCents=0.5), "spendingLimits[0].limitCents", "is not a whole number of cents"),
    ("cents negative", _limit(limitCents=-1), "spendingLimits[0].limitCents", "0 blocks all calls"),
    ("actor type", _limit(actorType="team"), "spendingLimits[0].actorType", "is not one of sandbox, agent, user or"),
    ("actor nobody", _limit(actorType="org"), "spendingLimits[0].actorType", "the sandbox has no org"),
    (
        "actor of others",
        {**_limit(actorType="org", actorId="other"), "org": "acme"},
        "spendingLimits[0].actorId",
        '"other" is not the sandbox\'s org',
    ),
    ("limit key", _limit(cents=5), "spendingLimits[0].cents", "is not a known key"),
    (
        "limit twice",
        {"inference": _PROXY, "spendingLimits": [{"period": "day", "limitCents": cents} for cents in (1, 2)]},
        "spendingLimits[1]",
        "a second limit of this sandbox and a day",
    ),
    (
        "key in env",
        {"inference": _PROXY, "env": {"OPENAI_API_KEY": "x"}},
        "env.OPENAI_API_KEY",
        "is set by inference",
    ),
    (
        "URL in env",
        {"inference": _PROXY, "env": {"ANTHROPIC_BASE_URL": "x"}},
        "env.ANTHROPIC_BASE_URL",
        "is set by inference",
    ),
]
