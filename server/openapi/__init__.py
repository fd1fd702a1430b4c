"""Build and serve the OpenAPI documents."""
