"""The parts of the cluster's driver that need no cluster."""

from __future__ import annotations

import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from devcluster import __main__ as entry
from devcluster import (
    addons,
    cgroups,
    checks,
    cluster,
    components,
    control,
    kubeconfig,
    machine,
    network,
    plan,
    record,
    registry_copy,
)
from devcluster.errors import ClusterError
from devcluster.paths import ClusterFolder, clusters_folder
from devcluster.pki import Authority, token_key
from devcluster.plan import Check, Component
from tests.harness.own_cluster import own_name


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A short path: pytest's own, of a parallel run, is too long for a socket."""
    with tempfile.TemporaryDirectory(prefix="cache-") as folder:
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        yield


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a_b", "a/b", "..", "a" * 21])
def test_unusable_cluster_names_are_refused(name: str) -> None:
    with pytest.raises(ClusterError, match="1 to 20"):
        ClusterFolder(name)


def test_a_folder_too_deep_for_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("x" * 100)))
    with pytest.raises(ClusterError, match="shorter HOME"):
        ClusterFolder("dev")


def test_addresses_follow_from_the_number() -> None:
    addresses = network.Addresses(7)
    assert (addresses.host, addresses.node, addresses.pods) == ("10.250.7.1", "10.250.7.2", "10.251.7.0/24")


def test_the_lowest_free_number_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "numbers_on_host", lambda: {2})
    assert network.first_free({1, 4}) == 3
    with pytest.raises(ClusterError, match="make cluster-down CLUSTER=NAME"):
        network.first_free(set(range(1, 255)))


def test_clusters_get_different_numbers_and_keep_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "numbers_on_host", set)
    one, two = ClusterFolder("one"), ClusterFolder("two")
    for files in (one, two):
        files.root.mkdir(parents=True)
    with record.machine_lock():
        numbers = [record.take(files, Path("/bin")).number for files in (one, two, one)]
    assert numbers == [1, 2, 1]
    assert record.read(two) == record.Record(2, Path("/bin"))


def test_a_number_that_the_host_uses_by_now_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    files = ClusterFolder("one")
    files.root.mkdir(parents=True)
    files.record.write_text('{"number": 3, "bin": "/bin"}')
    monkeypatch.setattr(network, "numbers_on_host", lambda: {3})
    with record.machine_lock():
        assert record.take(files, Path("/bin")).number == 1


def test_a_folder_that_no_cluster_can_have_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped: list[str] = []
    monkeypatch.setattr(cluster, "stop", lambda name, *, delete: stopped.append(name))
    monkeypatch.setattr(cluster.processes, "running_clusters", lambda: {"b"})
    monkeypatch.setattr(cluster.cgroups, "abandoned", lambda: {"b", "Not One"})
    for name in ("a", "Copy of a", "z"):
        (clusters_folder() / name).mkdir(parents=True)
    stray = clusters_folder() / "Copy of a"
    (stray / "cluster.json").write_text('{"number": 1, "bin": "/"}')
    assert record.names() == set()
    monkeypatch.setattr(sys, "argv", ["devcluster", "down"])
    assert entry.main() == 0
    assert stopped == ["a", "b", "z"]
    said = capsys.readouterr()
    assert said.err == f"{stray} is no cluster's folder: left as it is\n"
    assert stray.exists()


def test_groups_of_a_cluster_that_runs_elsewhere_are_not_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, content in {"": "1\n", "sandbox-components-left": "", "sandbox-components-theirs": ""}.items():
        (tmp_path / "pids" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "pids" / folder / "cgroup.procs").write_text(content)
    pod = tmp_path / "pids" / "sandbox-components-theirs" / "kubepods" / "pod1"
    pod.mkdir(parents=True)
    (pod / "cgroup.procs").write_text("4711\n")
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    assert cgroups.abandoned() == {"left"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"number": "x"}'])
def test_a_damaged_record_counts_as_none(text: str) -> None:
    files = ClusterFolder("one")
    files.root.mkdir(parents=True)
    files.record.write_text(text)
    assert record.read(files) is None


def test_certificates_are_signed_by_an_authority_that_is_kept(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "cluster")
    pair = Authority(tmp_path, "cluster").issue("kubelet", "system:node:n", ["system:nodes"], hosts=["10.250.1.2", "n"])
    root = x509.load_pem_x509_certificate(authority.pair.certificate.read_bytes())
    certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
    certificate.verify_directly_issued_by(root)
    subject = certificate.subject
    assert subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "system:node:n"
    assert subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value == "system:nodes"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["n"]
    assert [path.stat().st_mode & 0o777 for path in (pair.key, authority.pair.key)] == [0o600, 0o600]


def test_the_token_key_is_kept(tmp_path: Path) -> None:
    private, _ = token_key(tmp_path)
    before = private.read_bytes()
    token_key(tmp_path)
    assert private.read_bytes() == before


def test_a_kubeconfig_holds_all_it_needs_and_is_private(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "cluster")
    path = tmp_path / "kubeconfig"
    kubeconfig.write(
        path,
        cluster="dev",
        server="https://10.250.1.2:6443",
        authority=authority.pair.certificate,
        user="admin",
        pair=authority.issue("admin", "admin", ["system:masters"]),
    )
    content = yaml.safe_load(path.read_text())
    assert content["current-context"] == "dev"
    assert content["clusters"][0]["cluster"]["server"] == "https://10.250.1.2:6443"
    assert str(tmp_path) not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_plan_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    pair = ("crt", "key")
    written = plan.Plan(
        address="10.250.1.2",
        gateway="10.250.1.1",
        binds=(("/a", "/b"),),
        environment={"PATH": "/bin"},
        components=(
            Component("one", ("true",), once=True),
            Component(
                "two",
                ("sleep", "1"),
                after=(Check(once="one"), Check(socket="/s")),
                health=(Check(url="https://x/", credentials=pair, holds="a"), Check(command=("true",))),
            ),
        ),
    )
    plan.write(written, tmp_path / "plan.json")
    assert plan.read(tmp_path / "plan.json") == written


def test_every_component_waits_only_for_what_there_is() -> None:
    made = components.components(ClusterFolder("dev"), network.Addresses(1), Path("addons.json"))
    once = {one.name for one in made if one.once}
    awaited = {check.once for one in made for check in one.after if check.once}
    assert awaited <= once
    assert len({one.name for one in made}) == len(made)


def test_no_addon_asks_for_processor_time(tmp_path: Path) -> None:
    addons.write(tmp_path / "addons.json")
    text = (tmp_path / "addons.json").read_text()
    assert "requests" not in text
    assert "cpu" not in text


def test_a_registry_copy_shares_blobs_and_nothing_else(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    blob = "docker/registry/v2/blobs/sha256/ab/abcd/data"
    tag = "docker/registry/v2/repositories/busybox/_manifests/tags/1/current/link"
    for name in (blob, tag):
        (source / name).parent.mkdir(parents=True)
        (source / name).write_text("first")
    registry_copy.synchronise(source, target)
    assert (target / blob).stat().st_ino == (source / blob).stat().st_ino
    (target / tag).write_text("pushed by a user")
    assert (source / tag).read_text() == "first"
    own = target / "docker/registry/v2/repositories/mine/_manifests/tags/1/current/link"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    registry_copy.synchronise(source, target)
    assert (target / tag).read_text() == "first"
    assert own.read_text() == "mine"
    assert not list(target.rglob("*.new"))


@pytest.fixture
def web() -> str:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/ok" else 503)
            self.end_headers()
            self.wfile.write(b"all is well")

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "holds", "lacks", "reason"),
    [
        ("/ok", "", "", None),
        ("/ok", "well", "ill", None),
        ("/ok", "ill", "", "ill is missing"),
        ("/ok", "", "well", "still well"),
        ("/no", "", "", "503 all is well"),
    ],
)
def test_a_web_check_says_why_it_fails(web: str, path: str, holds: str, lacks: str, reason: str | None) -> None:
    check = Check(url=web + path, holds=holds, lacks=lacks)
    assert checks.failure(check, lambda _: None) == reason


def test_checks_of_sockets_and_commands(tmp_path: Path) -> None:
    path = tmp_path / "s"
    assert "FileNotFoundError" in (checks.failure(Check(socket=str(path)), lambda _: None) or "")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        assert checks.failure(Check(socket=str(path)), lambda _: None) is None
    assert checks.failure(Check(command=("x",)), lambda command: f"{command[0]} failed") == "x failed"


def test_requests_are_answered_and_refusals_become_errors(tmp_path: Path) -> None:
    path = tmp_path / "c" / "control.sock"
    path.parent.mkdir()

    def answer(request: dict[str, object]) -> dict[str, object]:
        if request["do"] == "fail":
            return {"error": "no"}
        return {"done": request["do"]}

    with pytest.raises(ClusterError, match="doesn't answer"):
        control.ask(path, {"do": "status"})
    threading.Thread(target=control.Server(path, answer).serve, daemon=True).start()
    for _ in range(100):
        if path.exists() and path.stat().st_mode & 0o777 == 0o600:
            break
        threading.Event().wait(0.02)
    assert control.ask(path, {"do": "status"}) == {"done": "status"}
    with pytest.raises(ClusterError, match="cluster c: no"):
        control.ask(path, {"do": "fail"})
    with pytest.raises(ClusterError, match="KeyError"):
        control.ask(path, {})


def test_a_machine_without_root_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match=r"needs root.*SANDBOX_USE_KUBECONFIG=1"):
        machine.require()


def test_a_machine_that_is_not_linux_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    assert machine.reason_against() == "it needs Linux, and this is darwin"


def test_a_machine_without_namespaces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine, "NAMESPACES", ("--no-such-option",))
    assert "namespaces are not allowed" in (machine.reason_against() or "")


def test_two_runs_of_the_tests_have_clusters_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with own_name("test") as first, own_name("test") as second:
        assert (first, second) == ("test", "test-2")
    with own_name("test") as again:
        assert again == "test"
