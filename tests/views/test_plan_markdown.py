"""The comment for a pull request, read by a Markdown parser: no value breaks out of its cell, whatever it holds."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sandbox_components.operations.disk_plan import NONE, REPLACED, Disk
from sandbox_components.operations.field_changes import ADDED, CHANGED, REMOVED, FieldChange
from sandbox_components.operations.planning import Other, StackPlan
from sandbox_components.operations.sandbox_plan import Refusal, Restart, SandboxPlan
from sandbox_components.views.plan_markdown import LARGEST, plan_markdown
from sandbox_components.views.plan_words import said

AWKWARD = (
    "a|b", "a\\|b", "\\", "`", "``` x", "a\nb", "\r\n", "<b>x</b>", "</code>", "<!--", "-->", "&amp;", "&#124;",
    "**x**", "_x_", "~~x~~", "[a](http://b)", "![a](b)", "http://example.org", "www.example.org", "a@example.org",
    "@acme/team", "#12", "$x$", "| a | b |\n|---|---|", "# head", "- item", "\t", " ", "",
    "\u202e\u0000\x7f", "ä→字", "x" * 5000,
)  # fmt: skip
TEXTS = st.sampled_from(AWKWARD) | st.text(max_size=30) | st.text(alphabet="|\\`<>&*_~[]()!#@:$\n\r. aw", max_size=20)
RENDER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
NO_DISK = Disk(NONE, "none: files go with the pod")


def plan(*sandboxes: SandboxPlan, **more: object) -> StackPlan:
    return StackPlan("agents", "production", sandboxes, **more)  # type: ignore[arg-type]


def one(name: str = "nightly", *changes: FieldChange, disk: Disk = NO_DISK, **more: object) -> SandboxPlan:
    return SandboxPlan(name, "agents", "changed", Restart.YES, True, changes, disk, **more)  # type: ignore[arg-type]


def cells(text: str) -> list[list[str]]:
    """The rows of the rendered table, each cell as HTML."""
    page = RENDER.render(text)
    assert page.count("<table>") == 1
    rows = re.findall(r"<tr>\n(.*?)</tr>", page, re.S)
    return [re.findall(r"<t[dh]>(.*?)</t[dh]>\n", row, re.S) for row in rows]


def codes(cell: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(r"<code>(.*?)</code>", cell, re.S)]


@given(TEXTS, TEXTS, TEXTS)
def test_values_come_out_as_they_are_shown(old: str, new: str, label: str) -> None:
    changes = (FieldChange("env.A", CHANGED, old, new), FieldChange(f"labels.{label}", ADDED, None, label))
    rows = cells(plan_markdown(plan(one("a", *changes), one("b"))))
    assert [len(row) for row in rows] == [4, 4, 4]
    cell = rows[1][2]
    assert codes(cell)[:3] == ["env.A", said(old), said(new)]
    assert codes(cell)[-1] == said(label)
    assert set(re.findall(r"</?(\w+)", cell)) == {"code", "br"}


@given(TEXTS, TEXTS)
def test_names_and_reasons_neither(name: str, reason: str) -> None:
    refused = one(name, refusals=(Refusal(reason, (reason,)),), disk=Disk(REPLACED, reason))
    text = plan_markdown(plan(refused, others=(Other("update", "x:y:Z", name, (reason,)),)))
    rows = cells(text)
    assert [len(row) for row in rows] == [4, 4]
    assert set(re.findall(r"</?(\w+)", RENDER.render(text))) <= {
        "code", "br", "table", "thead", "tbody", "tr", "th", "td", "h3", "p", "ul", "li", "strong", "em",
    }  # fmt: skip


def test_nothing_in_a_cell_is_a_link_or_a_mention() -> None:
    for text in ("http://example.org", "www.example.org", "WWW.example.org", "@acme/team", "#12", "a: b"):
        row = plan_markdown(plan(one("a", FieldChange("env.A", CHANGED, text, text)))).splitlines()[6]
        assert not re.search(r"://|www\.|@|(?<!&)#", row, re.I), row


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (FieldChange("image", CHANGED, "a", "b"), "<code>image</code>: <code>a</code> → <code>b</code>"),
        (FieldChange("env.A", ADDED, None, "b"), "<code>env.A</code>: none → <code>b</code>"),
        (FieldChange("env.A", REMOVED, "a", None), "<code>env.A</code>: <code>a</code> → none"),
        (
            FieldChange("image", CHANGED, "a", is_known_later=True),
            "<code>image</code>: <code>a</code> → known after the update",
        ),
        (FieldChange("secretEnv.T", CHANGED, is_secret=True), "<code>secretEnv.T</code>: another value (a secret)"),
        (FieldChange("secretEnv.T", ADDED, is_secret=True), "<code>secretEnv.T</code>: set (a secret)"),
        (FieldChange("Service spec.type", CHANGED), "<code>Service spec.type</code>: changed"),
    ],
)
def test_a_change(change: FieldChange, shown: str) -> None:
    assert cells(plan_markdown(plan(one("a", change))))[1][2] == shown


def test_a_comment_is_never_too_large() -> None:
    changes = tuple(FieldChange(f"env.A{index}", CHANGED, "|" * 500, "<" * 500) for index in range(60))
    reasons = (Refusal("|" * 300, ("<" * 300,)),)
    assert len(plan_markdown(plan(*(one(f"s{index}", *changes, refusals=reasons) for index in range(40))))) < 65_536
    text = plan_markdown(plan(*(one(f"s{index}", *changes) for index in range(40))))
    assert len(text) < LARGEST
    assert re.search(r"and \d+ sandboxes more, which a comment has no room for", text)


def test_unchanged_ones_are_a_count_unless_they_are_named() -> None:
    idle = SandboxPlan("idle", "agents", "unchanged", Restart.NO, False, (), NO_DISK)
    assert "<code>idle</code>" not in plan_markdown(plan(idle, one("a")))
    assert "**1 restarts, 1 unchanged**" in plan_markdown(plan(idle, one("a")))
    assert cells(plan_markdown(plan(idle), is_named=True))[1][:2] == ["<code>idle</code>", "unchanged"]
    assert plan_markdown(plan(idle)).count("|") == 0


def test_a_pin_is_told_also_where_nothing_changes() -> None:
    note = "idle is pinned to r2 by <b>; what is declared otherwise (image) waits until: sandbox unpin idle"
    idle = SandboxPlan("idle", "agents", "unchanged", Restart.NO, False, (), NO_DISK, notes=(note,))
    text = plan_markdown(plan(idle))
    assert cells(text)[1][:2] == ["<code>idle</code>", "unchanged"]
    assert html.unescape(RENDER.render(text)).count(note) == 1
    assert "<b>" not in RENDER.render(text)
