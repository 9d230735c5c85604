"""`sandbox revisions` and `sandbox diff`, over a history that is told."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import click
import pytest
import yaml

from sandbox_components.cli.commands.diff import command as diff
from sandbox_components.cli.completion import complete_side
from sandbox_components.errors import SandboxError
from sandbox_components.operations import history as opening
from tests.cli.in_process import Answer, Command, Project
from tests.revisions.told import BEGIN, LENGTH, STEP, Told, spec

ENVIRONMENT = {
    "git.head": "1234567890abcdef",
    "git.committer": "Some One",
    "git.committer.email": "one@example.com",
    "git.dirty": "true",
    "ci.system": "GitHub Actions",
    "ci.build.number": "17",
    "ci.build.url": "https://ci.example.com/17",
    "pulumi.version": "v3.274.1",
}


def story() -> Told:
    told = Told()
    first = told.put("nightly", spec("agent:1", env={"LEVEL": "info"})).put("hourly").entry(message="first")
    told.put("nightly", spec("agent:2", env={"LEVEL": "info"})).entry(
        message="Newer agent\n\nwith a body", environment=ENVIRONMENT
    )
    told.put("nightly", spec("agent:none", secretEnv={"names": ["TOKEN"], "secret": "nightly-env-1"}), failed=True)
    told.entry(result="failed")
    told.pins["nightly"] = {"id": first.id, "spec": {"env": {"LEVEL": "info"}}}
    told.put("nightly", spec("agent:1", env={"LEVEL": "info"})).entry(message="rollback")
    return told


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, project: Project) -> Told:
    found = story()
    use(monkeypatch, found)
    monkeypatch.setenv("TZ", "UTC")
    return found


def use(monkeypatch: pytest.MonkeyPatch, found: Told) -> None:
    monkeypatch.setattr(opening, "open_history", lambda engine: found)
    from sandbox_components.operations import difference

    monkeypatch.setattr(difference, "open_history", lambda engine: found)


def clock(entry: int) -> str:
    return (BEGIN + STEP * entry + LENGTH).isoformat(" ", "seconds").replace("+00:00", "Z")


def ok(answer: Answer) -> str:
    assert answer.code == 0, answer.err
    return answer.out


def test_the_table(command: Command, told: Told) -> None:
    answer = command("revisions", "nightly", "--utc")
    assert answer.err == ""
    assert ok(answer).splitlines() == [
        "REVISION   CREATED                CAUSE             IMAGE        CHANGED     MESSAGE",
        f"4 *        {clock(3)}   rollback to 1     agent:1      image,env   rollback",
        f"3          {clock(2)}   update (failed)   agent:none   image,env   <none>",
        f"2          {clock(1)}   update            agent:2      image       Newer agent",
        f"1          {clock(0)}   created           agent:1      <none>      first",
    ]


def test_the_wide_table_and_the_limit(command: Command, told: Told) -> None:
    heads = ["REVISION", "CREATED", "CAUSE", "RESULT", "IMAGE", "CHANGED", "WHO", "ID", "MESSAGE"]
    lines = ok(command("revisions", "nightly", "-o", "wide", "--limit", "3")).splitlines()
    assert lines[0].split() == heads
    assert len(lines) == 4
    assert "GitHub Actions 17 by Some One" in lines[3]
    assert told.entries()[1].id in lines[3]
    assert "failed" in lines[2]


def test_names_are_what_a_rollback_takes(command: Command, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ok(command("revisions", "nightly", "-o", "name")).split() == ["4", "3", "2", "1"]
    rest = told.forget(1)
    use(monkeypatch, rest)
    ids = [entry.id for entry in rest.entries()]
    assert ok(command("revisions", "nightly", "-o", "name")).split() == ids[::-1]


def test_documents(command: Command, told: Told) -> None:
    found = json.loads(ok(command("revisions", "nightly", "-o", "json")))
    assert (found["schemaVersion"], found["kind"]) == (1, "RevisionList")
    assert (found["name"], found["project"], found["stack"]) == ("nightly", "agents", "dev")
    assert found["numbersAreSure"] is True
    assert [one["revisionNum"] for one in found["items"]] == [4, 3, 2, 1]
    last, failed, second, _ = found["items"]
    assert last["current"] is True
    assert last["rollbackTo"] == {"id": told.entries()[0].id, "revisionNum": 1}
    assert failed["result"] == "failed"
    assert second["message"] == "Newer agent\n\nwith a body"
    assert second["who"] == "GitHub Actions 17 by Some One"
    assert second["createdAt"] == clock(1).replace(" ", "T")
    assert second["environment"]["git.head"] == "1234567890abcdef"
    assert yaml.safe_load(ok(command("revisions", "nightly", "-o", "yaml"))) == found


def test_one_revision(command: Command, told: Told) -> None:
    out = ok(command("revisions", "nightly", "--revision", "r2"))
    for text in ("Number:         2", "1234567890abcdef (with changes", "Newer agent\n", "agent:2", "LEVEL: info"):
        assert text in out
    assert "TOKEN: (secret)" in ok(command("revisions", "nightly", "--revision", "3"))
    found = json.loads(ok(command("revisions", "nightly", "--revision", told.entries()[2].id, "-o", "json")))
    assert found["kind"] == "Revision"
    assert found["spec"]["secretEnv"]["names"] == ["TOKEN"]
    assert ok(command("revisions", "nightly", "--revision", "2", "-o", "name")) == "2\n"


@pytest.mark.parametrize(
    ("at", "sentence", "numbers"),
    [
        (BEGIN - STEP, "was not there yet: its first is revision 1", []),
        (BEGIN + LENGTH, "was revision 1", ["1"]),
        (BEGIN + STEP + LENGTH / 2, "was between revision 1 and revision 2: in the update that ran from", ["2", "1"]),
        (BEGIN + STEP * 3 + LENGTH, "was revision 4", ["4"]),
    ],
)
def test_at(command: Command, told: Told, at: datetime, sentence: str, numbers: list[str]) -> None:
    text = at.isoformat()
    answer = command("revisions", "nightly", "--at", text, "-o", "name", "--utc")
    assert answer.out.split() == numbers
    assert sentence in answer.err
    found = json.loads(ok(command("revisions", "nightly", "--at", text, "-o", "json")))
    assert found["kind"] == "RevisionsAt"
    assert found["at"] == text.replace("+00:00", "Z")


def test_a_day(command: Command, told: Told) -> None:
    answer = command("revisions", "nightly", "--at", BEGIN.date().isoformat(), "--utc")
    assert len(ok(answer).splitlines()) == 5
    assert "was revision 1, then revision 2, then revision 3 (failed), then revision 4" in answer.err
    limited = ("revisions", "nightly", "--at", BEGIN.date().isoformat(), "--utc", "--limit", "2")
    assert ok(command(*limited, "-o", "name")).split() == ["4", "3"]
    document = json.loads(ok(command(*limited, "-o", "json")))
    assert [one["revisionNum"] for one in document["items"]] == [3, 4]


def test_a_deleted_sandbox(command: Command, told: Told) -> None:
    told.drop("nightly").entry()
    assert "*" not in ok(command("revisions", "nightly"))
    answer = command("revisions", "nightly", "--at", "now")
    assert (answer.code, answer.out) == (0, "")
    assert "was deleted by" in answer.err
    answer = command("diff", "nightly", "live")
    assert answer.code == 6
    assert "not in stack dev any more" in answer.err


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["nobody"], 6, 'knows no sandbox "nobody"'),
        (["nightl"], 6, "did you mean: nightly"),
        (["Nightly"], 2, "is not a sandbox name"),
        (["nightly", "--revision", "9"], 6, "there are 1 to 4"),
        (["nightly", "--revision", "two"], 2, '--revision: "two" is neither a number'),
        (["nightly", "--revision", "2", "--at", "now"], 2, "leave out --at"),
        (["nightly", "--revision", "2", "--limit", "1"], 2, "leave out --limit"),
        (["nightly", "--limit", "0"], 2, "--limit"),
        (["nightly", "--at", "soon"], 2, "is not a time"),
        (["nightly", "--at", "03/04/2026"], 2, "two ways"),
        (["nightly", "-o", "text"], 2, "--output"),
    ],
)
def test_wrong_words(command: Command, told: Told, words: list[str], code: int, text: str) -> None:
    answer = command("revisions", *words)
    assert (answer.code, answer.out) == (code, "")
    assert text in answer.err


def test_a_stack_without_history(command: Command, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Told())
    answer = command("revisions", "nightly")
    assert answer.code == 6
    assert "has no history" in answer.err


def test_a_lost_beginning_is_told_and_numbers_are_marked(
    command: Command, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = told.forget(1)
    use(monkeypatch, rest)
    answer = command("revisions", "nightly")
    assert "numbers are not sure" in answer.err
    rows = ok(answer).splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["3?", "2?", "1?"]
    assert "before " in rows[-1]
    assert "<unknown>" in rows[-1]
    assert rest.entries()[0].id in rows[-1]
    refused = command("revisions", "nightly", "--revision", "1")
    assert refused.code == 2
    assert rest.entries()[0].id in refused.err
    assert "not sure" in ok(command("revisions", "nightly", "--revision", rest.entries()[0].id))


def test_problems_are_warnings(command: Command, told: Told) -> None:
    told.problems = ["entry 7: broken"]
    told.entry(problem="gone")
    answer = command("revisions", "nightly")
    assert answer.code == 0
    assert "warning: entry 7: broken" in answer.err
    assert "warning: without the checkpoint of" in answer.err


def test_diff_of_the_last_two(command: Command, told: Told) -> None:
    assert ok(command("diff", "nightly")).splitlines() == [
        "nightly: revision 3 → revision 4",
        "  image",
        "    ~ image: agent:none → agent:1",
        "  env",
        "    + env.LEVEL: info",
        "    - env.TOKEN: removed (secret)",
    ]


def test_diff_of_two(command: Command, told: Told) -> None:
    assert "    ~ image: agent:2 → agent:1" in ok(command("diff", "nightly", "2"))
    assert "    ~ image: agent:1 → agent:2" in ok(command("diff", "nightly", "1", "r2"))
    found = json.loads(ok(command("diff", "nightly", "1", told.entries()[2].id, "-o", "json")))
    assert found["kind"] == "RevisionDiff"
    assert (found["from"]["revisionNum"], found["to"]["revisionNum"]) == (1, 3)
    assert found["changed"] == ["image", "env"]
    assert found["fields"][1] == {
        "group": "env",
        "field": "env.LEVEL",
        "operation": "removed",
        "old": "info",
        "new": None,
    }
    assert found["secrets"] == [{"name": "TOKEN", "verdict": "added"}]
    assert found["drift"] is None


def test_diff_of_texts_of_several_lines(command: Command, told: Told) -> None:
    for number in (1, 2):
        told.put("nightly", spec("agent:1", command={"command": f"one\ntwo\nthree\nrun {number}\n"})).entry()
    assert ok(command("diff", "nightly")).splitlines() == [
        "nightly: revision 5 → revision 6",
        "  command",
        "    ~ command:",
        "        @@ -2,3 +2,3 @@",
        "         two",
        "         three",
        "        -run 1",
        "        +run 2",
    ]


def test_nothing_of_others_moves_the_cursor(command: Command, told: Told) -> None:
    told.put("nightly", spec("agent:3", env={"TITLE": "\x1b[2J"})).entry(message="a\x1b]0;b")
    for words in (["revisions", "nightly"], ["revisions", "nightly", "--revision", "5"], ["diff", "nightly"]):
        out = ok(command(*words))
        assert "\x1b" not in out
        assert "\\x1b" in out


@pytest.mark.parametrize(("words", "field"), [(["two"], "FROM"), (["1", "Live"], "TO")])
def test_wrong_sides(command: Command, told: Told, words: list[str], field: str) -> None:
    answer = command("diff", "nightly", *words)
    assert (answer.code, answer.out) == (2, "")
    assert field in answer.errors[0]
    assert "nor an id, nor live" in answer.errors[0]


def test_exit_code(command: Command, told: Told) -> None:
    assert command("diff", "nightly").code == 0
    assert command("diff", "nightly", "--exit-code").code == 1
    answer = command("diff", "nightly", "1", "4", "--exit-code")
    assert (answer.code, "no differences" in answer.out) == (0, True)
    assert command("diff", "nightly", "9", "--exit-code").code == 6
    told.put("nightly", '{"v":2}').entry()
    for words, code in (([], 1), (["--exit-code"], 2)):
        answer = command("diff", "nightly", *words)
        assert answer.code == code
        assert "newer package" in answer.err


def test_diff_of_the_only_revision(command: Command, told: Told) -> None:
    answer = command("diff", "hourly")
    assert answer.code == 6
    assert "has one revision" in answer.err
    assert command("diff", "nightly", "live", "live").code == 2


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (({"TOKEN": "hush-1"}, {"TOKEN": "hush-2"}), "    ~ env.TOKEN: changed (secret)"),
        (({"TOKEN": "hush-1"}, {"TOKEN": "hush-1"}), "    ~ the Secret was made anew, with the same values"),
        (None, "    ? env.TOKEN: unknown (secret)"),
    ],
)
def test_secrets_by_name_alone(
    command: Command,
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
    values: tuple[dict[str, str], dict[str, str]] | None,
    line: str,
) -> None:
    from sandbox_components.operations import old_secrets

    for number in (1, 2):
        told.put("nightly", spec(secretEnv={"names": ["TOKEN"], "secret": f"nightly-env-{number}"})).entry()
    answers: Any = iter(values or ())

    def secrets(*_: object) -> dict[str, str]:
        if values is None:
            raise SandboxError("no passphrase")
        found: dict[str, str] = next(answers)
        return found

    monkeypatch.setattr(old_secrets, "secret_env_of", secrets)
    answer = command("diff", "nightly")
    assert line in ok(answer).splitlines()
    assert "hush" not in answer.out + answer.err
    assert ("no passphrase" in answer.err) == (values is None)


def test_no_engine_is_started(command: Command, told: Told, project: Project) -> None:
    command("revisions", "nightly")
    command("diff", "nightly")
    assert project.calls == []


def test_now_is_read_at_once(command: Command, told: Told) -> None:
    assert datetime.now(UTC).year >= 2026
    assert "was revision 4" in command("revisions", "nightly", "--at", "now").err


def test_completion(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file:///nowhere")

    def completed(typed: str, name: str | None = "nightly") -> list[str]:
        context = click.Context(diff)
        context.params = {"name": name, "stack": "dev", "cwd": "."}
        return [one.value for one in complete_side(context, diff.params[1], typed)]

    assert completed("") == ["4", "3", "2", "1", "live"]
    assert completed("3") == ["3"]
    assert completed("l") == ["live"]
    assert completed("", None) == completed("", "nobody") == ["live"]
    monkeypatch.setenv("PULUMI_BACKEND_URL", "https://api.pulumi.com")
    assert completed("") == ["live"]
