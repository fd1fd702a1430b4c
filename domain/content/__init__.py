"""Keep what a shop says of itself: languages, pages and blocks."""
