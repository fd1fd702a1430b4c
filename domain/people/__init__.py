"""Hold what the shop does with people."""
