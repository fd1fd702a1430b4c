"""Count the units that lines take of the stock of products and combinations, and sell in advance what it doesn't cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from domain.catalog import stock
from domain.purchase.lines import PricedLine

_NO_UNITS: Mapping[int, int] = MappingProxyType({})


def tracked_units(lines: Iterable[PricedLine]) -> dict[int, int]:
    """Sum the units counted in products' stock, by product."""
    return stock.sum_quantities(
        (line.offer.id, line.quantity) for line in lines if line.tracked and line.combination_id is None
    )


def combination_units(lines: Iterable[PricedLine]) -> dict[int, int]:
    """Sum the units counted in combinations' stock, by combination."""
    return stock.sum_quantities(
        (line.combination_id, line.quantity) for line in lines if line.tracked and line.combination_id is not None
    )


def sell_in_advance(lines: Sequence[PricedLine], reserved: Sequence[PricedLine] = ()) -> list[PricedLine]:
    """Mark the lines that are sold in advance; those beyond the stock take none of it. `reserved` are lines whose stock the order has."""
    if not any(line.offer.sells_in_advance for line in lines):
        return list(lines)
    products = short_products(lines, tracked_units(reserved))
    combinations = short_combinations(lines, combination_units(reserved))
    marked = []
    for line in lines:
        is_short = line.offer.id in products if line.combination_id is None else line.combination_id in combinations
        if line.offer.sells_in_advance and (line.offer.is_ahead or (line.tracked and is_short)):
            marked.append(replace(line, in_advance=True, tracked=line.tracked and not is_short))
        else:
            marked.append(line)
    return marked


def short_products(lines: Sequence[PricedLine], reserved: Mapping[int, int] = _NO_UNITS) -> list[int]:
    """Return the products with too little stock when they were read: rejects an oversell early, without a lock or a write."""
    available = {line.offer.id: line.offer.stock + reserved.get(line.offer.id, 0) for line in lines}
    return [product for product, units in tracked_units(lines).items() if units > available[product]]


def short_combinations(lines: Sequence[PricedLine], reserved: Mapping[int, int] = _NO_UNITS) -> list[int]:
    """Return the combinations with too little stock when they were read."""
    combinations = [line.selection.combination for line in lines if line.selection is not None]
    available = {combination.id: combination.stock for combination in combinations if combination is not None}
    return [
        number
        for number, units in combination_units(lines).items()
        if units > available[number] + reserved.get(number, 0)
    ]
