"""The browser assets and their build."""
