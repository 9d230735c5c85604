"""The layers of design, as import-linter reads them from pyproject.toml, and a word on what each may import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PACKAGE = TOP / "sandbox_components"


def test_contracts() -> None:
    from importlinter.cli import lint_imports

    assert lint_imports(config_filename=str(TOP / "pyproject.toml"), no_cache=True, is_debug_mode=False) == 0


def _loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


PURE = ["naming", "shown"]


@pytest.mark.parametrize("module", PURE)
def test_names_cost_no_model_library(module: str) -> None:
    """The command looks sandboxes up by label; that must not import the models."""
    assert "pydantic" not in _loaded_by(f"import sandbox_components.spec.{module}")


def test_pure_layers_import_no_client_and_no_engine() -> None:
    modules = [f"sandbox_components.{layer}.{file.stem}" for layer in ("spec", "manifests") for file in _files(layer)]
    loaded = _loaded_by("; ".join(f"import {module}" for module in modules))
    assert not loaded & {"pulumi", "lightkube", "click", "sqlalchemy", "httpx", "httpx2", "starlette", "ruamel.yaml"}


def _files(layer: str) -> list[Path]:
    return [file for file in (PACKAGE / layer).glob("*.py") if file.stem != "__init__"]


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_modules_say_why_they_exist_and_stay_short(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith('"""')
    assert len(text.splitlines()) <= 500
    assert file.stem not in {"utils", "helpers", "common", "manager"}
