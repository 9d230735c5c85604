"""The Pulumi components: arguments in, child resources registered, outputs out. The only home of `pulumi`."""
