"""Results as they go over a wire: camelCase, `schemaVersion`, shared by the command, REST and MCP."""
