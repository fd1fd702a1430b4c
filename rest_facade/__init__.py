"""The REST facades: each converts HTTP requests to GraphQL operations and their results to responses."""
