"""The inference proxy: it stands between sandboxes and the providers of models, and keeps to the spending limits."""
