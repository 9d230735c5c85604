"""An edit touches the lines that change, and no other byte of the file."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from sandbox_components.errors import InvalidInput
from sandbox_components.operations.config_text import edited
from tests.operations.odd_texts import ODD_TEXTS

ODD = """\
# the stack's settings
encryptionsalt: v1:abc

config:
    # about all
    s:
        # about a
        a:
            image: {uri:   "x:1"}   # trailing
            entrypoint:
            - sh
            - -c
            - |
                foo
                  bar

            env:
                # one
                ONE: '1'
                # two
                TWO: "2"
                # three
                THREE: "3"
            volumes:
            # where memory is
            - mountPath: /data   # kept


        # about b
        b: {image:   "y"}

        # about c
        c:
            image:
                uri: z
# the end
"""
Change = Callable[[Any], None]


def put(*path: str | int, value: Any) -> Change:
    def edit(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return edit


def drop(*path: str) -> Change:
    def edit(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]

    return edit


def differences(before: str, after: str) -> list[str]:
    """The lines that differ, each with its sign."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("encryptionsalt", value="v2"), ["-encryptionsalt: v1:abc", "+encryptionsalt: v2"]),
        (
            put("config", "s", "a", "image", "uri", value="x:2"),
            ['-            image: {uri:   "x:1"}   # trailing', '+            image: {uri: "x:2"}     # trailing'],
        ),
        (put("config", "s", "c", "image", "uri", value="q"), ["-                uri: z", "+                uri: q"]),
        (put("config", "s", "c", "command", value="run"), ["+            command: run"]),
        (
            put("config", "s", "a", "volumes", 0, "size", value="1Gi"),
            ["+              size: 1Gi"],
        ),
        (put("config", "s", "d", value=CommentedMap(x="1")), ["+        d:", "+            x: '1'"]),
        (
            drop("config", "s", "a", "env", "ONE"),
            ["-                # one", "-                ONE: '1'"],
        ),
        (
            drop("config", "s", "a", "env", "TWO"),
            ["-                # two", '-                TWO: "2"'],
        ),
        (
            drop("config", "s", "a", "env", "THREE"),
            ["-                # three", '-                THREE: "3"'],
        ),
        (drop("config", "s", "b"), ["-        # about b", '-        b: {image:   "y"}']),
        (
            drop("config", "s", "c"),
            ["-        # about c", "-        c:", "-            image:", "-                uri: z"],
        ),
    ],
)
def test_only_what_changes_is_touched(change: Change, expected: list[str]) -> None:
    assert differences(ODD, edited(ODD, change, "f")) == expected


def test_a_comment_behind_what_is_removed_stays() -> None:
    text = "config:\n  s:\n    a: 1\n    b:\n      c: 1\n# the end\n"

    def edit(data: Any) -> None:
        data["config"]["s"]["a"] = 2
        del data["config"]["s"]["b"]

    assert edited(text, edit, "f") == "config:\n  s:\n    a: 2\n# the end\n"


@pytest.mark.parametrize("end", ["# the end\n", "\n\n# the end\n", "  # of config\n# the end\n\n"])
def test_what_is_added_stands_before_comments_about_something_else(end: str) -> None:
    text = "config:\n  s:\n    a: 1\n"
    assert edited(text + end, put("config", "s", "b", value=2), "f") == f"{text}    b: 2\n{end}"


def test_a_whole_entry_goes_with_its_own_comments() -> None:
    after = edited(ODD, drop("config", "s", "a"), "f")
    assert "# about a\n" not in after
    assert after.replace("\n", "").endswith(
        '    # about all    s:        # about b        b: {image:   "y"}        # about c        c:            image:'
        "                uri: z# the end"
    )


@pytest.mark.parametrize("offset", [0, 2, 4])
@pytest.mark.parametrize("step", [2, 3, 4])
def test_the_styles_of_lists_and_mappings_stay(step: int, offset: int) -> None:
    item = " " * (2 * step + offset) + "- "
    text = f"config:\n{' ' * step}s:\n{' ' * 2 * step}list:\n{item}one\n{item}two\n{' ' * 2 * step}last: x\n"
    after = edited(text, put("config", "s", "more", value=["a", "b"]), "f")
    assert differences(text, after) == [f"+{' ' * 2 * step}more:", f"+{item}a", f"+{item}b"]


@pytest.mark.parametrize(
    "change", [put("config", "s", "c", "image", "uri", value="q"), drop("config", "s", "b"), drop("config", "s", "a")]
)
def test_carriage_returns_stay(change: Change) -> None:
    dos = ODD.replace("\n", "\r\n")
    assert edited(dos, change, "f") == edited(ODD, change, "f").replace("\n", "\r\n")


@pytest.mark.parametrize("text", [ODD, ODD.replace("\n", "\r\n"), "", "# only\n", "config:\n", "a:   1", "config: {}"])
def test_nothing_changed_is_the_very_text(text: str) -> None:
    assert edited(text, lambda data: None, "f") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "config:\n  a: 1\n"),
        ("\n\n", "\n\nconfig:\n  a: 1\n"),
        ("# hello\n", "# hello\nconfig:\n  a: 1\n"),
        ("# hello", "# hello\nconfig:\n  a: 1\n"),
        ("---\n", "config:\n  a: 1\n"),
        ("config:\n", "config:\n  a: 1\n"),
        ("config: {}\n", "config:\n  a: 1\n"),
        ("config:\n# hello\n", "config:\n  a: 1\n# hello\n"),
        ("encryptionsalt: x\n", "encryptionsalt: x\nconfig:\n  a: 1\n"),
        ("# hello\nencryptionsalt: x", "# hello\nencryptionsalt: x\nconfig:\n  a: 1\n"),
    ],
)
def test_files_with_little_in_them(text: str, expected: str) -> None:
    after = edited(text, put("config", value=CommentedMap(a=1)), "f")
    assert after.rstrip() == expected.rstrip()


@pytest.mark.parametrize(
    "value",
    ODD_TEXTS,
)
def test_texts_come_back_as_they_were(value: str) -> None:
    after = edited(ODD, put("config", "s", "c", "text", value=value), "f")
    assert YAML(typ="safe", pure=True).load(after)["config"]["s"]["c"]["text"] == value
    removed = edited(after, drop("config", "s", "c", "text"), "f")
    assert removed == ODD


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: 2\na: s3cret\n", 'line 3: the key "a" is given twice'),
        ("a: [1, 2\nb: s3cret\n", "line 2: not YAML: "),
        ("a: 1\n\tb: s3cret\n", "line 2: not YAML: "),
        ("- s3cret\n", "is not a mapping"),
        ("s3cret\n", "is not a mapping"),
        ("a: *s3cret\n", "line 1: not YAML: "),
        ("a: 's3cret\n", "line 2: not YAML: "),
        ("{" * 30, "line 1: not YAML: "),
    ],
)
def test_what_is_no_mapping_is_refused_by_line(text: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        edited(text, put("x", value=1), "Pulumi.dev.yaml")
    assert str(caught.value).startswith(f"Pulumi.dev.yaml: {says}")
    assert "\n" not in str(caught.value)
    assert "found duplicate" not in str(caught.value)


def test_where_lines_cannot_be_told_apart_the_meaning_decides() -> None:
    text = "config:\n    s:\n      -   a: 1   # kept\n          b: 2\n      - a: 3\n"
    after = edited(text, put("config", "s", 0, "c", value=4), "f")
    assert YAML(typ="safe", pure=True).load(after) == {"config": {"s": [{"a": 1, "b": 2, "c": 4}, {"a": 3}]}}
    assert "# kept" in after


def test_a_long_file_takes_no_time() -> None:
    entry = ODD[ODD.index("        # about a") : ODD.index("        # about b")]
    many = "".join(entry.replace("a:", f"n{index}:", 1) for index in range(100))
    text = ODD.replace(entry, many)
    after = edited(text, put("config", "s", "n50", "env", "ONE", value="2"), "f")
    assert differences(text, after) == ["-                ONE: '1'", "+                ONE: '2'"]
