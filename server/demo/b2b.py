"""Create the B2B data of a demo store: managers, payment codes, business partners, mix products, manager transactions, order limits.

Its credit bureau is the sandbox that the server itself provides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from domain.store_settings import SANDBOX_BUREAU
from server.demo.catalog import COMMON
from server.demo.customers import cnpj
from server.demo.owner import DemoOwner

_STARTED = timedelta(days=150)


_LIMITS_CENTS = (1_500_000, 600_000)


async def create_b2b_data(
    owner: DemoOwner, vendors: Mapping[str, str], products: Sequence[str], customers: Sequence[str], now: datetime
) -> None:
    """Create all of it; `vendors`, `products` and `customers` are ids of the store."""
    at = now - _STARTED
    await owner.execute("store_settings_update", at, settings={"credit_bureau_url": SANDBOX_BUREAU})
    managers = [await owner.create("manager", at, **manager) for manager in COMMON["managers"]]
    terms = {
        each["code"]: await owner.create("payment_code", at, **each, installments=len(each["days"]))
        for each in COMMON["payment_codes"]
    }
    partners = [await _create_partner(owner, partner, managers, terms, at) for partner in COMMON["partners"]]
    for index, product in enumerate(products[:6]):
        await owner.create(
            "mix_product",
            at,
            product_id=product,
            partner_id=partners[index % len(partners)],
            manager_id=managers[COMMON["partners"][index % len(partners)]["manager"]],
            min_quantity=6 * (1 + index % 3),
            price_cents=3_990 + 500 * index,
        )
    for index, transaction in enumerate(COMMON["transactions"], 1):
        values = {**transaction, "manager_id": managers[transaction["manager"]]}
        values.pop("manager")
        await owner.create("manager_transaction", at + timedelta(days=30 * index), **values)
    limits = zip(customers[1:], islice(vendors.values(), len(_LIMITS_CENTS)), _LIMITS_CENTS, strict=False)
    for customer, vendor, limit in limits:
        values = {"user_id": customer, "vendor_id": vendor, "limit_cents": limit}
        await owner.execute("order_limit_set", now, input=values)


async def _create_partner(
    owner: DemoOwner, partner: Mapping[str, Any], managers: Sequence[str], terms: Mapping[str, str], at: datetime
) -> str:
    values = {**partner, "cnpj": cnpj(partner["cnpj"])}
    code, manager = terms[values.pop("terms")], managers[values.pop("manager")]
    return await owner.create("business_partner", at, **values, payment_code_id=code, manager_id=manager)
