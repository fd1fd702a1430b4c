"""Resolve the root fields, one module per domain; `resolvers.execute` is the facades' only entry point."""
