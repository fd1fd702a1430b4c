"""Compose the server: application, middleware, command line and workers."""
