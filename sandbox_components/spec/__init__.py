"""What a sandbox is, free of I/O, Pulumi and Kubernetes clients: parse, check, compare, print."""
