"""The gateway Pagar.me, API v5 (docs/payments-pagarme.md)."""
