"""The configuration files of the node's programs. JSON where the program reads YAML: it is YAML too."""

from __future__ import annotations

import json
from pathlib import Path

from devcluster import cgroups
from devcluster.errors import ClusterError
from devcluster.network import Addresses
from devcluster.paths import ClusterFolder

DNS_ADDRESS = "10.96.0.10"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PLUGIN_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin")
PAUSE_IMAGE = "localhost:5000/pause:1"
BUSYBOX_IMAGE = "localhost:5000/busybox:1"

# localhost is plain HTTP to containerd. restrict_oom_score_adj: a machine may forbid to lower the score
# below the caller's own, and then no pod would start.
CONTAINERD = """\
version = 2
root = "{root}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{root}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{networks}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""


def write(folder: ClusterFolder, addresses: Addresses) -> None:
    """Write all of them into the cluster's config folder."""
    networks = folder.config / "networks"
    networks.mkdir(parents=True, exist_ok=True)
    _json(networks / "10-pods.conflist", _pod_network(addresses))
    (folder.config / "containerd.toml").write_text(
        CONTAINERD.format(
            root=folder.containerd,
            socket=CONTAINERD_SOCKET,
            pause=PAUSE_IMAGE,
            plugins=_plugin_folder(),
            networks=networks,
        )
    )
    _json(folder.config / "kubelet.json", _kubelet(folder))
    _json(folder.config / "registry.json", _registry(folder))
    node_paths = [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [str(folder.volumes)]}]
    _json(folder.config / "local-path.json", {"nodePathMap": node_paths})
    _json(folder.config / "local-path-pod.json", _local_path_pod())


def _json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1))


def _plugin_folder() -> str:
    for folder in PLUGIN_FOLDERS:
        if Path(folder, "bridge").exists():
            return folder
    raise ClusterError(
        f"no network plugins in {' or '.join(PLUGIN_FOLDERS)}: apt-get install containernetworking-plugins"
    )


def _pod_network(addresses: Addresses) -> dict[str, object]:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            # Gone with the processes, as the addresses are.
            "dataDir": "/run/pod-addresses",
            "ranges": [[{"subnet": addresses.pods}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}


def _kubelet(folder: ClusterFolder) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(folder.pki / "cluster.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(folder.pki / "kubelet.crt"),
        "tlsPrivateKeyFile": str(folder.pki / "kubelet.key"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": "/" + cgroups.group_name(folder.name),
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        # All of the machine is for pods: nothing is kept back from the node's allocatable resources.
        "enforceNodeAllocatable": [],
        "oomScoreAdj": 0,
        # Evict only just before the machine itself fails, and never throw images away.
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
        "registryPullQPS": 0,
        "syncFrequency": "10s",
        "nodeStatusUpdateFrequency": "5s",
        "shutdownGracePeriod": "0s",
    }


def _registry(folder: ClusterFolder) -> dict[str, object]:
    return {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(folder.registry)},
            "delete": {"enabled": True},
            "maintenance": {"uploadpurging": {"enabled": False}},
        },
        "http": {"addr": "0.0.0.0:5000"},
    }


def _local_path_pod() -> dict[str, object]:
    container = {"name": "helper-pod", "image": BUSYBOX_IMAGE, "imagePullPolicy": "IfNotPresent"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "helper-pod"},
        "spec": {
            "priorityClassName": "system-node-critical",
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
        },
    }
