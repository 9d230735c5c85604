"""Where the locks of config files lie: a folder that nobody else can put links into."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from sandbox_components.errors import SandboxError
from sandbox_components.operations.config_file import locked


def lock(config: Path) -> None:
    with locked(config, report=lambda line: None) as file:
        assert file.path == config


@pytest.mark.parametrize("kind", ["writable", "link"])
def test_a_folder_of_others_is_not_trusted(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    config = tmp_path / "Pulumi.dev.yaml"
    lock(config)
    folder = tmp_path / f"sandbox-components-locks-{os.getuid()}"
    [made] = folder.iterdir()
    if kind == "writable":
        folder.chmod(0o777)
    else:
        made.unlink()
        folder.rmdir()
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        folder.symlink_to(elsewhere)
    with pytest.raises(SandboxError, match="only you may write into") as caught:
        lock(config)
    assert str(folder) in str(caught.value)
