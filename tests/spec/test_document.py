"""Request files: what JSON and YAML accept, and every trap of theirs refused with its line and without a value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.document import LARGEST_BYTES, load_document
from sandbox_components.spec.sandbox import read_sandbox
from tests.spec.malformed import BASE, MALFORMED, SECRET, Malformed

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)


@dataclass(frozen=True)
class Broken:
    id: str
    text: str | bytes
    says: str
    source: str = "request.yaml"


BROKEN = [
    Broken("empty", "", "is empty"),
    Broken("blank", " \n\n", "is empty"),
    Broken("comment only", "# nothing\n", "is empty"),
    Broken("null", "null\n", "is empty"),
    Broken("list", "- image: a\n", "is a list, not a mapping"),
    Broken("JSON list", '[{"image": "a"}]', "is a list, not a mapping"),
    Broken("text", "image\n", "is a text, not a mapping"),
    Broken("number", "5", "is a single value, not a mapping"),
    Broken("JSON cut off", '{"image": {"uri": "a"}', "line 1, column 23: not JSON: expecting ',' delimiter"),
    Broken("JSON cut in a string", '{\n "image": "a', "line 2, column 11: not JSON: unterminated string"),
    Broken("JSON trailing comma", '{"image": "a",\n}', "line 2, column 1: not JSON", "request.json"),
    Broken("JSON comment", '{"image": "a" // x\n}', "line 1, column 15: not JSON", "request.json"),
    Broken("JSON single quotes", "{'image': 'a'}", "not JSON: expecting property name", "request.json"),
    Broken("JSON twice", '{"image": "a"}\n{"image": "b"}', "line 2, column 1: not JSON: extra data"),
    Broken("JSON NaN", '{"ports": [{"port": NaN}]}', "NaN is not a number that JSON knows"),
    Broken("JSON Infinity", '{"ports": [{"port": -Infinity}]}', "-Infinity is not a number"),
    Broken("JSON long number", '{"a": ' + "9" * 5000 + "}", "a number that is too long"),
    Broken("JSON control character", '{"a": "\x01"}', "not JSON: invalid control character", "request.json"),
    Broken(
        "JSON key twice", '{"env": {"A": "x",\n "A": "y"}}', 'line 2, column 2: the key "A" is given twice, first in'
    ),
    Broken("JSON top key twice", '{"image": "a",\n"image": "b"}', 'line 2, column 1: the key "image" is given twice'),
    Broken("JSON key twice, escaped", '{"A": "x",\n "\\u0041": "y"}', 'the key "A" is given twice, first in line 1'),
    Broken("JSON deep", '{"a":' * 200 + "1" + "}" * 200, "is nested more than 40 deep"),
    Broken("JSON bottomless", '{"a":' * 100_000, "is nested more than 40 deep"),
    Broken(
        "key twice",
        "image: a\nenv:\n  A: x\n  B: y\n  A: z\n",
        'line 5, column 3: the key "A" is given twice, first in line 3',
    ),
    Broken("key twice, quoted", 'image: a\n"image": b\n', 'line 2, column 1: the key "image" is given twice'),
    Broken("key twice, flow", "{image: a, image: b}", 'line 1, column 12: the key "image" is given twice'),
    Broken("merge twice", "a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", 'the key "<<" is given twice'),
    Broken("two documents", "image: a\n---\nimage: b\n", "line 2, column 1: a second document begins"),
    Broken("tab indents", "env:\n\tA: x\n", "line 2, column 1: not YAML: a tab where blanks are needed"),
    Broken("tab in front", "\timage: a\n", "line 1, column 1: not YAML: a tab where blanks are needed"),
    Broken("bad indent", "image: a\n  env: b\n", "line 2, column 6: not YAML: mapping values are not allowed here"),
    Broken("two colons", "image: a: b\n", "line 1, column 9: not YAML: mapping values are not allowed here"),
    Broken("open quote", f"env:\n  A: '{SECRET}\n", "line 3, column 1: not YAML: found unexpected end of stream"),
    Broken("bad escape", f'env:\n  A: "{SECRET}\\q"\n', "not YAML: found unknown escape character"),
    Broken("at sign", "env:\n  A: @x\n", "line 2, column 6: not YAML: found character '@'"),
    Broken("percent", "env:\n  A: %x\n", "line 2, column 6: not YAML: found character '%'"),
    Broken("template", "image: {{ image }}\n", "line 1, column 9: a key is not a plain word"),
    Broken("list as key", "? [a]\n: b\n", "a key is not a plain word"),
    Broken("alias as key", "a: &x b\n*x : c\n", "line 2, column 1: a key is not a plain word"),
    Broken("unknown alias", f"env:\n  A: *{SECRET}\n", 'line 2, column 6: an alias ("*...") of nothing'),
    Broken("tag", f"env:\n  A: !{SECRET}\n", 'line 2, column 6: a tag ("!...") is not accepted'),
    Broken("Python tag", "a: !!python/object/apply:os.system [ls]\n", "a tag"),
    Broken("binary", "a: !!binary aGVsbG8=\n", "a tag"),
    Broken("set", "!!set {a, b}\n", "line 1, column 1: a tag"),
    Broken("anchor twice", "a: &x 1\nb: &x 2\n", "line 2, column 4: an anchor"),
    Broken("alias of itself", "a: &x [*x]\n", "an alias stands inside of what it stands for"),
    Broken("bomb", BOMB, "aliases written out make more than"),
    Broken(
        "bomb of texts", f"a: &a {'x' * 4000}\nb: [{', '.join(['*a'] * 600)}]\n", "aliases written out make more than"
    ),
    Broken("deep list", "a: " + "[" * 2000, "line 1, column 43: is nested more than 40 deep"),
    Broken(
        "deep mapping", "\n".join(" " * n + "a:" for n in range(60)), "line 41, column 41: is nested more than 40 deep"
    ),
    Broken("long number", "a: " + "9" * 5000, "a number that is too long"),
    Broken("NUL", "image: a\nenv: \0\n", "line 2: not YAML: holds a character that YAML doesn't allow"),
    Broken("not UTF-8", b"image: a\nenv: \xff\n", "line 2: is not UTF-8: byte 0xff"),
    Broken("UTF-16", "image: a\n".encode("utf-16"), "line 1: is not UTF-8"),
    Broken("gzip", b"\x1f\x8b\x08\x00", "line 1: is not UTF-8: byte 0x8b"),
    Broken("too large", "a" * (LARGEST_BYTES + 1), "has 1048577 bytes, at most 1048576"),
    Broken("too large in bytes", "é" * (LARGEST_BYTES // 2 + 1), "has 1048578 bytes"),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.id)
def test_broken_documents(case: Broken) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_document(case.text, case.source)
    error = caught.value
    assert error.field == case.source
    assert case.says in error.problem
    assert SECRET not in str(error)
    assert len(str(error)) < 300
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    "text", [case.text for case in BROKEN if isinstance(case.text, str) and case.source[-4:] == "yaml"][::3]
)
def test_bytes_and_text_fail_alike(text: str) -> None:
    with pytest.raises(InvalidInput) as first:
        load_document(text, "x")
    with pytest.raises(InvalidInput) as second:
        load_document(text.encode(), "x")
    assert str(first.value) == str(second.value)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"image": "a"}', {"image": "a"}),
        ('\ufeff{"image": "a"}', {"image": "a"}),
        (b'\xef\xbb\xbf{"image": "a"}', {"image": "a"}),
        ("{image: a, ports: [{port: 80}]}", {"image": "a", "ports": [{"port": 80}]}),
        ('{"image": "a",}', {"image": "a"}),
        ("---\nimage: a\n...\n", {"image": "a"}),
        ("image: a\r\nenv:\r\n  A: b\r\n", {"image": "a", "env": {"A": "b"}}),
        ("a: yes\nb: no\nc: on\nd: true\n", {"a": "yes", "b": "no", "c": "on", "d": True}),
        ("a: 2024-02-30\nb: 12:30\nc: 0o17\nd: 1e3\n", {"a": "2024-02-30", "b": "12:30", "c": 15, "d": 1000.0}),
        ("a: &x {b: c}\nd: *x\n", {"a": {"b": "c"}, "d": {"b": "c"}}),
        ("a: &x {b: c}\nd:\n  <<: *x\n  e: f\n", {"a": {"b": "c"}, "d": {"b": "c", "e": "f"}}),
        ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
        ('a: !!str 5\nb: ! "x"\n', {"a": "5", "b": "x"}),
    ],
)
def test_what_is_accepted(text: str | bytes, data: object) -> None:
    assert load_document(text, "request") == data


def test_both_formats_of_a_request_are_one_sandbox() -> None:
    yaml = """
image:
  uri: python:3.12-slim
entrypoint: ["/bin/sh", "-c", "python3 -m http.server 8000"]
resourceLimits: {cpu: 2, memory: 2Gi}
volumes:
  - mountPath: /data
healthCheck:
  type: http
  http:
    path: /healthz
    port: 8080
"""
    data = load_document(yaml, "request.yaml")
    assert read_sandbox(data) == read_sandbox(load_document(json.dumps(data), "request.json"))


@pytest.mark.parametrize("case", MALFORMED[::5], ids=lambda case: case.id)
def test_malformed_requests_stay_so_through_a_file(case: Malformed) -> None:
    data = load_document(json.dumps(case.data), "request.json")
    with pytest.raises(InvalidInput) as caught:
        read_sandbox(data)
    assert caught.value.field.startswith(case.field)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40)
@given(st.dictionaries(st.text(), JSON_VALUES, max_size=5), st.booleans())
def test_json_is_read_exactly(data: dict[str, object], ascii_only: bool) -> None:
    assert load_document(json.dumps(data, ensure_ascii=ascii_only), "request.json") == data


def _mapping_or_error(text: str | bytes) -> str:
    try:
        return f"request: {type(load_document(text, 'request')).__name__}"
    except InvalidInput as error:
        return str(error)


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_is_a_mapping_or_one_error(text: str | bytes) -> None:
    assert _mapping_or_error(text).startswith("request: ")


@given(st.text(alphabet="ab:&*!-[]{}\"'|>#?%@`, \n\t<0.", max_size=40))
def test_any_yaml_is_a_mapping_or_one_error(text: str) -> None:
    assert _mapping_or_error(text).startswith("request: ")


def test_base_request_from_disk(tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(BASE))
    assert load_document(file.read_bytes(), str(file)) == BASE
