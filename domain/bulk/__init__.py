"""Bulk operations: their life, their files, and the links by which these are loaded."""
