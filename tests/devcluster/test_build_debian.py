"""When `devcluster.debian` installs, and what it says when it can't."""

from __future__ import annotations

from pathlib import Path

import pytest

from devcluster import debian
from devcluster.debian import Package

MISSING = Package("some-package", ("surely-not-a-program",), services=("some.service",))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without the package, with an apt-get that makes its program and writes down how it was called."""
    apt = tmp_path / "apt-get"
    made = tmp_path / "surely-not-a-program"
    apt.write_text(f"""#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >> {tmp_path}/calls
cat {tmp_path}/policy >> {tmp_path}/policy-seen
case "$*" in *install*) echo '#!/bin/sh' > {made}; chmod 755 {made} ;; esac
""")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(debian, "PACKAGES", (MISSING, Package("shell", ("sh",))))
    monkeypatch.setattr(debian, "POLICY", tmp_path / "policy")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(debian.os, "geteuid", lambda: 0)
    monkeypatch.setattr(debian, "_disable", lambda service: (tmp_path / "disabled").write_text(service))
    return tmp_path


def test_installs_only_what_is_missing_and_starts_no_service(machine: Path) -> None:
    (machine / "policy").write_text("before")
    assert debian.install_debian_packages() == ["some-package"]
    [call] = (machine / "calls").read_text().splitlines()
    assert call.startswith("noninteractive -y")
    assert call.endswith("install --no-install-recommends some-package")
    assert "exit 101" in (machine / "policy-seen").read_text()
    assert (machine / "policy").read_text() == "before"
    assert (machine / "disabled").read_text() == "some.service"
    assert debian.install_debian_packages() == []


def test_takes_the_policy_away_again(machine: Path) -> None:
    debian.install_debian_packages()
    assert not (machine / "policy").exists()


def test_takes_away_the_policy_that_a_killed_run_has_left(machine: Path) -> None:
    (machine / "policy").write_text(debian.DENY_ALL)
    debian.install_debian_packages()
    assert not (machine / "policy").exists()


def test_says_what_to_do_without_root(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian.os, "geteuid", lambda: 1000)
    with pytest.raises(debian.DebianError, match="have root run: apt-get install some-package"):
        debian.install_debian_packages()


def test_says_so_without_apt(machine: Path) -> None:
    (machine / "apt-get").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(debian.shutil, "which", lambda *_, **__: None)
        with pytest.raises(debian.DebianError, match=r"missing: some-package.*no apt-get here"):
            debian.install_debian_packages(["some-package"])


def test_shows_the_end_of_a_failed_installation(machine: Path) -> None:
    (machine / "apt-get").write_text("#!/bin/sh\necho E: no such package; exit 100\n")
    with pytest.raises(debian.DebianError, match="E: no such package"):
        debian.install_debian_packages()
