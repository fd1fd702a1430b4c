"""Fixtures of the idempotency tests."""

from tests.shop import new_shop, other_shop, shop, shop_client

__all__ = ["new_shop", "other_shop", "shop", "shop_client"]
