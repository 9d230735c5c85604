"""The only home of the Kubernetes client: connecting, reading, scaling, waiting, exec and logs.

Nothing above this package sees an HTTP status, a container's waiting reason or a websocket: it gets frozen
observations and the exceptions of `sandbox_components.errors`.
"""
