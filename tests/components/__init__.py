"""The components against Pulumi mocks: what is registered, with which inputs and options."""
