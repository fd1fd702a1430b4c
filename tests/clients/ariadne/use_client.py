"""Use the generated client: `python use_client.py JSON` prints the products as it read them."""

import asyncio
import json
import sys
from datetime import datetime

from shop_client import Client, ProductFilter  # type: ignore[import-not-found]


async def main() -> None:
    given = json.loads(sys.argv[1])
    async with Client(url=f"{given['base']}/graphql", headers=given["headers"]) as client:
        answer = await client.products(limit=2, filter_=ProductFilter(search=given["search"]))
    assert answer.products is not None
    assert all(isinstance(product.created_at, datetime) for product in answer.products)
    print(json.dumps([[product.id, product.name, product.price_cents] for product in answer.products]))


asyncio.run(main())
