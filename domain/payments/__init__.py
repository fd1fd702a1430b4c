"""Payment methods and payments."""
