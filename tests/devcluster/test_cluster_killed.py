"""Killing the driver and the cluster's first process at random moments, and what is left afterwards."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster import cgroups, network, processes, record
from devcluster import cluster as clusters
from devcluster.paths import ClusterFolder
from tests.harness.own_cluster import own

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

NAME = "killed"
CHECKOUT = Path(__file__).parents[2]
# A start takes about ten seconds; later moments hit a cluster in use.
LONGEST_SECONDS = 12.0


@pytest.fixture(scope="module")
def material() -> tuple[Path, Path]:
    """Programs and images; whatever has to be built is built here, and not killed."""
    return clusters._material()


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    """No other run of the tests kills a cluster of this name meanwhile."""
    with own(NAME):
        yield


@pytest.fixture(autouse=True)
def nothing_afterwards(material: tuple[Path, Path]) -> Iterator[None]:
    yield
    clusters.stop(NAME)


def remains() -> list[str]:
    """Everything of the cluster that can be found on the machine."""
    files = ClusterFolder(NAME)
    mark = str(files.root)
    found = [f"folder {files.root}"] if files.root.exists() else []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in command:
            found.append(f"process {process.name} {command[:100]}")
    found += [f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines() if mark in line]
    for tree in cgroups.hierarchies():
        found += [f"control group {path}" for path in tree.glob(cgroups.group_name(NAME))]
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout
    found += [f"rule {line}" for line in rules.splitlines() if "KUBE" in line]
    return found


def kill_a_start(moment: float) -> None:
    """Run `up` as a process of its own and kill it after `moment` seconds, if it still runs."""
    driver = subprocess.Popen(
        [sys.executable, "-m", "devcluster", "up", NAME],
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        driver.wait(moment)
    except subprocess.TimeoutExpired:
        driver.kill()
        driver.wait()


def kill_first_process(choice: random.Random) -> None:
    found = processes.find(ClusterFolder(NAME).root)
    alive = [pid for pid in (found.outer, found.inner) if pid is not None]
    if alive:
        os.kill(choice.choice(alive), signal.SIGKILL)


def one_round(seed: int) -> None:
    choice = random.Random(seed)
    kill_a_start(choice.uniform(0.05, LONGEST_SECONDS))
    if choice.random() < 0.5:
        kill_first_process(choice)
    if choice.random() < 0.5:
        clusters.start(NAME).wait_healthy()
        if choice.random() < 0.5:
            kill_first_process(choice)
    taken = record.read(ClusterFolder(NAME))
    clusters.stop(NAME)
    assert remains() == []
    assert taken is None or not network.exists(taken.addresses.host_device)


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_left_after_a_kill(seed: int) -> None:
    one_round(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10, 20))
def test_nothing_is_left_after_ten_kills(seed: int) -> None:
    one_round(seed)


def test_a_cluster_goes_on_with_its_data_after_its_first_process_was_killed() -> None:
    cluster = clusters.start(NAME)
    kubectl = [str(cluster.bin / "kubectl"), f"--kubeconfig={cluster.kubeconfig}"]
    subprocess.run([*kubectl, "create", "configmap", "kept"], check=True, capture_output=True)
    outer = processes.find(cluster.folder).outer
    assert outer is not None
    os.kill(outer, signal.SIGKILL)
    for _ in range(100):
        if clusters.find(NAME) is None:
            break
        time.sleep(0.05)
    assert clusters.status(NAME) is None
    again = clusters.start(NAME)
    assert again.number == cluster.number
    subprocess.run([*kubectl, "get", "configmap", "kept"], check=True, capture_output=True)


def test_a_component_that_cannot_run_is_named_with_its_log(
    material: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, images = material
    for program in folder.iterdir():
        (tmp_path / program.name).symlink_to(program.resolve())
    broken = tmp_path / "kube-scheduler"
    broken.unlink()
    broken.write_text("#!/bin/sh\necho this one is broken >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(clusters, "_material", lambda: (tmp_path, images))
    with pytest.raises(clusters.ClusterError, match=r"(?s)kube-scheduler keeps ending.*this one is broken"):
        clusters.start(NAME)
    assert clusters.find(NAME) is None
