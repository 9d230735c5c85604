"""The local cluster for development and tests: its binaries, images and driver. Not part of the wheel."""
