"""Parse combined product filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.scope import Scope
from kernel.text import InvalidValue


def parse_category(parameters: Mapping[str, list[str]], scope: Scope) -> dict[str, Any]:
    """Parse `category_id` or CS-Cart's `cid`; `subcats=Y` includes subcategories."""
    requested = [parameters[name] for name in ("category_id", "cid") if name in parameters]
    if not requested:
        return {}
    # Both parameters are combined with AND, as everywhere.
    references = [reference for reference in requested[0] if reference in requested[-1]]
    if not references:
        raise InvalidValue("no category is both")
    with_subcategories = parameters.get("subcats", [""])[-1:] == ["Y"]
    return {"below_category_id" if with_subcategories else "category_id": references}


def parse_orders(parameters: Mapping[str, list[str]], scope: Scope) -> dict[str, Any]:
    """Parse `order_ids`: orders, separated by commas or as an array, any of which contains the product."""
    references = [part.strip() for text in parameters["order_ids"] for part in text.split(",") if part.strip()]
    if not references:
        raise InvalidValue("no order is named")
    return {"order_id": references}
