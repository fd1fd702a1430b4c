"""Divide what is shipped into parcels, by weight, size and the boxes that there are. Pure; sizes in millimetres, weights in grams.

A parcel is filled as follows, until nothing remains (docs/shipping.md#parcels):

1. The largest remaining unit decides which boxes come into question: those that it fits into, turned any way, and that carry it.
2. The smallest of them that takes all that remains is the last parcel. If there is none, the largest is filled.
3. A box is filled from the largest units to the smallest: units of a line stand in a grid in one corner of the smallest empty space that
   they fit into, which leaves three spaces; the largest 30 are remembered. What lies in a box therefore fits into it, not only its volume.
4. A unit that no box takes is a parcel of its own.

Before that, units of products that come in boxes of several leave in these, full ones and a last one that has the minimum. The others
have the size of a part of such a box, which is divided along its longest measure.

Parcels of the same contents are one value with a count, so that the time depends on the number of lines and boxes, not of units: 10,000
units of a line take as long as ten. The result depends on nothing but the arguments, and not on the order of the boxes.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod
from typing import NamedTuple, TypeAlias

Size: TypeAlias = tuple[int, int, int]

DEFAULT_SIZE: Size = (160, 110, 20)
"""Length, width and height, each used where a product's is unknown: the smallest parcel that Correios takes."""
# Bounds the time of a box with hundreds of different products.
_MAX_SPACES = 30
_SEVERAL = 2


@dataclass(frozen=True, slots=True)
class ParcelItem:
    """Units to be packed; weight, size (0: unknown) and price are those of one unit.

    With a `box_max` of several units the size is that of a box with as many; one with fewer than `box_min` isn't used.
    """

    quantity: int
    weight_grams: int
    length_mm: int = 0
    width_mm: int = 0
    height_mm: int = 0
    price_cents: int = 0
    box_min: int = 0
    box_max: int = 0

    @property
    def size(self) -> Size:
        """Return the size, with the default for each unknown measure."""
        length, width, height = DEFAULT_SIZE
        return (self.length_mm or length, self.width_mm or width, self.height_mm or height)


@dataclass(frozen=True, slots=True)
class Box:
    """A box: inner size, own weight and maximum load (0: any); `id` is None for a box that isn't the store's."""

    id: int | None
    length_mm: int
    width_mm: int
    height_mm: int
    weight_grams: int = 0
    max_weight_grams: int = 0

    @property
    def size(self) -> Size:
        """Return the inner size."""
        return (self.length_mm, self.width_mm, self.height_mm)

    @property
    def volume(self) -> int:
        """Return the volume in cubic millimetres."""
        return prod(self.size)

    def carries(self, weight_grams: int) -> bool:
        """Return whether the box carries the weight."""
        return not self.max_weight_grams or weight_grams <= self.max_weight_grams


@dataclass(frozen=True, slots=True)
class Parcel:
    """`count` equal parcels: size and weight with the box, worth of the contents, and the units of each item by its index.

    `box_id` is the store's box, None for another or none.
    """

    count: int
    length_mm: int
    width_mm: int
    height_mm: int
    weight_grams: int
    value_cents: int
    contents: tuple[tuple[int, int], ...]
    box_id: int | None


_MAX_LOAD = 30_000
# Sizes 1 to 7 of the boxes that Correios sells, and the heaviest parcel that it takes.
DEFAULT_BOXES: tuple[Box, ...] = tuple(
    Box(None, *size, max_weight_grams=_MAX_LOAD)
    for size in (
        (180, 135, 90),
        (270, 180, 90),
        (270, 225, 135),
        (360, 270, 180),
        (540, 360, 270),
        (360, 270, 270),
        (360, 280, 40),
    )
)
"""The boxes of a store without any."""


def make_parcels(items: Sequence[ParcelItem], boxes: Iterable[Box] = ()) -> list[Parcel]:
    """Return the parcels of the items; without boxes of a known size those of DEFAULT_BOXES are used."""
    usable = sorted((box for box in boxes if box.volume), key=_box_order) or sorted(DEFAULT_BOXES, key=_box_order)
    parcels, items = _take_boxed(items)
    remaining = {index: items[index].quantity for index in _largest_first(items) if items[index].quantity > 0}
    while remaining:
        largest = next(iter(remaining))
        unit = items[largest]
        candidates = [
            box
            for box in usable
            if _fit(_ascending(unit.size), _ascending(box.size)) and box.carries(unit.weight_grams)
        ]
        if not candidates:
            parcels.append(_parcel(items, None, {largest: 1}, remaining.pop(largest)))
            continue
        box, contents = _choose(items, remaining, candidates)
        count = min(remaining[index] // units for index, units in contents.items())
        parcels.append(_parcel(items, box, contents, count))
        for index, units in contents.items():
            remaining[index] -= units * count
        remaining = {index: units for index, units in remaining.items() if units}
    return parcels


def _take_boxed(items: Sequence[ParcelItem]) -> tuple[list[Parcel], list[ParcelItem]]:
    """Return the parcels of units in boxes of their product, and the items with the units that are left."""
    parcels, left = [], []
    for index, item in enumerate(items):
        if item.box_max < _SEVERAL:
            left.append(item)
            continue
        full, rest = divmod(item.quantity, item.box_max)
        is_boxed = rest >= max(item.box_min, 1)
        for count, units in ((full, item.box_max), (int(is_boxed), rest)):
            if count:
                parcels.append(_parcel(items, None, {index: units}, count))
        left.append(_unboxed(item, 0 if is_boxed else rest))
    return parcels, left


def _unboxed(item: ParcelItem, units: int) -> ParcelItem:
    """Return units at the size of a part of their box, which is divided along its longest measure."""
    *measures, longest = _ascending(item.size)
    length, width, height = (-(-longest // item.box_max), *measures)
    return replace(item, quantity=units, length_mm=length, width_mm=width, height_mm=height)


def _box_order(box: Box) -> tuple[object, ...]:
    return (box.volume, sorted(box.size), box.max_weight_grams or float("inf"), box.weight_grams, box.id or 0)


def _largest_first(items: Sequence[ParcelItem]) -> list[int]:
    return sorted(range(len(items)), key=lambda index: (-prod(items[index].size), -max(items[index].size), index))


def _choose(
    items: Sequence[ParcelItem], remaining: dict[int, int], candidates: Sequence[Box]
) -> tuple[Box, dict[int, int]]:
    """Return the smallest box that takes all that remains, else the largest, with what it takes."""
    volume = sum(units * prod(items[index].size) for index, units in remaining.items())
    weight = sum(units * items[index].weight_grams for index, units in remaining.items())
    for box in candidates:
        if volume <= box.volume and box.carries(weight):
            contents = _fill(items, remaining, box)
            if contents == remaining:
                return box, contents
    return candidates[-1], _fill(items, remaining, candidates[-1])


def _fill(items: Sequence[ParcelItem], remaining: dict[int, int], box: Box) -> dict[int, int]:
    """Return the units of each item that the box takes, the first item's first."""
    contents: dict[int, int] = {}
    spaces = [_Space.of(box.size)]
    free_grams = box.max_weight_grams
    for index, quantity in remaining.items():
        item = items[index]
        units = quantity
        if box.max_weight_grams and item.weight_grams:
            units = min(units, free_grams // item.weight_grams)
        placed = _place(item.size, units, spaces)
        if placed:
            contents[index] = placed
            free_grams -= placed * item.weight_grams
    return contents


class _Space(NamedTuple):
    """An empty space: its volume, by which spaces are in order, its measures in ascending order, and as they stand."""

    volume: int
    measures: Size
    size: Size

    @classmethod
    def of(cls, size: Size) -> _Space:
        return cls(prod(size), _ascending(size), size)


def _place(size: Size, units: int, spaces: list[_Space]) -> int:
    """Place up to so many units into the spaces, which become what is left of them; return how many were placed."""
    placed, measures = 0, _ascending(size)
    while placed < units:
        smallest = next((place for place, space in enumerate(spaces) if _fit(measures, space.measures)), None)
        if smallest is None:
            break
        space = spaces.pop(smallest).size
        turned = max(_turned(size), key=lambda turned: (prod(_grid(turned, space)), turned))
        across, deep, high = _block(_grid(turned, space), units - placed)
        placed += across * deep * high
        for rest in _rests(space, (across * turned[0], deep * turned[1], high * turned[2])):
            insort(spaces, _Space.of(rest))
        del spaces[:-_MAX_SPACES]
    return placed


def _turned(size: Size) -> Iterator[Size]:
    yield from permutations(size)


def _ascending(size: Size) -> Size:
    first, second, third = sorted(size)
    return (first, second, third)


def _fit(measures: Size, room: Size) -> bool:
    """Return whether a size fits into another, turned any way; the measures of both are in ascending order."""
    return measures[0] <= room[0] and measures[1] <= room[1] and measures[2] <= room[2]


def _grid(size: Size, space: Size) -> Size:
    """Return how many units stand next to each other in each direction."""
    return (space[0] // size[0], space[1] // size[1], space[2] // size[2])


def _block(grid: Size, units: int) -> Size:
    """Return the part of a grid that so many units fill, or most of them: rows, then layers of rows, then layers."""
    across = min(grid[0], units)
    deep = min(grid[1], units // across)
    return (across, deep, min(grid[2], units // (across * deep)))


def _rests(space: Size, block: Size) -> Iterator[Size]:
    """Yield the three spaces next to, behind and above a block in the corner of a space."""
    for rest in (
        (space[0] - block[0], space[1], space[2]),
        (block[0], space[1] - block[1], space[2]),
        (block[0], block[1], space[2] - block[2]),
    ):
        if all(rest):
            yield rest


def _parcel(items: Sequence[ParcelItem], box: Box | None, contents: dict[int, int], count: int) -> Parcel:
    size = box.size if box is not None else items[next(iter(contents))].size
    weight = sum(units * items[index].weight_grams for index, units in contents.items())
    return Parcel(
        count,
        *size,
        weight_grams=weight + (box.weight_grams if box is not None else 0),
        value_cents=sum(units * items[index].price_cents for index, units in contents.items()),
        contents=tuple(sorted(contents.items())),
        box_id=box.id if box is not None else None,
    )
