"""Images that can't be pulled, and containers that can't be made."""

from __future__ import annotations

from tests.kube.objects import (
    IMAGE,
    event,
    snapshot,
    starting,
    waiting,
)
from tests.kube.state_cases.case import (
    ERROR,
    PULL,
    Case,
)

IMAGES = [
    Case(
        "unknown tag",
        snapshot(None, starting(waiting("ErrImagePull", PULL + "manifest unknown"))),
        ERROR,
        "can't be pulled: manifest unknown",
        hopeless=True,
    ),
    Case(
        "unknown name, backing off, newer kubelet",
        snapshot(
            None,
            starting(waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}": ErrImagePull: not found')),
        ),
        ERROR,
        "can't be pulled: not found; check name and tag",
        hopeless=True,
    ),
    Case(
        "backing off, older kubelet: the event tells",
        snapshot(
            None,
            starting(waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}"')),
            None,
            event("Failed", PULL + "manifest unknown", at=40),
            event("Failed", "Error: ErrImagePull", at=39),
            event("BackOff", f'Back-off pulling image "{IMAGE}"', at=5),
        ),
        ERROR,
        "manifest unknown",
        hopeless=True,
    ),
    Case(
        "backing off, nobody tells why",
        snapshot(None, starting(waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}"'))),
        ERROR,
        "the pull failed",
    ),
    Case(
        "private image",
        snapshot(None, starting(waiting("ErrImagePull", "pull access: unauthorized: authentication required"))),
        ERROR,
        "imagePullSecrets",
        hopeless=True,
    ),
    Case(
        "registry away",
        snapshot(None, starting(waiting("ErrImagePull", "dial tcp 10.0.0.1:5000: connect: connection refused"))),
        ERROR,
        "Kubernetes goes on trying",
    ),
    Case(
        "registry's name unknown",
        snapshot(None, starting(waiting("ErrImagePull", "lookup registry.example: no such host"))),
        ERROR,
        "node reaches the registry",
    ),
    Case(
        "wrong processor",
        snapshot(None, starting(waiting("ErrImagePull", "no match for platform in manifest"))),
        ERROR,
        "no match for platform",
        hopeless=True,
    ),
    Case(
        "malformed name",
        snapshot(None, starting(waiting("InvalidImageName", "couldn't parse image name: invalid reference format"))),
        ERROR,
        "is not an image name: couldn't parse image name",
        hopeless=True,
    ),
    Case(
        "pull policy Never",
        snapshot(None, starting(waiting("ErrImageNeverPull", "not present with pull policy of Never"))),
        ERROR,
        "imagePullPolicy Never",
        hopeless=True,
    ),
    Case(
        "secret of the environment isn't there",
        snapshot(None, starting(waiting("CreateContainerConfigError", 'secret "nightly-env" not found'))),
        ERROR,
        'missing: secret "nightly-env" not found',
    ),
    Case(
        "key of the secret isn't there",
        snapshot(None, starting(waiting("CreateContainerConfigError", "couldn't find key K in Secret agents/x"))),
        ERROR,
        "couldn't find key K",
    ),
    Case(
        "image runs as root",
        snapshot(
            None,
            starting(
                waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root (pod: x)")
            ),
        ),
        ERROR,
        "set runAsUser",
        hopeless=True,
    ),
    Case(
        "container can't be created",
        snapshot(None, starting(waiting("CreateContainerError", "context deadline exceeded"))),
        ERROR,
        "CreateContainerError): context deadline exceeded",
    ),
    Case(
        "command isn't in the image",
        snapshot(
            None,
            starting(waiting("RunContainerError", 'exec: "./start.sh": stat ./start.sh: no such file or directory')),
        ),
        ERROR,
        "check the entrypoint",
        hopeless=True,
    ),
    Case(
        "hook fails",
        snapshot(None, starting(waiting("PostStartHookError", "exited with 1"))),
        ERROR,
        "a hook of the container failed",
    ),
    Case(
        "image can't be inspected",
        snapshot(None, starting(waiting("ImageInspectError", "no"))),
        ERROR,
        "ImageInspectError): no",
    ),
    Case(
        "a container put in front of ours doesn't start",
        snapshot(
            None,
            starting(
                waiting("PodInitializing"), init=[{"name": "proxy", "state": waiting("ImagePullBackOff", "back off")}]
            ),
        ),
        ERROR,
        'init container "proxy" does not start: ImagePullBackOff: back off',
    ),
]
