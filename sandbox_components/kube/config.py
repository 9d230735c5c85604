"""Where the cluster is and who we are there: flags, KUBECONFIG, in-cluster, in that order.

lightkube reads one kubeconfig file; kubectl's users have several joined by `:`, current-context unset, or exec
plugins of the newest API version. That gap is closed here, and every fault of a kubeconfig becomes one clear error.
"""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightkube.config.kubeconfig import SERVICE_ACCOUNT, KubeConfig, SingleConfig
from lightkube.config.models import NameValue, User
from lightkube.core.exceptions import ConfigError

from sandbox_components.errors import InvalidInput, Unreachable

_IN_CONFIG = "kubernetes:kubeconfig"
_FILE_KEYS = {
    "clusters": ("cluster", ("certificate-authority",)),
    "users": ("user", ("client-certificate", "client-key", "tokenFile")),
}


@dataclass(frozen=True)
class Connection:
    """One chosen context of a kubeconfig: what a client needs, and what to tell the user about it."""

    config: SingleConfig
    source: str
    """Where it was read from, in words for messages."""
    proxy: str | None = None

    @property
    def server(self) -> str:
        """URL of the API server."""
        return self.config.cluster.server

    @property
    def namespace(self) -> str | None:
        """Namespace of the context, None when the context names none."""
        return self.config.context.namespace

    @property
    def who(self) -> str:
        """The name to record for who did something: the kubeconfig's user, else the local one."""
        if self.config.context.user:
            return self.config.context.user
        try:
            return f"{getpass.getuser()}@{socket.gethostname()}"
        except (KeyError, OSError):
            return f"uid {os.getuid()}@{socket.gethostname()}"


def load(kubeconfig: str | None = None, context: str | None = None) -> Connection:
    """Choose the cluster: the file of `kubeconfig`, else KUBECONFIG, else ~/.kube/config, else in-cluster.

    Args:
        kubeconfig: path of a kubeconfig file, which must exist; or, as stack config may hold it, its text.
        context: name of the context; the file's current one when not given.

    Raises:
        Unreachable: no kubeconfig was found.
        InvalidInput: a kubeconfig can't be read, or has no such context.
    """
    if kubeconfig and ("\n" in kubeconfig or kubeconfig.lstrip().startswith("{")):
        return _choose([_document(kubeconfig, _IN_CONFIG, Path.cwd())], _IN_CONFIG, context)
    if kubeconfig:
        paths, source = [Path(kubeconfig).expanduser()], kubeconfig
        if not paths[0].is_file():
            raise InvalidInput("--kubeconfig", f'there is no file "{kubeconfig}"')
    elif os.environ.get("KUBECONFIG"):
        named = [entry for entry in os.environ["KUBECONFIG"].split(os.pathsep) if entry]
        paths, source = [Path(entry).expanduser() for entry in named], "KUBECONFIG"
        paths = [path for path in paths if path.is_file()]
        if not paths:
            raise Unreachable(
                f"KUBECONFIG names {os.pathsep.join(named)}, which is not there",
                suggestions=["export KUBECONFIG=PATH of a kubeconfig file", "kubectl config view"],
                code="no_kubeconfig",
            )
    else:
        home = Path("~/.kube/config").expanduser()
        if not home.is_file():
            return _in_cluster()
        paths, source = [home], "~/.kube/config"
    return _choose([_read(path) for path in paths], source, context)


def _choose(documents: list[dict[str, Any]], source: str, context: str | None) -> Connection:
    merged = _merge(documents)
    try:
        single = KubeConfig.from_dict(merged).get(context or merged.get("current-context"))
    except ConfigError as error:
        known = sorted(str(entry.get("name")) for entry in merged.get("contexts") or [])
        raise InvalidInput(
            "--context" if context else source,
            f"{_lower(str(error))}; contexts: {', '.join(known) or '<none>'}",
            suggestions=["kubectl config get-contexts"],
        ) from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(source, f"not a usable kubeconfig: {error!r}") from error
    assert single is not None
    cluster_name = single.context.cluster
    return Connection(_with_user(single), source, proxy=_proxy(merged, cluster_name))


def _in_cluster() -> Connection:
    if not (Path(SERVICE_ACCOUNT) / "token").is_file():
        raise Unreachable(
            "there is no kubeconfig: neither --kubeconfig, KUBECONFIG nor ~/.kube/config",
            suggestions=["export KUBECONFIG=PATH", "sandbox --help"],
            code="no_kubeconfig",
        )
    try:
        config = KubeConfig.from_service_account()
    except (ConfigError, KeyError) as error:
        raise Unreachable(f"the pod's service account can't be used: {error}", code="no_kubeconfig") from error
    single = config.get()
    assert single is not None
    return Connection(single, "the pod's service account")


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(str(path), f"can't be read as a kubeconfig: {error}") from error
    return _document(text, str(path), path.resolve().parent)


def _document(text: str, source: str, folder: Path) -> dict[str, Any]:
    """Read one kubeconfig; no error shows what is in it, for it holds credentials.

    Args:
        text: YAML or JSON.
        source: what errors call it.
        folder: that its file names are relative to.
    """
    import yaml

    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise InvalidInput(source, f"can't be read as a kubeconfig: it is not YAML{where}") from None
    if not isinstance(document, dict | None):
        raise InvalidInput(source, "is not a kubeconfig: it holds no mapping")
    document = document or {}
    for key in ("clusters", "users", "contexts"):
        entries = document.get(key) or []
        if not isinstance(entries, list) or not all(isinstance(e, dict) and "name" in e for e in entries):
            raise InvalidInput(source, f'is not a kubeconfig: "{key}" is no list of named entries')
        _make_absolute(entries, key, folder)
        document[key] = entries
    return document


def _merge(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Join several kubeconfigs as kubectl does: the first to name something wins."""
    merged: dict[str, Any] = {"clusters": [], "users": [], "contexts": []}
    for document in documents:
        for key in ("clusters", "users", "contexts"):
            known = {entry["name"] for entry in merged[key]}
            merged[key] += [entry for entry in document[key] if entry["name"] not in known]
        if document.get("current-context") and not merged.get("current-context"):
            merged["current-context"] = document["current-context"]
    return merged


def _make_absolute(entries: list[dict[str, Any]], key: str, folder: Path) -> None:
    """Turn file names, which are relative to their own kubeconfig, into absolute ones before files are joined."""
    inner, fields = _FILE_KEYS.get(key, ("", ()))
    for entry in entries:
        settings = entry.get(inner)
        for field in fields:
            if isinstance(settings, dict) and settings.get(field):
                settings[field] = str(folder / settings[field])


def _with_user(single: SingleConfig) -> SingleConfig:
    """Give a context without credentials an empty user, and a v1 exec plugin a version that lightkube runs.

    An exec plugin answers `status.token` in v1 just as in v1beta1; it asks for KUBERNETES_EXEC_INFO.
    """
    user = single.user or User()
    if user.exec is not None:
        version = user.exec.apiVersion
        info = f'{{"apiVersion":"{version}","kind":"ExecCredential","spec":{{"interactive":false}}}}'
        user.exec.env = [*(user.exec.env or []), NameValue("KUBERNETES_EXEC_INFO", info)]
        if version == "client.authentication.k8s.io/v1":
            user.exec.apiVersion = "client.authentication.k8s.io/v1beta1"
    return single._replace(user=user)


def _proxy(merged: dict[str, Any], cluster: str) -> str | None:
    for entry in merged.get("clusters") or []:
        if entry["name"] == cluster:
            proxy = (entry.get("cluster") or {}).get("proxy-url")
            return str(proxy) if proxy else None
    return None


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
