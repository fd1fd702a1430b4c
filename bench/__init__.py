"""Benchmarks: Vitrine relative to other servers, within one run."""
