"""Wrong words for `spend`, `set-limit`, `rotate-key`, `rollback`: one error each, neither engine nor cluster asked."""

from __future__ import annotations

import shlex

import pytest

from sandbox_components.cli.options import Target
from tests.cli.in_process import Command, Project

CASES = {
    "spend": "NAME: is missing: a sandbox, or --scope org|user|agent with --subject ID",
    "spend nightly other": "extra argument (other)",
    "spend nightly --period year": "'--period': 'year' is not one of 'day', 'week', 'month'",
    "spend nightly --by hour": "'--by': 'hour' is not one of 'model', 'day'",
    "spend nightly -o xml": "'xml' is not one of 'table', 'json', 'yaml', 'csv', 'chart'",
    "spend nightly --time-zone Tokyo": '--time-zone: "Tokyo" is not a time zone: accepted are IANA names',
    "spend nightly --time-zone ''": '--time-zone: "" is not a time zone',
    "spend nightly --proxy x": '--proxy: "x" is not NAMESPACE/NAME',
    "spend nightly --proxy ''": '--proxy: "" is not NAMESPACE/NAME',
    "spend nightly --proxy a/b/c": '--proxy: "a/b/c" is not NAMESPACE/NAME',
    "spend nightly --scope org --subject acme": "NAME: is given beside --scope",
    "spend --scope team --subject acme": "'--scope': 'team' is not one of 'org', 'user', 'agent'",
    "spend --scope org": "--subject: is missing",
    "spend --subject acme": "--scope: is missing",
    "spend --scope org --subject ''": '--subject: "" is not a name: accepted are',
    "spend --scope org --subject 'a b'": '--subject: "a b" is not a name: accepted are',
    "set-limit": "NAME: is missing: a sandbox, or --scope org|user|agent with --subject ID",
    "set-limit nightly --limit-cents 5": "--period: is missing: day, week or month",
    "set-limit nightly --period year --limit-cents 5": "'--period': 'year' is not one of 'day', 'week', 'month'",
    "set-limit nightly --period month": "--limit-cents: or --clear is needed",
    "set-limit nightly --period month --limit-cents 5 --clear": "--limit-cents: or --clear is needed, one of the two",
    "set-limit nightly --period month --limit-cents 5.5": '--limit-cents: "5.5" is not a whole number of cents',
    "set-limit nightly --period month --limit-cents -5": '--limit-cents: "-5" is not a whole number of cents',
    "set-limit nightly --period month --limit-cents 1e3": '--limit-cents: "1e3" is not a whole number of cents',
    "set-limit nightly --period month --limit-cents 5,000": '--limit-cents: "5,000" is not a whole number of cents',
    "set-limit nightly --period month --limit-cents ''": '--limit-cents: "" is not a whole number of cents',
    f"set-limit nightly --period month --limit-cents {10**11 + 1}": "cents, the highest limit",
    "set-limit nightly --period month --limit-cents 5 --time-zone utc": '--time-zone: "utc" is not a time zone',
    "set-limit nightly --period month --clear --time-zone UTC": "--time-zone: is given beside --clear",
    "set-limit nightly --period month --limit-cents 5 -o table": "'table' is not one of 'text', 'json', 'yaml'",
    "set-limit Nightly --period month --clear": 'NAME: "Nightly" is not a sandbox name',
    "set-limit nightly --scope org --subject a --period day --clear": "NAME: is given beside --scope",
    "set-limit --scope sandbox --subject a --period day --clear": "'--scope': 'sandbox' is not one of",
    "set-limit --scope org --period day --clear": "--subject: is missing",
    "set-limit --scope org --subject -x --period day --clear": '--subject: "-x" is not a name: accepted are',
    "set-limit nightly --period day --period week --clear": "--period: is given twice (day, week): keep one",
    "set-limit nightly --period day --limit-cents 1 --limit-cents 2 --limit-cents 3": "is given 3 times (1, 2, 3)",
    "set-limit --scope org --subject a --subject b --period day --clear": "--subject: is given twice (a, b)",
    "spend --scope org --scope user --subject a": "--scope: is given twice (org, user): keep one",
    "rollback nightly --to-revision 1 --to-revision 2": "--to-revision: is given twice (1, 2): keep one",
    "rotate-key": "missing argument 'NAME'",
    "rotate-key Nightly": 'NAME: "Nightly" is not a sandbox name',
}


@pytest.mark.parametrize("words", CASES)
def test_one_error_names_what_is_wrong(
    words: str, project: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(self: Target, timeout_seconds: float = 30.0) -> None:
        raise AssertionError("the cluster was asked")

    monkeypatch.setattr(Target, "connect", asked)
    before = project.files()
    said = command(*shlex.split(words))
    assert (said.code, said.out, len(said.errors)) == (2, "", 1), said.err
    assert CASES[words] in said.errors[0]
    assert project.files() == before
    assert project.calls == []
