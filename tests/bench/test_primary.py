"""The traffic of `python -m bench.primary`."""

from __future__ import annotations

import re
from collections import Counter

from bench.database import Size
from bench.primary import PER_ORDER, traffic
from bench.requests import RequestData

_OPERATIONS = {"ProductList": "S1", "ProductPage": "S2", "CartPage": "S5", "CheckOut": "W2", "SetStatus": "W3"}


def test_each_order_comes_with_its_requests_and_no_cart_is_ordered_twice():
    size = Size(stores=3, products=50, users=10, orders=20)
    requests = list(traffic([RequestData(size, store, token=f"token {store}") for store in (1, 2, 3)]))
    count = sum(PER_ORDER.values())
    assert len(requests) >= 3 * count
    for start in range(0, len(requests), count):
        batch = requests[start : start + count]
        assert len({re.search(rb"X-Tenant-ID: (\S+)", request)[1] for request in batch}) == 1, start
        names = [re.search(rb"(?:query|mutation) (\w+)", request)[1].decode() for request in batch]
        kinds = Counter(_OPERATIONS.get(name, "Q3") for name in names)
        assert kinds == PER_ORDER, start
    ordered = [request for request in requests if b"mutation CheckOut" in request]
    assert len(set(ordered)) == len(ordered)
