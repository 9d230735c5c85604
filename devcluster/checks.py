"""Answers to the questions of a plan, asked from inside the node with the standard library alone."""

from __future__ import annotations

import functools
import http.client
import socket
import ssl
import urllib.parse
from collections.abc import Callable

from devcluster.plan import Check

TIMEOUT_SECONDS = 3.0


def failure(check: Check, run: Callable[[tuple[str, ...]], str | None]) -> str | None:
    """Why `check` doesn't hold, in one line; None if it holds.

    Args:
        check: the question; `once` checks are the supervisor's to answer and hold here.
        run: runs a command and returns None or why it failed. The supervisor reaps every process of
            the node, so that commands must be started by it and not by `subprocess`.
    """
    try:
        if check.url:
            return _answer(check)
        if check.socket:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(TIMEOUT_SECONDS)
                connection.connect(check.socket)
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    return run(check.command) if check.command else None


@functools.cache
def _context(authority: str, credentials: tuple[str, str] | None) -> ssl.SSLContext:
    """Loading keys takes longer than asking; the files don't change while the cluster lives."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authority:
        context.load_verify_locations(authority)
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if credentials:
        context.load_cert_chain(*credentials)
    return context


def _answer(check: Check) -> str | None:
    parts = urllib.parse.urlsplit(check.url)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = _context(check.authority, check.credentials)
        connection = http.client.HTTPSConnection(parts.netloc, timeout=TIMEOUT_SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""))
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace")
    finally:
        connection.close()
    if answer.status != 200:
        return f"{answer.status} {' '.join(body.split())[:200]}"
    if check.holds not in body:
        return f"{check.holds} is missing"
    if check.lacks and check.lacks in body:
        return f"still {check.lacks}"
    return None
