"""Resolve the root fields, one module per domain; `engine` executes operations, `resolvers.execute` is the facades' only entry point."""
