"""Decide which taxes lie on what is bought."""
