"""The real node: containers, volumes, processes that are killed."""
