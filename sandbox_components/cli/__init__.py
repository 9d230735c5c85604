"""The command `sandbox`: the only home of click. Flags in, an operation, a table or JSON out."""
