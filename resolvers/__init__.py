"""Hold the root fields, one module per domain, and the one door through which facades execute operations."""
