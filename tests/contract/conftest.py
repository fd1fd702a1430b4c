"""Give the tests of the contract a whole shop where they ask for one."""

from tests.shop import new_shop, other_shop, shop, shop_client

__all__ = ["new_shop", "other_shop", "shop", "shop_client"]
