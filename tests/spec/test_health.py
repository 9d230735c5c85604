"""The health check: the seed's ranges at both ends, its defaults, and its short form on the command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.health import HealthCheck, check_port, health_check_flag
from sandbox_components.spec.reading import read

HTTP = {"path": "/healthz", "port": 8080}
RANGES = [
    ("intervalSeconds", "interval_seconds", "interval", 1, 3600),
    ("initialDelaySeconds", "initial_delay_seconds", "initial-delay", 0, 3600),
    ("timeoutSeconds", "timeout_seconds", "timeout", 1, 300),
    ("failureThreshold", "failure_threshold", "failures", 1, 100),
]


def test_defaults() -> None:
    check = read(HealthCheck, {"type": "http", "http": HTTP}, "healthCheck")
    assert (check.interval_seconds, check.initial_delay_seconds) == (10, 30)
    assert (check.timeout_seconds, check.failure_threshold) == (5, 3)
    assert read(HealthCheck, {}, "healthCheck").type == "none"


@pytest.mark.parametrize(("wire", "name", "short", "low", "high"), RANGES)
def test_both_ends_and_one_beyond(wire: str, name: str, short: str, low: int, high: int) -> None:
    for key in (wire, name):
        for end in (low, high, float(low), float(high)):
            check = read(HealthCheck, {"type": "http", "http": HTTP, key: end}, "healthCheck")
            assert getattr(check, name) == end
            assert isinstance(getattr(check, name), int)
        for beyond in (low - 1, high + 1, low - 1.0, high + 1.0, 10**30, float("inf")):
            with pytest.raises(InvalidInput, match=f"{low} to {high}") as caught:
                read(HealthCheck, {"type": "http", "http": HTTP, key: beyond}, "healthCheck")
            assert caught.value.field == f"healthCheck.{wire}"
    for end in (low, high):
        assert health_check_flag(f"path=/,port=1,{short}={end}")[wire] == end
    for beyond in (low - 1, high + 1):
        with pytest.raises(InvalidInput, match=f"--health-check: {short}: {beyond} is out of range: {low} to {high}"):
            health_check_flag(f"path=/,port=1,{short}={beyond}")


@pytest.mark.parametrize("value", [True, None, "10", 1.5, float("nan"), [], {}])
@pytest.mark.parametrize("wire", [row[0] for row in RANGES])
def test_wrong_types(wire: str, value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(HealthCheck, {"type": "http", "http": HTTP, wire: value}, "healthCheck")
    assert caught.value.field == f"healthCheck.{wire}"


def test_the_flag_of_the_seed() -> None:
    text = "path=/healthz,port=8080,interval=10,initial-delay=30,timeout=5,failures=3"
    assert health_check_flag(text) == {
        "type": "http",
        "http": HTTP,
        "intervalSeconds": 10,
        "initialDelaySeconds": 30,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
    }
    assert health_check_flag(" none ") == {"type": "none"}
    assert health_check_flag("port=80, path=/a=b?c, interval=20s") == {
        "type": "http",
        "http": {"path": "/a=b?c", "port": 80},
        "intervalSeconds": 20,
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", '"" is not KEY=VALUE: accepted are none, or path, port'),
        ("http", '"http" is not KEY=VALUE'),
        ("None", '"None" is not KEY=VALUE'),
        ("none,port=80", '"none" is not KEY=VALUE'),
        ("path=/", "port: is missing"),
        ("port=80", "path: is missing"),
        ("interval=5", "path: is missing"),
        ("path=/,port=80,", '"" is not KEY=VALUE'),
        ("path=/,port=80,port=81", '"port" is given twice'),
        ("path=/,port=80,delay=3", '"delay" is not a known key: known are path, port, interval'),
        ("path=/,port=80,Interval=3", '"Interval" is not a known key'),
        ("path=/,port=80,intervalSeconds=3", '"intervalSeconds" is not a known key'),
        ("path=healthz,port=80", 'path: "healthz" is not a path'),
        ("path=,port=80", 'path: "" is not a path'),
        ("path=/a b,port=80", "hold no blanks"),
        ("path=/,port=http", 'port="http" is not a whole number'),
        ("path=/,port=", 'port="" is not a whole number'),
        ("path=/,port=0", "port: 0 is not a port"),
        ("path=/,port=65536", "port: 65536 is not a port"),
        ("path=/,port=80s", 'port="80s" is not a whole number'),
        ("path=/,port=80,interval=5m", 'interval="5m" is not a whole number'),
        ("path=/,port=80,interval=1.5", 'interval="1.5" is not a whole number'),
        ("path=/,port=80,interval=--5", 'interval="--5" is not a whole number'),
        ("path=/,port=80,interval=٣", "is not a whole number"),
        ("path=/,port=80,interval=" + "9" * 5000, "is not a whole number"),
        ("path=/,port=80,failures=3s", 'failures="3s" is not a whole number'),
    ],
)
def test_flags_that_are_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        health_check_flag(text)
    assert caught.value.field == "--health-check"
    assert says in caught.value.problem
    assert len(str(caught.value)) < 250


@given(st.text(alphabet="pathortinervlus=/,-0123456789. ", max_size=40))
def test_any_flag_is_a_check_or_one_error(text: str) -> None:
    try:
        data = health_check_flag(text)
    except InvalidInput:
        return
    read(HealthCheck, data, "healthCheck")


@pytest.mark.parametrize("port", [1, 65535])
def test_ports_at_both_ends(port: int) -> None:
    assert check_port(port) == port


@pytest.mark.parametrize("port", [0, 65536, -1])
def test_ports_beyond(port: int) -> None:
    with pytest.raises(InvalidInput, match="1 to 65535 are accepted"):
        check_port(port)
