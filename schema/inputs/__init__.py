"""Define the input types of mutations, one module per domain."""
