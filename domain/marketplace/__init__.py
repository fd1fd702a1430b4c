"""Vendors, reviews and the vendor app."""
