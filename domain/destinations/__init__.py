"""Decide where in the world an address lies."""
