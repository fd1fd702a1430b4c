"""Synchronous calls of a store to its installed apps (docs/reference/apps.md#calls-to-apps)."""
