"""Define the object types, one module per domain."""
