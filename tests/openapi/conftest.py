"""Ask the whole application, as readers and fuzzers do."""

from tests.shop import new_shop, other_shop, shop, shop_client

__all__ = ["new_shop", "other_shop", "shop", "shop_client"]
