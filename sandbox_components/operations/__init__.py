"""One use case a file: a typed request in, a frozen result out. Every surface calls these and nothing below."""
