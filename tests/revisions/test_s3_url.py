"""Pulumi's URLs of buckets, and where the credentials come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.revisions.s3_url import S3Url


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No variable and no file of the user's own; the folder that stands for the home."""
    import os

    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(home: Path, credentials: str = "", config: str = "") -> None:
    (home / ".aws").mkdir()
    (home / ".aws" / "credentials").write_text(credentials)
    (home / ".aws" / "config").write_text(config)


def test_a_bucket_alone() -> None:
    found = S3Url.read("s3://state")
    assert (found.bucket, found.prefix, dict(found.options), found.is_plain) == ("state", "", {}, False)
    assert found.text == "s3://state"


@pytest.mark.parametrize(
    ("path", "prefix"),
    [("/", ""), ("/team", "team"), ("/team/a%20b/", "team/a b"), ("//team", "team")],
)
def test_the_prefix(path: str, prefix: str) -> None:
    assert S3Url.read(f"s3://state{path}").prefix == prefix


@pytest.mark.parametrize(
    ("query", "endpoint", "is_virtual"),
    [
        ("endpoint=https://s3.example.org&s3ForcePathStyle=true", "https://s3.example.org", False),
        ("endpoint=https://s3.example.org&use_path_style=1", "https://s3.example.org", False),
        ("endpoint=https://s3.example.org/&hostname_immutable=true", "https://s3.example.org", False),
        ("endpoint=https://s3.example.org", "https://state.s3.example.org", True),
        ("endpoint=minio:9000&disableSSL=true&s3ForcePathStyle=true", "http://minio:9000", False),
        ("endpoint=minio:9000&s3ForcePathStyle=true", "https://minio:9000", False),
        ("endpoint=minio:9000&s3ForcePathStyle=true&disable_https=true", "http://minio:9000", False),
        ("endpoint=https://minio:9000&s3ForcePathStyle=true&disableSSL=true", "https://minio:9000", False),
        ("endpoint=https://minio:9000&s3ForcePathStyle=true&disable_https=true", "http://minio:9000", False),
        ("endpoint=http://127.0.0.1:5000", "http://127.0.0.1:5000", False),
        ("endpoint=http://[::1]:5000", "http://[::1]:5000", False),
    ],
)
def test_endpoints(query: str, endpoint: str, is_virtual: bool) -> None:
    found = S3Url.read(f"s3://state?{query}")
    assert found.options["endpoint"] == found.options["aws_endpoint_url_s3"] == endpoint
    assert found.options.get("virtual_hosted_style_request", False) is is_virtual
    assert found.is_plain is endpoint.startswith("http:")


def test_the_endpoint_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert S3Url.read("s3://state").options["endpoint"] == "http://127.0.0.1:1"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:2")
    assert S3Url.read("s3://state").options["endpoint"] == "http://127.0.0.1:2"
    assert S3Url.read("s3://state?endpoint=http://127.0.0.1:3").options["endpoint"] == "http://127.0.0.1:3"


def test_the_region(monkeypatch: pytest.MonkeyPatch, environment: Path) -> None:
    write(environment, config="[default]\nregion = eu-north-1\n")
    assert S3Url.read("s3://state").options["region"] == "eu-north-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert S3Url.read("s3://state").options["region"] == "eu-west-1"
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert S3Url.read("s3://state").options["region"] == "eu-west-2"
    assert S3Url.read("s3://state?region=eu-west-3").options["region"] == "eu-west-3"


def test_what_has_no_meaning_for_reading() -> None:
    query = (
        "awssdk=v2&ssetype=AES256&kmskeyid=k&accelerate=true&dualstack=true&request_checksum_calculation=when_required"
    )
    assert dict(S3Url.read(f"s3://state?{query}&fips=false&role=false").options) == {}


def test_no_signature() -> None:
    assert S3Url.read("s3://state?anonymous=true").options["skip_signature"] is True


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("s3://", "names no bucket"),
        ("s3:///team", "names no bucket"),
        ("s3://state?regoin=x", r"state\?regoin: isn't known; accepted are region, endpoint"),
        ("s3://state?s3ForcePathStyle=yes", 's3ForcePathStyle: "yes" is neither true nor false'),
        ("s3://state?disableSSL=", 'disableSSL: "" is neither'),
        ("s3://state?role=arn:aws:iam::1:role/x", "AWS_SESSION_TOKEN"),
        ("s3://state?fips=true", "FIPS"),
        ("s3://state?profile=ops", 'there is no profile "ops"'),
    ],
)
def test_refusals(url: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        S3Url.read(url)


FILES = """
[default]
aws_access_key_id = AKDEFAULT
aws_secret_access_key = canary%1

[ops]
aws_access_key_id = AKOPS
aws_secret_access_key = canary
aws_session_token = canary2
"""


def test_profiles(monkeypatch: pytest.MonkeyPatch, environment: Path) -> None:
    write(environment, FILES, "[profile ops]\nregion = us-west-2\n[default]\nregion = us-west-1\n")
    found = S3Url.read("s3://state").options
    assert found == {"access_key_id": "AKDEFAULT", "secret_access_key": "canary%1", "region": "us-west-1"}
    ops = {
        "access_key_id": "AKOPS",
        "secret_access_key": "canary",
        "session_token": "canary2",
        "region": "us-west-2",
    }
    assert S3Url.read("s3://state?profile=ops").options == ops
    monkeypatch.setenv("AWS_PROFILE", "ops")
    assert S3Url.read("s3://state").options == ops
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKENV")
    assert dict(S3Url.read("s3://state").options) == {}
    assert S3Url.read("s3://state?profile=ops").options == ops


def test_the_files_can_be_elsewhere(monkeypatch: pytest.MonkeyPatch, environment: Path) -> None:
    (environment / "keys").write_text(FILES)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(environment / "keys"))
    assert S3Url.read("s3://state").options["access_key_id"] == "AKDEFAULT"


@pytest.mark.parametrize("line", ["sso_session = x", "role_arn = arn:aws:iam::1:role/x", "credential_process = /bin/x"])
def test_a_profile_whose_keys_are_elsewhere(environment: Path, line: str) -> None:
    write(environment, config=f"[profile ops]\n{line}\n")
    with pytest.raises(InvalidInput, match=line.split()[0]) as caught:
        S3Url.read("s3://state?profile=ops")
    assert "aws configure export-credentials --profile ops" in caught.value.suggestions[0]


def test_a_broken_file_is_told_without_what_is_in_it(environment: Path) -> None:
    write(environment, "aws_secret_access_key = canary\n")
    with pytest.raises(InvalidInput) as caught:
        S3Url.read("s3://state")
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_keys_are_not_shown(environment: Path) -> None:
    write(environment, FILES)
    assert "canary" not in repr(S3Url.read("s3://state"))
    assert "AKDEFAULT" not in S3Url.read("s3://state").text
