"""Give the tests of this folder shops."""

from tests.shop import new_shop, other_shop, shop, shop_client

__all__ = ["new_shop", "other_shop", "shop", "shop_client"]
