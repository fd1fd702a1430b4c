"""Business rules of a store, independent of HTTP and GraphQL."""
