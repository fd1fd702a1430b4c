"""The search of products: words, facets, corrections."""
