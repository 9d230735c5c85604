"""What an inference proxy is started with: its settings file in a ConfigMap, all that is secret in a Secret.

Both have made-up names: what changes has a new name, and so the pods are made anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.spec.proxy import ProxySpec

SETTINGS_FOLDER = "/etc/sandbox-proxy/settings"
KEYS_FOLDER = "/etc/sandbox-proxy/keys"
SETTINGS_FILE = "settings.yaml"
DATA_FOLDER = "/data"
SIGNING_KEY, DATABASE_URL = "signing-key", "database-url"


def upstream_key(name: str) -> str:
    """Return under what an upstream's key stands in the Secret."""
    return f"upstream-{name}"


def settings(placement: Placement, spec: ProxySpec) -> dict[str, Any]:
    """Return the settings file's content; secrets are named by their files."""
    database: dict[str, str] = {"url": f"sqlite:///{DATA_FOLDER}/ledger.sqlite"}
    if spec.is_postgres:
        database = {"file": f"{KEYS_FOLDER}/{DATABASE_URL}"}
    found: dict[str, Any] = {
        "listen": f"0.0.0.0:{spec.port}",
        "admin": f"0.0.0.0:{spec.admin_port}",
        "database": database,
        "signingKey": {"file": f"{KEYS_FOLDER}/{SIGNING_KEY}"},
        "source": {"namespace": placement.namespace},
        "upstreams": [
            {
                "name": one.name,
                "api": one.api,
                "baseUrl": one.base_url,
                "key": {"file": f"{KEYS_FOLDER}/{upstream_key(one.name)}"},
                "models": list(one.models),
            }
            for one in spec.upstreams
        ],
    }
    optional = {"limits": spec.request_limits, "timeouts": spec.timeouts, "prices": spec.prices}
    return found | {key: value for key, value in optional.items() if value}


def settings_config_map(placement: Placement, spec: ProxySpec) -> Manifest:
    """Return the ConfigMap of the settings file; JSON is YAML too."""
    text = json.dumps(settings(placement, spec), indent=2, sort_keys=True) + "\n"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": placement.metadata(None),
        "data": {SETTINGS_FILE: text},
    }


def keys_secret(placement: Placement, values: Mapping[str, Any]) -> Manifest:
    """Return the Secret of the signing key, the providers' keys and the data base's URL."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": placement.metadata(None),
        "type": "Opaque",
        "stringData": dict(values),
    }
