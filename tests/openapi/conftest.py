"""Test the whole application over HTTP."""

from tests.shop import new_shop, other_shop, shop, shop_client

__all__ = ["new_shop", "other_shop", "shop", "shop_client"]
