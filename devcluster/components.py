"""The programs of the node: their command lines, what each waits for, how its health shows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from devcluster import kubeconfig
from devcluster.network import Addresses
from devcluster.node_files import CONTAINERD_SOCKET
from devcluster.paths import ClusterFolder
from devcluster.pki import Authority, token_key
from devcluster.plan import Check, Component

SERVICES = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"
API = "https://127.0.0.1:6443"
ETCD = "https://127.0.0.1:2379"
ADMINISTRATORS = "system:masters"

# Users of the components that talk to the API server; the API server grants the system: ones their
# rights by itself, addons.py the others.
USERS = {
    "kube-controller-manager": "system:kube-controller-manager",
    "kube-scheduler": "system:kube-scheduler",
    "kube-proxy": "system:kube-proxy",
    "kube-router": "kube-router",
    "local-path-provisioner": "local-path-provisioner",
}


def node_name(cluster: str) -> str:
    """The name of the cluster's one node."""
    return f"node-{cluster}"


def write_credentials(folder: ClusterFolder, addresses: Addresses) -> None:
    """Make all keys, certificates and kubeconfigs, the administrator's among them."""
    cluster = Authority(folder.pki, "cluster")
    etcd = Authority(folder.pki, "etcd-authority")
    token_key(folder.pki)
    node = node_name(folder.name)
    service_names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    service_names.append("kubernetes.default.svc.cluster.local")
    cluster.issue(
        "kube-apiserver",
        "kube-apiserver",
        hosts=["127.0.0.1", addresses.node, API_SERVICE, "localhost", *service_names],
    )
    cluster.issue("kube-apiserver-to-kubelet", "kube-apiserver-to-kubelet", [ADMINISTRATORS])
    etcd.issue("etcd", "etcd", hosts=["127.0.0.1", "localhost"])
    etcd.issue("kube-apiserver-to-etcd", "kube-apiserver")
    pairs = {name: cluster.issue(name, user) for name, user in USERS.items()}
    pairs["kubelet"] = cluster.issue("kubelet", f"system:node:{node}", ["system:nodes"], hosts=[addresses.node, node])
    pairs["admin"] = cluster.issue("admin", "admin", [ADMINISTRATORS])
    for name, pair in pairs.items():
        kubeconfig.write(
            folder.pki / f"{name}.kubeconfig",
            cluster=folder.name,
            server=API,
            authority=cluster.pair.certificate,
            user=name,
            pair=pair,
        )
    kubeconfig.write(
        folder.kubeconfig,
        cluster=folder.name,
        server=api_address(addresses),
        authority=cluster.pair.certificate,
        user="admin",
        pair=pairs["admin"],
    )


def api_address(addresses: Addresses) -> str:
    """The API server's address as the host sees it."""
    return f"https://{addresses.node}:6443"


def components(folder: ClusterFolder, addresses: Addresses, addons: Path) -> tuple[Component, ...]:
    """All programs of the node.

    Args:
        folder: the cluster's.
        addresses: the cluster's.
        addons: the file with the objects that every cluster has.
    """
    node = node_name(folder.name)
    api_ready = _api(folder, "/readyz")
    registered = _api(folder, f"/api/v1/nodes/{node}")
    usable = dataclasses.replace(
        registered, holds='"type":"Ready","status":"True"', lacks="node.kubernetes.io/not-ready"
    )
    # A kubelet that was started again says that it is healthy before it knows its pods, and refuses exec and logs.
    informed = dataclasses.replace(registered, url=f"https://{addresses.node}:10250/pods", holds='"k8s-app":"kube-dns"')
    dns = _api(folder, "/api/v1/namespaces/kube-system/services/http:kube-dns:ready/proxy/ready")
    account = _api(folder, "/api/v1/namespaces/default/serviceaccounts/default")
    containerd = Check(socket=CONTAINERD_SOCKET)
    registry = Check(url="http://127.0.0.1:5000/v2/")
    added = Check(once="addons")
    return (
        Component("etcd", _etcd(folder), health=(Check(url="http://127.0.0.1:2381/health"),)),
        Component(
            "kube-apiserver",
            _api_server(folder, addresses),
            after=(Check(url="http://127.0.0.1:2381/health"),),
            health=(api_ready,),
        ),
        Component("registry", _registry(folder), health=(registry,)),
        Component("containerd", ("containerd", "--config", _config(folder, "containerd.toml")), health=(containerd,)),
        Component(
            "kube-controller-manager",
            _controller_manager(folder),
            after=(api_ready,),
            health=(Check(url="https://127.0.0.1:10257/healthz"), account),
        ),
        Component(
            "kube-scheduler",
            ("kube-scheduler", "--kubeconfig", _kubeconfig(folder, "kube-scheduler"), "--leader-elect=false"),
            after=(api_ready,),
            health=(Check(url="https://127.0.0.1:10259/healthz"),),
        ),
        Component("addons", _apply(folder, addons), after=(api_ready,), health=(dns,), once=True),
        Component(
            "kubelet",
            _kubelet(folder, addresses),
            after=(containerd, registry, api_ready),
            health=(Check(url="http://127.0.0.1:10248/healthz"), usable, informed),
        ),
        Component(
            "kube-proxy",
            _kube_proxy(folder, addresses),
            after=(api_ready,),
            health=(Check(url="http://127.0.0.1:10256/healthz"),),
        ),
        Component(
            "kube-router",
            _kube_router(folder),
            # It ends at once on a node that isn't there yet, and then nobody enforces any policy.
            after=(added, registered),
            health=(
                Check(url="http://127.0.0.1:20244/healthz"),
                Check(command=("iptables", "--wait", "2", "--list-rules", "KUBE-ROUTER-FORWARD")),
            ),
        ),
        Component("local-path-provisioner", _local_path(folder), after=(added, account)),
    )


def _config(folder: ClusterFolder, name: str) -> str:
    return str(folder.config / name)


def _kubeconfig(folder: ClusterFolder, name: str) -> str:
    return str(folder.pki / f"{name}.kubeconfig")


def _api(folder: ClusterFolder, path: str) -> Check:
    return Check(
        url=API + path,
        credentials=(str(folder.pki / "admin.crt"), str(folder.pki / "admin.key")),
        authority=str(folder.pki / "cluster.crt"),
    )


def _etcd(folder: ClusterFolder) -> tuple[str, ...]:
    pki = folder.pki
    return (
        "etcd",
        f"--data-dir={folder.etcd}",
        "--name=default",
        f"--listen-client-urls={ETCD}",
        f"--advertise-client-urls={ETCD}",
        "--listen-peer-urls=https://127.0.0.1:2380",
        "--listen-metrics-urls=http://127.0.0.1:2381",
        f"--cert-file={pki}/etcd.crt",
        f"--key-file={pki}/etcd.key",
        "--client-cert-auth",
        f"--trusted-ca-file={pki}/etcd-authority.crt",
        f"--peer-cert-file={pki}/etcd.crt",
        f"--peer-key-file={pki}/etcd.key",
        "--peer-client-cert-auth",
        f"--peer-trusted-ca-file={pki}/etcd-authority.crt",
        "--log-level=warn",
        # The only member elects itself; by default it first waits more than a second for others.
        "--heartbeat-interval=10",
        "--election-timeout=100",
        # Losing the last second with the machine's power is fine for a cluster to try things on.
        "--unsafe-no-fsync",
    )


def _api_server(folder: ClusterFolder, addresses: Addresses) -> tuple[str, ...]:
    pki = folder.pki
    return (
        "kube-apiserver",
        f"--etcd-servers={ETCD}",
        f"--etcd-cafile={pki}/etcd-authority.crt",
        f"--etcd-certfile={pki}/kube-apiserver-to-etcd.crt",
        f"--etcd-keyfile={pki}/kube-apiserver-to-etcd.key",
        "--bind-address=0.0.0.0",
        "--secure-port=6443",
        f"--advertise-address={addresses.node}",
        f"--tls-cert-file={pki}/kube-apiserver.crt",
        f"--tls-private-key-file={pki}/kube-apiserver.key",
        f"--client-ca-file={pki}/cluster.crt",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={pki}/service-accounts.pub",
        f"--service-account-signing-key-file={pki}/service-accounts.key",
        f"--service-cluster-ip-range={SERVICES}",
        "--allow-privileged",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={pki}/cluster.crt",
        f"--kubelet-client-certificate={pki}/kube-apiserver-to-kubelet.crt",
        f"--kubelet-client-key={pki}/kube-apiserver-to-kubelet.key",
    )


def _controller_manager(folder: ClusterFolder) -> tuple[str, ...]:
    pki = folder.pki
    return (
        "kube-controller-manager",
        f"--kubeconfig={_kubeconfig(folder, 'kube-controller-manager')}",
        f"--service-account-private-key-file={pki}/service-accounts.key",
        f"--root-ca-file={pki}/cluster.crt",
        f"--cluster-signing-cert-file={pki}/cluster.crt",
        f"--cluster-signing-key-file={pki}/cluster.key",
        "--use-service-account-credentials",
        # Held to the default of 20 requests a second it takes six seconds to start its controllers.
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--leader-elect=false",
    )


def _registry(folder: ClusterFolder) -> tuple[str, ...]:
    return ("docker-registry", "serve", _config(folder, "registry.json"))


def _apply(folder: ClusterFolder, addons: Path) -> tuple[str, ...]:
    return (
        "kubectl",
        f"--kubeconfig={_kubeconfig(folder, 'admin')}",
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=devcluster",
        "--validate=false",
        f"--filename={addons}",
    )


def _kubelet(folder: ClusterFolder, addresses: Addresses) -> tuple[str, ...]:
    return (
        "kubelet",
        f"--config={_config(folder, 'kubelet.json')}",
        f"--kubeconfig={_kubeconfig(folder, 'kubelet')}",
        "--root-dir=/var/lib/kubelet",
        f"--hostname-override={node_name(folder.name)}",
        f"--node-ip={addresses.node}",
    )


def _kube_proxy(folder: ClusterFolder, addresses: Addresses) -> tuple[str, ...]:
    return (
        "kube-proxy",
        f"--kubeconfig={_kubeconfig(folder, 'kube-proxy')}",
        f"--hostname-override={node_name(folder.name)}",
        "--proxy-mode=iptables",
        f"--cluster-cidr={addresses.pods}",
        # These limits belong to the whole machine, and the cluster leaves the machine alone.
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
    )


def _kube_router(folder: ClusterFolder) -> tuple[str, ...]:
    return (
        "kube-router",
        f"--kubeconfig={_kubeconfig(folder, 'kube-router')}",
        f"--hostname-override={node_name(folder.name)}",
        "--run-firewall=true",
        "--run-router=false",
        "--run-service-proxy=false",
        f"--service-cluster-ip-range={SERVICES}",
    )


def _local_path(folder: ClusterFolder) -> tuple[str, ...]:
    return (
        "local-path-provisioner",
        "start",
        f"--config={_config(folder, 'local-path.json')}",
        f"--kubeconfig={_kubeconfig(folder, 'local-path-provisioner')}",
        "--namespace=local-path-storage",
        f"--helper-pod-file={_config(folder, 'local-path-pod.json')}",
    )
