"""Tests: they mirror the package; `harness` is what the engine, node and bench tiers stand on."""
