"""The API of the vendors' mobile app: sign-in, company, products and orders (docs/reference/legacy.md#vendor-app)."""
