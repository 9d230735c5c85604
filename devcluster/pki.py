"""The cluster's certificate authorities, keys and certificates: one identity for each component.

The authorities and the key that signs service account tokens are made once and live as long as the cluster.
All other certificates are made anew at every start, because they hold the node's address.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID_DAYS = 3650


@dataclass(frozen=True)
class Pair:
    """The files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; kept in `FOLDER/NAME.crt` and `NAME.key`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.pair = _pair(folder, name)
        if not (self.pair.certificate.exists() and self.pair.key.exists()):
            self._make(name)
        loaded = serialization.load_pem_private_key(self.pair.key.read_bytes(), password=None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{self.pair.key} holds a key of an unknown kind")
        self._key = loaded
        self._certificate = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())

    def _make(self, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _subject(name, ())
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        certificate = (
            _builder(subject, subject, key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(identifier, critical=False)
            .sign(key, hashes.SHA256())
        )
        # The certificate last: a start that is killed in between makes both again.
        _write(self.pair.key, _private_bytes(key))
        _write(self.pair.certificate, certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, common_name: str, groups: Sequence[str] = (), hosts: Sequence[str] = ()) -> Pair:
        """Make a key and a certificate for it, in `NAME.key` and `NAME.crt`.

        Args:
            name: of the files.
            common_name: the subject, which is the user's name to the API server.
            groups: the subject's organisations, which are the user's groups.
            hosts: host names and addresses under which the holder serves.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if hosts:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
        builder = _builder(_subject(common_name, groups), self._certificate.subject, key).add_extension(
            x509.ExtendedKeyUsage(usages), critical=False
        )
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False
            )
        pair = _pair(self._folder, name)
        _write(pair.key, _private_bytes(key))
        _write(
            pair.certificate,
            builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
        )
        return pair


def token_key(folder: Path) -> tuple[Path, Path]:
    """The private and public key files for service account tokens, made if missing."""
    private, public = folder / "service-accounts.key", folder / "service-accounts.pub"
    if not (private.exists() and public.exists()):
        key = ec.generate_private_key(ec.SECP256R1())
        _write(private, _private_bytes(key))
        _write(
            public,
            key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
        )
    return private, public


def _pair(folder: Path, name: str) -> Pair:
    return Pair(folder / f"{name}.crt", folder / f"{name}.key")


def _subject(common_name: str, groups: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # An hour back, for clocks that are set between two starts.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _write(path: Path, content: bytes) -> None:
    """Write a file that only root may read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(path.suffix + ".new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    temporary.replace(path)
