"""The full-text search of products: words, facets, corrections."""
