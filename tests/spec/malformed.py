"""Malformed sandbox requests as plain data: what goes in, the field that the one error names, what it says.

Every entry survives JSON, so that each door (request file, stack config, program arguments) can be given the same
ones; `MALFORMED_KEYS` needs YAML or Python, for JSON has no keys but strings.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SECRET = "s3cr3t-never-shown"
"""Stands in env values; no error may hold it."""

BASE: dict[str, Any] = {
    "image": {"uri": "python:3.12-slim"},
    "entrypoint": ["/bin/sh", "-c", "python3 -m http.server 8000"],
    "resourceLimits": {"cpu": "2", "memory": "2Gi"},
    "env": {"TOKEN": SECRET},
}
"""A valid request: the first seed's, with one variable."""

PROBE: dict[str, Any] = {"type": "http", "http": {"path": "/healthz", "port": 8080}}


@dataclass(frozen=True)
class Malformed:
    """One request that is refused.

    Attributes:
        id: name of the test case.
        data: the whole request.
        field: path that the error begins with.
        says: part of the rest of the error.
    """

    id: str
    data: Mapping[Any, Any]
    field: str
    says: str


REMOVED = object()


def changed(path: str, value: object) -> dict[str, Any]:
    """Return the valid request with one value put, or `REMOVED`, at a dotted path."""
    data = copy.deepcopy(BASE)
    *parents, last = path.split("/")
    inner: Any = data
    for part in parents:
        inner = inner.setdefault(part, {})
    if value is REMOVED:
        inner.pop(last)
    else:
        inner[last] = value
    return data


def _probe(**changes: object) -> dict[str, Any]:
    return {**PROBE, **changes}


def _http(**changes: object) -> dict[str, Any]:
    return {"type": "http", "http": {**PROBE["http"], **changes}}


def _extensions(**changes: object) -> dict[str, Any]:
    return {"persistence": "true", "storageClass": "local-path", "storageSize": "50Gi", **changes}


LONG = "x" * 5000

_TABLE: list[tuple[str, str, object, str, str]] = [
    # id, path in the request, value, field of the error, part of the message
    ("no image", "image", REMOVED, "image", "is missing"),
    ("null image", "image", None, "image", "is missing"),
    ("image a list", "image", [], "image", "a list is not a mapping of uri"),
    ("image a number", "image", 5, "image", "5 is not a mapping of uri"),
    ("image true", "image", True, "image", "true is not a mapping of uri"),
    ("image without uri", "image", {}, "image.uri", "is missing: for example ghcr.io/acme/agent:1.2"),
    ("image url", "image", {"url": "a"}, "image.url", "did you mean uri?"),
    ("image uri null", "image/uri", None, "image.uri", "null is not a string"),
    ("image uri number", "image/uri", 3.12, "image.uri", '3.12 is not a string: write it in quotes, as "3.12"'),
    ("image blank", "image/uri", "", "image.uri", "is blank"),
    ("image only blanks", "image/uri", "  ", "image.uri", "is blank"),
    ("image as text blank", "image", "", "image.uri", "is blank"),
    ("image with scheme", "image/uri", "https://ghcr.io/acme/agent:1", "image.uri", "without a scheme"),
    ("image docker scheme", "image/uri", "docker://acme/agent", "image.uri", "without a scheme"),
    ("image with blank", "image/uri", "acme/agent :1", "image.uri", "without blanks"),
    ("image with newline", "image/uri", "acme/agent:1\n", "image.uri", "without blanks"),
    ("image upper case", "image/uri", "ghcr.io/Acme/agent:1", "image.uri", "in lower case"),
    ("image upper case, untagged", "image/uri", "Agent", "image.uri", "in lower case"),
    ("image tag empty", "image/uri", "acme/agent:", "image.uri", "is not an image reference"),
    ("image two tags", "image/uri", "acme/agent:1:2", "image.uri", "is not an image reference"),
    ("image tag too long", "image/uri", "a:" + "t" * 129, "image.uri", "is not an image reference"),
    ("image digest short", "image/uri", "acme/agent@sha256:abc", "image.uri", "is not an image reference"),
    ("image digest kind", "image/uri", "a@md5:" + "0" * 32, "image.uri", "HOST/PATH@sha256:DIGEST"),
    ("image double slash", "image/uri", "ghcr.io//agent", "image.uri", "is not an image reference"),
    ("image trailing slash", "image/uri", "ghcr.io/agent/", "image.uri", "is not an image reference"),
    ("image unicode", "image/uri", "acme/agént:1", "image.uri", "is not an image reference"),
    ("image huge", "image/uri", LONG, "image.uri", "is not an image reference"),
    # command and entrypoint
    ("entrypoint a string", "entrypoint", "./start.sh", "entrypoint", 'for a shell line use "command"'),
    ("entrypoint empty", "entrypoint", [], "entrypoint", "is empty"),
    ("entrypoint a mapping", "entrypoint", {"a": 1}, "entrypoint", "a mapping is not a list"),
    ("entrypoint a number", "entrypoint", 5, "entrypoint", "5 is not a list"),
    ("entrypoint program blank", "entrypoint", ["", "x"], "entrypoint[0]", "is blank"),
    ("entrypoint number in it", "entrypoint", ["sleep", 5], "entrypoint[1]", 'write it in quotes, as "5"'),
    ("entrypoint true in it", "entrypoint", ["echo", True], "entrypoint[1]", 'in quotes, as "true"'),
    ("entrypoint null in it", "entrypoint", ["echo", None], "entrypoint[1]", "null is not a string"),
    ("entrypoint list in it", "entrypoint", [["a"]], "entrypoint[0]", "a list is not a string"),
    ("entrypoint NUL", "entrypoint", ["a\0b"], "entrypoint[0]", "NUL"),
    ("entrypoint argument too long", "entrypoint", ["a", "x" * 131072], "entrypoint[1]", "131072 bytes"),
    ("command beside entrypoint", "command", "./start.sh", "command", "is given beside entrypoint"),
    ("entryPoint", "entryPoint", ["a"], "entryPoint", "did you mean entrypoint?"),
    ("args", "args", ["a"], "args", "is not a known key"),
    # resources
    ("no limits", "resourceLimits", REMOVED, "resourceLimits", "is missing"),
    ("limits a list", "resourceLimits", ["2", "2Gi"], "resourceLimits", "a list is not a mapping of cpu, memory"),
    ("limits a text", "resourceLimits", "2", "resourceLimits", '"2" is not a mapping of cpu, memory'),
    ("no cpu", "resourceLimits/cpu", REMOVED, "resourceLimits.cpu", "is missing: for example 500m"),
    ("no memory", "resourceLimits/memory", REMOVED, "resourceLimits.memory", "is missing: for example 2Gi"),
    ("cpu null", "resourceLimits/cpu", None, "resourceLimits.cpu", "null is not a quantity"),
    ("cpu true", "resourceLimits/cpu", True, "resourceLimits.cpu", "true is not a quantity"),
    ("cpu list", "resourceLimits/cpu", [2], "resourceLimits.cpu", "a list is not a quantity"),
    ("cpu blank", "resourceLimits/cpu", "", "resourceLimits.cpu", "is blank: accepted is a quantity such as 500m"),
    ("cpu only blanks", "resourceLimits/cpu", "  ", "resourceLimits.cpu", "is blank"),
    ("cpu zero", "resourceLimits/cpu", 0, "resourceLimits.cpu", '"0" is not more than zero'),
    ("cpu zero text", "resourceLimits/cpu", "0m", "resourceLimits.cpu", '"0m" is not more than zero'),
    ("cpu negative", "resourceLimits/cpu", -1, "resourceLimits.cpu", '"-1" is not more than zero'),
    ("cpu negative text", "resourceLimits/cpu", "-500m", "resourceLimits.cpu", '"-500m" is not more than zero'),
    (
        "cpu words",
        "resourceLimits/cpu",
        "two",
        "resourceLimits.cpu",
        "accepted are cores (2, 0.5) or thousandths (500m)",
    ),
    ("cpu with unit", "resourceLimits/cpu", "2 cores", "resourceLimits.cpu", "is not an amount of CPU"),
    ("cpu in bytes", "resourceLimits/cpu", "2Gi", "resourceLimits.cpu", "is not an amount of CPU"),
    ("cpu upper M", "resourceLimits/cpu", "500M", "resourceLimits.cpu", "write 500m"),
    ("cpu comma", "resourceLimits/cpu", "0,5", "resourceLimits.cpu", "is not an amount of CPU"),
    ("cpu trailing blank", "resourceLimits/cpu", "2 ", "resourceLimits.cpu", "is not an amount of CPU"),
    ("cpu other digits", "resourceLimits/cpu", "２", "resourceLimits.cpu", "is not an amount of CPU"),
    ("cpu too fine", "resourceLimits/cpu", "0.0001", "resourceLimits.cpu", "finer than 1m"),
    ("cpu too fine number", "resourceLimits/cpu", 0.0001, "resourceLimits.cpu", "finer than 1m"),
    ("cpu half a thousandth", "resourceLimits/cpu", "0.5m", "resourceLimits.cpu", "finer than 1m"),
    ("cpu too much", "resourceLimits/cpu", "10001", "resourceLimits.cpu", "more CPU than any node"),
    ("cpu huge number", "resourceLimits/cpu", 10**30, "resourceLimits.cpu", "is not a quantity"),
    ("cpu huge text", "resourceLimits/cpu", "9" * 5000, "resourceLimits.cpu", "is not an amount of CPU"),
    ("memory null", "resourceLimits/memory", None, "resourceLimits.memory", "null is not a quantity"),
    ("memory false", "resourceLimits/memory", False, "resourceLimits.memory", "false is not a quantity"),
    ("memory blank", "resourceLimits/memory", "", "resourceLimits.memory", "is blank"),
    ("memory zero", "resourceLimits/memory", "0", "resourceLimits.memory", '"0" is not more than zero'),
    ("memory zero Gi", "resourceLimits/memory", "0Gi", "resourceLimits.memory", "is not more than zero"),
    ("memory negative", "resourceLimits/memory", "-1Gi", "resourceLimits.memory", "is not more than zero"),
    ("memory millis", "resourceLimits/memory", "512m", "resourceLimits.memory", "write 512Mi or 512M"),
    ("memory GB", "resourceLimits/memory", "2GB", "resourceLimits.memory", "write 2G or 2Gi"),
    ("memory gb", "resourceLimits/memory", "2gb", "resourceLimits.memory", "write 2G or 2Gi"),
    ("memory g", "resourceLimits/memory", "2g", "resourceLimits.memory", "write 2G or 2Gi"),
    ("memory GiB", "resourceLimits/memory", "2GiB", "resourceLimits.memory", "write 2G or 2Gi"),
    ("memory mb", "resourceLimits/memory", "512mb", "resourceLimits.memory", "write 512M or 512Mi"),
    ("memory K", "resourceLimits/memory", "512000K", "resourceLimits.memory", "write 512000k or 512000Ki"),
    ("memory blank before unit", "resourceLimits/memory", "2 Gi", "resourceLimits.memory", "write 2G or 2Gi"),
    ("memory unit", "resourceLimits/memory", "2Q", "resourceLimits.memory", 'unknown unit "Q"'),
    ("memory words", "resourceLimits/memory", "lots", "resourceLimits.memory", "accepted is a number of bytes"),
    ("memory part of a byte", "resourceLimits/memory", "5000000.5", "resourceLimits.memory", "whole number of bytes"),
    ("memory too small", "resourceLimits/memory", "2", "resourceLimits.memory", "at least 4Mi is accepted"),
    ("memory too small number", "resourceLimits/memory", 512, "resourceLimits.memory", "at least 4Mi is accepted"),
    ("memory too large", "resourceLimits/memory", "9Ei", "resourceLimits.memory", "more than Kubernetes can count"),
    ("memory misspelt", "resourceLimits/mem", "2Gi", "resourceLimits.mem", "did you mean memory?"),
    ("cpus", "resourceLimits/cpus", "2", "resourceLimits.cpus", "did you mean cpu?"),
    ("gpu", "resourceLimits/gpu", "1", "resourceLimits.gpu", "is not a known key"),
    ("limits misspelt", "resourceLimit", {}, "resourceLimit", "did you mean resourceLimits?"),
    ("both casings", "resource_limits", {}, "resource_limits", 'is given twice, also as "resourceLimits"'),
    (
        "request above limit",
        "resourceRequests/cpu",
        "3",
        "resourceRequests.cpu",
        'is more than resourceLimits.cpu, "2"',
    ),
    ("request memory above", "resourceRequests/memory", "3Gi", "resourceRequests.memory", "is more than"),
    ("request malformed", "resourceRequests/memory", "1GB", "resourceRequests.memory", "write 1G or 1Gi"),
    ("requests a text", "resourceRequests", "1", "resourceRequests", "is not a mapping of cpu, memory"),
    # env
    ("env a list", "env", [{"name": "A", "value": SECRET}], "env", "a list is not a mapping of names to strings"),
    ("env a text", "env", f"A={SECRET}", "env", "is not a mapping of names to strings"),
    ("env number", "env/PORT", 8080, "env.PORT", "is not a string but of type int: write it in quotes"),
    ("env true", "env/DEBUG", True, "env.DEBUG", "is not a string but of type bool"),
    ("env null", "env/EMPTY", None, "env.EMPTY", "is not a string"),
    ("env mapping", "env/A", {"secret": SECRET}, "env.A", "is not a string"),
    ("env name blank", "env", {"": SECRET}, "env", "is not a variable name"),
    ("env name digit first", "env", {"1A": SECRET}, "env.1A", "no digit first"),
    ("env name with blank", "env", {"A B": SECRET}, "env.A B", "is not a variable name"),
    ("env name with equals", "env", {"A=B": SECRET}, "env.A=B", "is not a variable name"),
    ("env name unicode", "env", {"Ä": SECRET}, "env.Ä", "is not a variable name"),
    ("env name long", "env", {"A" * 254: SECRET}, "env.A", "is not a variable name"),
    ("env value NUL", "env", {"A": f"{SECRET}\0"}, "env.A", "NUL"),
    ("env value long", "env", {"A": SECRET * 8000}, "env.A", "Linux passes less than 131072"),
    ("environment", "environment", {"A": SECRET}, "environment", "is not a known key"),
    ("secretEnv in a request", "secretEnv", {"A": SECRET}, "secretEnv", "is not a known key"),
    # the disk
    ("two volumes", "volumes", [{"mountPath": "/a"}, {"mountPath": "/b"}], "volumes", "a sandbox has one"),
    ("volumes a text", "volumes", "/data", "volumes", "is not a list: write - mountPath: /data"),
    ("volumes a mapping", "volumes", {"mountPath": "/data"}, "volumes", "is not a list"),
    ("volume a text", "volumes", ["/data"], "volumes[0]", '"/data" is not a mapping of mountPath, size'),
    ("volume null", "volumes", [None], "volumes[0]", "null is not a mapping"),
    ("volume without path", "volumes", [{"size": "1Gi"}], "volumes[0].mountPath", "is missing"),
    ("volume relative", "volumes", [{"mountPath": "data"}], "volumes[0].mountPath", "is not absolute"),
    ("volume path blank", "volumes", [{"mountPath": ""}], "volumes[0].mountPath", "is not absolute"),
    ("volume path number", "volumes", [{"mountPath": 5}], "volumes[0].mountPath", "5 is not a string"),
    ("volume at root", "volumes", [{"mountPath": "/"}], "volumes[0].mountPath", "would hide the system's"),
    ("volume at etc", "volumes", [{"mountPath": "/etc/"}], "volumes[0].mountPath", "would hide the system's"),
    ("volume in proc", "volumes", [{"mountPath": "/proc/1"}], "volumes[0].mountPath", "would hide the system's"),
    ("volume with ..", "volumes", [{"mountPath": "/a/../b"}], "volumes[0].mountPath", "is not plain: write /b"),
    ("volume with ./", "volumes", [{"mountPath": "/a/./b"}], "volumes[0].mountPath", "is not plain: write /a/b"),
    ("volume with colon", "volumes", [{"mountPath": "/a:b"}], "volumes[0].mountPath", "is not a mount path"),
    ("volume with newline", "volumes", [{"mountPath": "/a\nb"}], "volumes[0].mountPath", "is not a mount path"),
    ("volume path huge", "volumes", [{"mountPath": "/" + LONG}], "volumes[0].mountPath", "is not a mount path"),
    ("volume GB", "volumes", [{"mountPath": "/d", "size": "50GB"}], "volumes[0].size", "write 50G or 50Gi"),
    ("volume size blank", "volumes", [{"mountPath": "/d", "size": ""}], "volumes[0].size", "is blank"),
    ("volume size zero", "volumes", [{"mountPath": "/d", "size": "0"}], "volumes[0].size", "not more than zero"),
    ("volume size tiny", "volumes", [{"mountPath": "/d", "size": 50}], "volumes[0].size", "too small for a disk"),
    (
        "volume class upper case",
        "volumes",
        [{"mountPath": "/d", "storageClass": "Fast"}],
        "volumes[0].storageClass",
        "is not the name of a Kubernetes object",
    ),
    (
        "volume class blank",
        "volumes",
        [{"mountPath": "/d", "storageClass": ""}],
        "volumes[0].storageClass",
        "is not the name of a Kubernetes object",
    ),
    (
        "volume misspelt",
        "volumes",
        [{"mountPath": "/d", "storageclass": "a"}],
        "volumes[0].storageclass",
        "did you mean storageClass?",
    ),
    ("volume mount", "volumes", [{"mount": "/d"}], "volumes[0]", "mountPath"),
    (
        "volume both casings",
        "volumes",
        [{"mountPath": "/d", "mount_path": "/e"}],
        "volumes[0].mount_path",
        'also as "mountPath"',
    ),
    (
        "existing claim with size",
        "volumes",
        [{"mountPath": "/d", "existingClaim": "old", "size": "1Gi"}],
        "volumes[0].existingClaim",
        "is used as it is",
    ),
    (
        "existing claim's name",
        "volumes",
        [{"mountPath": "/d", "existingClaim": "Old_1"}],
        "volumes[0].existingClaim",
        "is not the name of a Kubernetes object",
    ),
    ("workspace a text", "workspace", "/data", "workspace", "is not a mapping of mountPath, size"),
    ("workspace true", "workspace", True, "workspace", "true is not a mapping of mountPath"),
    ("mountPath outside", "mountPath", "/data", "mountPath", "is not a known key"),
    ("volume, singular", "volume", "/data", "volume", "did you mean volumes?"),
    ("deletion", "deletion", "retain", "deletion", "is not one of protect or delete"),
    # the first seed's extensions
    ("extensions a text", "extensions", "true", "extensions", "is not a mapping of persistence"),
    ("extensions empty", "extensions", {}, "extensions.persistence", "is missing"),
    ("persistence a bool", "extensions", _extensions(persistence=True), "extensions.persistence", 'quotes, as "true"'),
    ("persistence yes", "extensions", _extensions(persistence="yes"), "extensions.persistence", 'neither "true" nor'),
    ("persistence True", "extensions", _extensions(persistence="True"), "extensions.persistence", 'neither "true" nor'),
    ("no class", "extensions", {"persistence": "true", "storageSize": "5Gi"}, "extensions.storageClass", "is missing"),
    ("no size", "extensions", {"persistence": "true", "storageClass": "abs"}, "extensions.storageSize", "is missing"),
    ("class blank", "extensions", _extensions(storageClass=" "), "extensions.storageClass", "is blank"),
    ("class wrong", "extensions", _extensions(storageClass="a b"), "extensions.storageClass", "name of a StorageClass"),
    ("size blank", "extensions", _extensions(storageSize=""), "extensions.storageSize", "is blank"),
    ("size GB", "extensions", _extensions(storageSize="50GB"), "extensions.storageSize", "write 50G or 50Gi"),
    ("size a number", "extensions", _extensions(storageSize=50), "extensions.storageSize", 'in quotes, as "50"'),
    ("extension unknown", "extensions", _extensions(size="5Gi"), "extensions.size", "is not a known key"),
    ("extension misspelt", "extensions", _extensions(storageclass="a"), "extensions.storageclass", "storageClass?"),
    # health
    ("probe a text", "healthCheck", "none", "healthCheck", "is not a mapping of type, http"),
    ("probe a list", "healthCheck", [PROBE], "healthCheck", "a list is not a mapping of type, http"),
    ("probe without type", "healthCheck", {"http": PROBE["http"]}, "healthCheck.type", "is missing: http needs type"),
    ("probe type tcp", "healthCheck", _probe(type="tcp"), "healthCheck.type", '"tcp" is not one of http or none'),
    ("probe type HTTP", "healthCheck", _probe(type="HTTP"), "healthCheck.type", "is not one of http or none"),
    ("probe without http", "healthCheck", {"type": "http"}, "healthCheck.http", "type http needs http.path and"),
    ("probe none with http", "healthCheck", _probe(type="none"), "healthCheck.type", '"none" takes no other keys'),
    ("probe http a text", "healthCheck", _probe(http="/healthz"), "healthCheck.http", "is not a mapping of path, port"),
    ("no path", "healthCheck", {"type": "http", "http": {"port": 1}}, "healthCheck.http.path", "is missing"),
    ("no port", "healthCheck", {"type": "http", "http": {"path": "/"}}, "healthCheck.http.port", "is missing"),
    ("path relative", "healthCheck", _http(path="healthz"), "healthCheck.http.path", 'must begin with "/"'),
    ("path with blank", "healthCheck", _http(path="/a b"), "healthCheck.http.path", "hold no blanks"),
    ("path blank", "healthCheck", _http(path=""), "healthCheck.http.path", "is not a path"),
    ("path a URL", "healthCheck", _http(path="http://x/"), "healthCheck.http.path", 'must begin with "/"'),
    ("path huge", "healthCheck", _http(path="/" + LONG), "healthCheck.http.path", "is not a path"),
    ("port zero", "healthCheck", _http(port=0), "healthCheck.http.port", "0 is not a port: 1 to 65535"),
    ("port high", "healthCheck", _http(port=65536), "healthCheck.http.port", "65536 is not a port"),
    ("port text", "healthCheck", _http(port="8080"), "healthCheck.http.port", '"8080" is not a whole number'),
    ("port broken", "healthCheck", _http(port=80.5), "healthCheck.http.port", "80.5 is not a whole number"),
    ("port true", "healthCheck", _http(port=True), "healthCheck.http.port", "true is not a whole number"),
    ("interval 0", "healthCheck", _probe(intervalSeconds=0), "healthCheck.intervalSeconds", "1 to 3600 seconds"),
    ("interval 3601", "healthCheck", _probe(intervalSeconds=3601), "healthCheck.intervalSeconds", "1 to 3600 seconds"),
    ("interval text", "healthCheck", _probe(intervalSeconds="10"), "healthCheck.intervalSeconds", "not a whole number"),
    ("interval 10s", "healthCheck", _probe(intervalSeconds="10s"), "healthCheck.intervalSeconds", "not a whole number"),
    (
        "interval null",
        "healthCheck",
        _probe(intervalSeconds=None),
        "healthCheck.intervalSeconds",
        "null is not a whole",
    ),
    ("delay -1", "healthCheck", _probe(initialDelaySeconds=-1), "healthCheck.initialDelaySeconds", "0 to 3600 seconds"),
    ("delay 3601", "healthCheck", _probe(initialDelaySeconds=3601), "healthCheck.initialDelaySeconds", "0 to 3600"),
    ("timeout 0", "healthCheck", _probe(timeoutSeconds=0), "healthCheck.timeoutSeconds", "1 to 300 seconds"),
    ("timeout 301", "healthCheck", _probe(timeoutSeconds=301), "healthCheck.timeoutSeconds", "1 to 300 seconds"),
    ("timeout 2.5", "healthCheck", _probe(timeoutSeconds=2.5), "healthCheck.timeoutSeconds", "2.5 is not a whole"),
    ("failures 0", "healthCheck", _probe(failureThreshold=0), "healthCheck.failureThreshold", "1 to 100 failures"),
    ("failures 101", "healthCheck", _probe(failureThreshold=101), "healthCheck.failureThreshold", "1 to 100 failures"),
    ("interval misspelt", "healthCheck", _probe(intervalSecs=5), "healthCheck.intervalSecs", "mean intervalSeconds?"),
    ("interval short", "healthCheck", _probe(interval=5), "healthCheck.interval", "did you mean intervalSeconds?"),
    ("probe in Kubernetes", "healthCheck", _probe(periodSeconds=5), "healthCheck.periodSeconds", "not a known key"),
    (
        "interval both casings",
        "healthCheck",
        _probe(interval_seconds=5, intervalSeconds=6),
        "healthCheck.interval_seconds",
        'is given twice, also as "intervalSeconds"',
    ),
    ("http in it misspelt", "healthCheck", _http(prot=1), "healthCheck.http.prot", "did you mean port?"),
    ("health check", "healthcheck", PROBE, "healthcheck", "did you mean healthCheck?"),
    ("livenessProbe", "livenessProbe", PROBE, "livenessProbe", "is not a known key"),
    # ports
    ("ports a number", "ports", 8080, "ports", "8080 is not a list"),
    ("ports a mapping", "ports", {"port": 8080}, "ports", "a mapping is not a list"),
    ("ports numbers", "ports", [8080], "ports[0]", "8080 is not a mapping of port, name, protocol"),
    ("port missing", "ports", [{"name": "web"}], "ports[0].port", "is missing: for example 8080"),
    ("ports port 0", "ports", [{"port": 0}], "ports[0].port", "0 is not a port"),
    ("ports port high", "ports", [{"port": 1}, {"port": 70000}], "ports[1].port", "70000 is not a port"),
    ("ports port negative", "ports", [{"port": -80}], "ports[0].port", "-80 is not a port"),
    ("ports port text", "ports", [{"port": "80"}], "ports[0].port", '"80" is not a whole number'),
    ("ports port huge", "ports", [{"port": 1e300}], "ports[0].port", "is too large a number"),
    ("ports twice", "ports", [{"port": 80}, {"port": 80, "name": "b"}], "ports[1].port", "80/TCP is given twice"),
    (
        "ports name twice",
        "ports",
        [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}],
        "ports[1].name",
        '"a" is given twice',
    ),
    ("ports name long", "ports", [{"port": 80, "name": "a" * 16}], "ports[0].name", "at most 15 lower-case letters"),
    ("ports name upper", "ports", [{"port": 80, "name": "Web"}], "ports[0].name", "is not a port name"),
    ("ports name digits", "ports", [{"port": 80, "name": "80"}], "ports[0].name", "with a letter"),
    ("ports name dashes", "ports", [{"port": 80, "name": "a--b"}], "ports[0].name", "is not a port name"),
    ("ports name blank", "ports", [{"port": 80, "name": ""}], "ports[0].name", "is not a port name"),
    ("ports protocol", "ports", [{"port": 80, "protocol": "http"}], "ports[0].protocol", "is not one of TCP or UDP"),
    ("ports protocol case", "ports", [{"port": 80, "protocol": "tcp"}], "ports[0].protocol", "is not one of TCP or"),
    ("ports misspelt", "ports", [{"prot": 80}], "ports[0].prot", "did you mean port?"),
    ("containerPort", "ports", [{"containerPort": 80}], "ports[0].containerPort", "is not a known key"),
    # who reaches a port
    ("expose unknown port", "expose", {"80": {"visibility": "private"}}, "expose.80", "is not among the TCP ports"),
    ("expose a word", "expose", {"web": {"visibility": "private"}}, "expose", '"web" is not a port number'),
    ("expose negative", "expose", {"-1": {"visibility": "private"}}, "expose", '"-1" is not a port number'),
    ("expose a list", "expose", [80], "expose", "a list is not a mapping"),
    ("expose visibility", "expose", {"80": {"visibility": "open"}}, "expose.80.visibility", "private or public"),
    ("expose empty", "expose", {"80": {}}, "expose.80.visibility", "is missing"),
    ("expose no host", "expose", {"80": {"visibility": "public"}}, "expose.80.host", "a public port needs host and"),
    (
        "expose no TLS",
        "expose",
        {"80": {"visibility": "public", "host": "a.example"}},
        "expose.80.tlsSecret",
        "a public port needs host and tlsSecret",
    ),
    (
        "expose host",
        "expose",
        {"80": {"visibility": "public", "host": "https://a", "tlsSecret": "t"}},
        "expose.80.host",
        "is not a DNS name",
    ),
    (
        "expose private host",
        "expose",
        {"80": {"visibility": "private", "host": "a.example"}},
        "expose.80.host",
        "is only for visibility public",
    ),
    # labels
    ("labels a list", "labels", ["a=b"], "labels", "a list is not a mapping"),
    ("label number", "labels/build", 7, "labels.build", '7 is not a string: write it in quotes, as "7"'),
    ("label true", "labels/on", True, "labels.on", 'true is not a string: write it in quotes, as "true"'),
    ("label null", "labels/a", None, "labels.a", "null is not a string"),
    ("label mapping", "labels/a", {"b": "c"}, "labels.a", "a mapping is not a string"),
    ("label with blank", "labels/team", "a b", "labels.team", "is not a label value"),
    ("label long", "labels/team", "a" * 64, "labels.team", "at most 63 letters"),
    ("label dash last", "labels/team", "a-", "labels.team", "is not a label value"),
    ("label unicode", "labels/team", "zürich", "labels.team", "is not a label value"),
    ("label key blank", "labels", {"": "a"}, "labels", "is not a label key"),
    ("label key with blank", "labels", {"my team": "a"}, "labels.my team", "is not a label key"),
    ("label key long", "labels", {"a" * 64: "a"}, "labels.a", "is not a label key"),
    ("label key slashes", "labels", {"a/b/c": "a"}, "labels.a/b/c", "is not a label key"),
    ("label prefix upper", "labels", {"Acme.com/a": "a"}, "labels.Acme.com/a", "is not a label key"),
    ("label ours", "labels", {"sandbox-components/sandbox": "x"}, "labels.sandbox-components/sandbox", "are ours"),
    ("label app", "labels", {"app.kubernetes.io/name": "x"}, "labels.app.kubernetes.io/name", "are ours"),
    # egress
    ("egress all", "egress", "all", "egress", '"all" is neither "internet" nor "none" nor a list of rules'),
    ("egress true", "egress", True, "egress", "true is neither"),
    ("egress mapping", "egress", {"cidr": "10.0.0.0/8"}, "egress", "a mapping is neither"),
    ("egress text in it", "egress", ["10.0.0.0/8"], "egress[0]", '"10.0.0.0/8" is not a mapping of cidr'),
    ("egress empty rule", "egress", [{}], "egress[0].cidr", "is missing: for example 10.20.0.0/16"),
    ("egress address", "egress", [{"cidr": "10.0.0.1"}], "egress[0].cidr", "is not an address range such as"),
    ("egress host bits", "egress", [{"cidr": "10.0.0.1/8"}], "egress[0].cidr", "write 10.0.0.0/8"),
    ("egress prefix", "egress", [{"cidr": "10.0.0.0/33"}], "egress[0].cidr", "is not an address range"),
    ("egress name", "egress", [{"cidr": "github.com"}], "egress[0].cidr", "is not an address range"),
    ("egress zone", "egress", [{"cidr": "fe80::%1/64"}], "egress[0].cidr", "is not an address range"),
    (
        "egress exception outside",
        "egress",
        [{"cidr": "10.0.0.0/8", "exceptCidrs": ["192.168.0.0/16"]}],
        "egress[0].exceptCidrs[0]",
        "is not inside 10.0.0.0/8",
    ),
    (
        "egress exception whole",
        "egress",
        [{"cidr": "10.0.0.0/8", "exceptCidrs": ["10.0.0.0/8"]}],
        "egress[0].exceptCidrs[0]",
        "is not inside 10.0.0.0/8",
    ),
    (
        "egress port",
        "egress",
        [{"cidr": "10.0.0.0/8"}, {"cidr": "10.0.0.0/8", "ports": [{"port": 0}]}],
        "egress[1].ports[0].port",
        "0 is not a port",
    ),
    ("egress to", "egress", [{"to": "x"}], "egress[0].to", "is not a known key"),
    # the pod
    ("security", "security", "privileged", "security", '"privileged" is not one of restricted or baseline'),
    ("security a list", "security", [], "security", "a list is not one of restricted or baseline"),
    ("root", "runAsUser", 0, "runAsUser", "0 is root, which only security baseline allows"),
    ("user negative", "runAsUser", -1, "runAsUser", "-1 is not a user id"),
    ("user text", "runAsUser", "1000", "runAsUser", '"1000" is not a whole number'),
    ("user large", "runAsUser", 2**31, "runAsUser", "is not a user id"),
    ("grace negative", "terminationGracePeriodSeconds", -1, "terminationGracePeriodSeconds", "between 0 and 86400"),
    ("grace large", "terminationGracePeriodSeconds", 86401, "terminationGracePeriodSeconds", "between 0 and 86400"),
    ("grace text", "terminationGracePeriodSeconds", "30s", "terminationGracePeriodSeconds", "not a whole number"),
    ("runtime class", "runtimeClass", "gVisor", "runtimeClass", "is not the name of a Kubernetes object"),
    ("runtime class number", "runtimeClass", 5, "runtimeClass", '5 is not a string: write it in quotes, as "5"'),
    ("node selector list", "nodeSelector", ["a"], "nodeSelector", "a list is not a mapping"),
    ("node selector value", "nodeSelector/my_zone", 1, "nodeSelector.my_zone", "1 is not a string"),
    ("node selector blank", "nodeSelector/zone", "a b", "nodeSelector.zone", "is not a label value"),
    ("node selector key", "nodeSelector", {"a b": "c"}, "nodeSelector.a b", "is not a label key"),
    ("tolerations", "tolerations", {"key": "a"}, "tolerations", "a mapping is not a list"),
    ("toleration operator", "tolerations", [{"operator": "In"}], "tolerations[0].operator", "Exists or Equal"),
    ("toleration keyless", "tolerations", [{"value": "a"}], "tolerations[0].key", "is missing"),
    (
        "toleration value",
        "tolerations",
        [{"operator": "Exists", "value": "a"}],
        "tolerations[0].value",
        "can't be given",
    ),
    ("toleration effect", "tolerations", [{"key": "a", "effect": "Never"}], "tolerations[0].effect", "is not one of"),
    ("toleration key", "tolerations", [{"key": "a b"}], "tolerations[0].key", "is not a label key"),
    ("pull secrets text", "imagePullSecrets", "a", "imagePullSecrets", '"a" is not a list'),
    (
        "pull secret name",
        "imagePullSecrets",
        ["a", "B"],
        "imagePullSecrets[1]",
        "is not the name of a Kubernetes object",
    ),
    ("pull policy", "imagePullPolicy", "always", "imagePullPolicy", "is not one of Always, IfNotPresent or Never"),
    ("pull policy dashes", "image-pull-policy", "Always", "image-pull-policy", "did you mean imagePullPolicy?"),
    ("wait", "waitForReady", "true", "waitForReady", '"true" is neither true nor false'),
    ("wait 1", "waitForReady", 1, "waitForReady", "1 is neither true nor false"),
    # not ours, not yet
    ("replicas", "replicas", 2, "replicas", "is not a known key"),
    ("name inside", "name", "x", "name", "is not a known key"),
    ("key huge", LONG, 1, "xxx", "is not a known key"),
    ("spending limits", "spendingLimits", [], "spendingLimits", "is not available yet"),
    ("spending_limits", "spending_limits", [], "spendingLimits", "is not available yet"),
    ("inference", "inference", {}, "inference", "is not available yet"),
]

MALFORMED: list[Malformed] = [
    Malformed(name, changed(path, value), field, says) for name, path, value, field, says in _TABLE
]
MALFORMED += [
    Malformed("nothing in it", {}, "image", "is missing"),
    Malformed(
        "command blank", {**changed("entrypoint", REMOVED), "command": "  "}, "command", "is blank: leave it out"
    ),
    Malformed(
        "command a list",
        {**changed("entrypoint", REMOVED), "command": ["a"]},
        "command",
        "a list is not a string",
    ),
    Malformed("command NUL", {**changed("entrypoint", REMOVED), "command": "a\0"}, "command", "NUL"),
    Malformed(
        "extensions beside volumes",
        {**BASE, "extensions": _extensions(), "volumes": [{"mountPath": "/data"}]},
        "extensions",
        "is given beside volumes",
    ),
    Malformed(
        "workspace beside volumes",
        {**BASE, "workspace": {}, "volumes": [{"mountPath": "/data"}]},
        "volumes",
        "is given beside workspace",
    ),
    Malformed(
        "expose a UDP port",
        {**BASE, "ports": [{"port": 53, "protocol": "UDP"}], "expose": {"53": {"visibility": "private"}}},
        "expose.53",
        "is not among the TCP ports",
    ),
]

MALFORMED_KEYS: list[Malformed] = [
    Malformed("number as key", {**BASE, 5: "x"}, "", "the key 5 is not a string"),
    Malformed("true as key", {**BASE, True: "x"}, "", 'the key true is not a string: write it in quotes, as "true"'),
    Malformed("number as env name", changed("env", {1: SECRET}), "env", "the name 1 is not a string"),
    Malformed("number as label", changed("labels", {1: "x"}), "labels", "the key 1 is not a string"),
    Malformed("number as node label", changed("nodeSelector", {1: "x"}), "nodeSelector", "the key 1 is not a string"),
    Malformed("null as resource", changed("resourceLimits", {None: "x"}), "resourceLimits", "the key null is not"),
    Malformed("number in probe", changed("healthCheck", {5: "x"}), "healthCheck", "the key 5 is not a string"),
    Malformed("true as exposed port", changed("expose", {True: {}}), "expose", "true is not a port number"),
]
