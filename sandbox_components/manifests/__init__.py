"""From a checked spec to Kubernetes objects as plain dicts: pure, so that golden tests pin every byte."""
