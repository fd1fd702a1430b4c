"""Soak test: mixed traffic of every family over several stores, under fault injection, judged against a model."""
