"""Builds all programs and images that the tests need, so that building and testing are timed apart."""

import sys

from devcluster import build, debian, images, machine
from devcluster.errors import ClusterError
from devcluster.images import dockerfile

try:
    machine.require()
    debian.install_debian_packages()
    debian.install_debian_packages(one.name for one in debian.TEST_PACKAGES)
    images.ensure_registry_storage(build.ensure())
    dockerfile.ensure(dockerfile.package())
except ClusterError as error:
    sys.exit(f"error: {error}")
