"""The one exception of the local cluster, so that the command line can print it without a traceback."""

from __future__ import annotations


class ClusterError(Exception):
    """Something about the local cluster can't go on; the text says what, and what to do about it."""
