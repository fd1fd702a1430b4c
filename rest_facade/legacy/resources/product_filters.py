"""Read the filters of products that mean something only together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.scope import Scope
from kernel.text import Malformed


def in_category(given: Mapping[str, list[str]], scope: Scope) -> dict[str, Any]:
    """Read `category_id` or CS-Cart's `cid`; with `subcats=Y` what stands below those categories counts too."""
    named = [given[name] for name in ("category_id", "cid") if name in given]
    if not named:
        return {}
    # Both at once must both hold, as everywhere.
    wanted = [reference for reference in named[0] if reference in named[-1]]
    if not wanted:
        raise Malformed("no category is both")
    below = given.get("subcats", [""])[-1:] == ["Y"]
    return {"below_category_id" if below else "category_id": wanted}
