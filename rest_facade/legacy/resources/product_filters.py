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
