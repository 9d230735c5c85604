"""Lists the clusters that tests have started (`list`), or ends them but those named (`end [NAME...]`).

Those of another run of the tests that still goes on are left alone.
"""

import fcntl
import sys

from devcluster import cluster
from devcluster.paths import run_lock

# The names that tests use: tests/conftest.py and tests/devcluster.
PREFIXES = ("test", "smoke", "killed")


def is_free(name: str) -> bool:
    """Tell whether no run of the tests holds the cluster."""
    try:
        with run_lock(name).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True


names = sorted(name for name in cluster.known() if name.startswith(PREFIXES))
if sys.argv[1] == "list":
    print(" ".join(names))
else:
    for name in set(names) - set(sys.argv[2:]):
        if is_free(name):
            cluster.stop(name)
