"""Make the OpenAPI documents of the REST families from their routes, descriptions and GraphQL operations, and show them."""
