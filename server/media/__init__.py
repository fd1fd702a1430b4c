"""Decode and render images in confined child processes."""
