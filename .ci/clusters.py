"""Lists the clusters that tests have started (`list`), or ends them but those named (`end [NAME...]`)."""

import sys

from devcluster import cluster

# The names that tests use: tests/conftest.py and tests/devcluster.
PREFIXES = ("test", "smoke", "killed")

names = sorted(name for name in cluster.known() if name.startswith(PREFIXES))
if sys.argv[1] == "list":
    print(" ".join(names))
else:
    for name in set(names) - set(sys.argv[2:]):
        cluster.stop(name)
