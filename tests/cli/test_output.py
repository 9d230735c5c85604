from __future__ import annotations

from datetime import timedelta

import pytest

from sandbox_components.cli.options import Duration
from sandbox_components.cli.output import age, harmless, print_table, span
from tests.kube.objects import NOW


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-3, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (330, "5m30s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 720, "3h12m"),
        (9 * 3600 + 720, "9h"),
        (47 * 3600, "47h"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (400 * 86400, "400d"),
    ],
)
def test_ages_read_as_kubectls(seconds: int, shown: str) -> None:
    assert span(timedelta(seconds=seconds)) == shown


def test_an_unknown_age_is_said() -> None:
    assert age(None, NOW) == "<unknown>"


def test_a_table_cuts_nothing_and_leaves_no_trailing_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["A", "LONG"], [["x" * 200, "y"], ["z", ""]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "x" * 200 + "   y"
    assert lines[2] == "z"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain ä 日本 🙂", "plain ä 日本 🙂"),
        ("two\nlines", "two\nlines"),
        ("\x1b[2J\x9b31m\a\r", r"\x1b[2J\x9b31m\x07\r"),
        ("abc\u202etxt", r"abc\u202etxt"),
    ],
)
def test_a_terminal_is_sent_no_commands_of_others(written: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert harmless(written) == shown
    print_table(["A"], [[written.replace("\n", " ")]])
    assert capsys.readouterr().out == f"A\n{shown}\n".replace("two\n", "two ")


@pytest.mark.parametrize(
    ("given", "seconds"), [("90s", 90), ("5m", 300), ("2h", 7200), ("1h30m", 5400), ("1.5s", 1.5), ("0s", 0)]
)
def test_durations_are_read(given: str, seconds: float) -> None:
    assert Duration().convert(given, None, None) == timedelta(seconds=seconds)


@pytest.mark.parametrize("given", ["", "5", "5 m", "m", "-5m", "5d", "5m5"])
def test_other_durations_are_refused(given: str) -> None:
    with pytest.raises(Exception, match="is not a duration"):
        Duration().convert(given, None, None)
