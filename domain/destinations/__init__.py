"""Destinations: the regions that shipping and tax rates refer to."""
