"""Content of a store: languages, pages and blocks."""
