"""Which shipping methods a vendor offers for its products: its `shippings` (docs/reference/legacy.md#stores)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from kernel.ids import Reference, parse_reference

_FLAGS: Mapping[str, bool] = {"y": True, "n": False, "true": True, "false": False}


def offers_method(shippings: Mapping[str, Any], method_id: int, public_id: UUID) -> bool:
    """Return whether the vendor offers the method; without any method in `shippings` it offers all.

    `shippings` has either methods as values (`{"0": "8"}`) or a flag for each (`{"8": "Y"}`); other members are the client's own.
    """
    named = list(_named_methods(shippings))
    return not named or any(is_offered and method in (method_id, public_id) for method, is_offered in named)


def _named_methods(shippings: Mapping[str, Any]) -> Iterator[tuple[Reference, bool]]:
    for key, value in shippings.items():
        flag = _FLAGS.get(str(value).strip().lower()) if isinstance(value, str | bool) else None
        is_id = isinstance(value, str | int) and not isinstance(value, bool)
        method = parse_reference(key if flag is not None else value if is_id else None)
        if method is not None:
            yield method, flag is not False
