"""Malformed sandbox requests as plain data: what goes in, the field that the one error names, what it says.

Every entry survives JSON, so that each door (request file, stack config, program arguments) can be given the same
ones; `MALFORMED_KEYS` needs YAML or Python, for JSON has no keys but strings.
"""

from __future__ import annotations

from tests.spec import malformed_contents, malformed_spending, malformed_surroundings
from tests.spec.malformed_request import BASE, REMOVED, SECRET, Malformed, changed, extensions

__all__ = ["BASE", "MALFORMED", "MALFORMED_KEYS", "REMOVED", "SECRET", "Malformed", "changed"]

MALFORMED: list[Malformed] = [
    Malformed(name, changed(path, value), field, says)
    for name, path, value, field, says in (
        *malformed_contents.ROWS,
        *malformed_surroundings.ROWS,
        *malformed_spending.ROWS,
    )
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
        {**BASE, "extensions": extensions(), "volumes": [{"mountPath": "/data"}]},
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
        "expose two ports under one host",
        {
            **BASE,
            "ports": [{"port": 80}, {"port": 81}],
            "expose": {
                number: {"visibility": "public", "host": "a.example", "tlsSecret": "t"} for number in ("80", "81")
            },
        },
        "expose.81.host",
        '"a.example" is another port\'s already',
    ),
    Malformed(
        "expose a port with a zero before it",
        {**BASE, "ports": [{"port": 443}], "expose": {"0443": {"visibility": "private"}}},
        "expose",
        '"0443" is not a port number',
    ),
    Malformed(
        "expose a UDP port",
        {**BASE, "ports": [{"port": 53, "protocol": "UDP"}], "expose": {"53": {"visibility": "private"}}},
        "expose.53",
        "is not among the TCP ports",
    ),
]

MALFORMED += [Malformed(name, {**BASE, **data}, field, says) for name, data, field, says in malformed_spending.WHOLE]

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
