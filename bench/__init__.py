"""Measure Vitrine, in ratios within one run."""
