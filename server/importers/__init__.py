"""Read what other marketplaces give out, and play it into a store."""
