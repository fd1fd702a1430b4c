"""Read an order from the record of each family."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tests.system.soak.model import OrderView

ORDER_FIELDS = "id number status total_cents customer { email } items { name quantity price_cents }"


def current_view(record: Mapping[str, Any]) -> OrderView:
    """Read the record of `/api/v1` and of the app integration, whose keys GraphQL shares."""
    return OrderView(
        record["customer"]["email"],
        record["status"],
        record["total_cents"],
        tuple(sorted((item["name"], item["quantity"], item["price_cents"]) for item in record["items"])),
        record["id"],
        str(record["number"]),
    )


def legacy_view(record: Mapping[str, Any]) -> OrderView:
    """Read the record of the legacy layer, whose money is a decimal text; it has no UUID."""
    items = ((line["product"], int(line["amount"]), _cents(line["price"])) for line in record["products"].values())
    return OrderView(
        record["email"], record["status"], _cents(record["total"]), tuple(sorted(items)), number=record["order_id"]
    )


def _cents(text: str) -> int:
    return int(Decimal(text) * 100)
