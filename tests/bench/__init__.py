"""Measurements, by hand: `python -m tests.bench [NAME]` prints lines `name: value`."""
