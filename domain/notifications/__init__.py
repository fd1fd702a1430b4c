"""Tell people in the store what happened."""
