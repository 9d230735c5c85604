"""One validation, one clear error: each malformed request names its field, and no error shows an env value."""

from __future__ import annotations

import json

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.sandbox import read_sandbox
from tests.spec.malformed import BASE, MALFORMED, MALFORMED_KEYS, SECRET, Malformed


def test_the_table_is_long_and_its_ids_differ() -> None:
    assert len(MALFORMED) >= 170
    assert len({one.id for one in MALFORMED}) == len(MALFORMED)
    read_sandbox(BASE)


def test_entries_survive_json() -> None:
    for case in MALFORMED:
        assert json.loads(json.dumps(case.data)) == case.data


@pytest.mark.parametrize("case", [*MALFORMED, *MALFORMED_KEYS], ids=lambda case: case.id)
def test_one_clear_error(case: Malformed) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_sandbox(case.data)
    error = caught.value
    assert error.field.startswith(case.field)
    assert case.says in error.problem
    assert SECRET not in str(error)
    assert SECRET not in " ".join(error.suggestions)
    assert len(str(error)) < 700
    assert "\n" not in str(error)
    assert error.exit_code == 2
    assert error.__suppress_context__ or error.__context__ is None


@pytest.mark.parametrize("case", MALFORMED[::7], ids=lambda case: case.id)
def test_fields_stand_below_the_path_of_the_door(case: Malformed) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_sandbox(case.data, "sandboxes.nightly")
    assert caught.value.field.startswith(f"sandboxes.nightly.{case.field}")


@pytest.mark.parametrize("data", [None, [], "x", 5, True], ids=repr)
def test_no_mapping_at_all(data: object) -> None:
    with pytest.raises(InvalidInput, match="is not a mapping with image, resourceLimits and more"):
        read_sandbox(data, "-f request.json")
