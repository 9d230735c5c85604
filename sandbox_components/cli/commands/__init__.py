"""One file a verb: parse, call the operation, print."""
