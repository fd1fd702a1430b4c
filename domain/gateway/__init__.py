"""Payment gateway webhooks: verify, store, apply to charges and orders (docs/reference/current.md#gateway-notifications)."""
