"""The real engine, API server and controllers; pods are kwok's."""
