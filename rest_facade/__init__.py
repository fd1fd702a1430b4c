"""Serve the REST families: bytes to a GraphQL operation and back, and nothing else."""
