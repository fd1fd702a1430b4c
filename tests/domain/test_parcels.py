"""Parcels: whatever is packed, boxes hold it, and every unit is in one of them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.carriers.parcels import DEFAULT_BOXES, DEFAULT_SIZE, Box, Parcel, ParcelItem, make_parcels

_MEASURE = st.integers(1, 600)
_ITEMS = st.lists(
    st.builds(
        ParcelItem,
        quantity=st.integers(0, 60),
        weight_grams=st.integers(0, 12_000),
        length_mm=st.integers(0, 600),
        width_mm=st.integers(0, 600),
        height_mm=st.integers(0, 600),
        price_cents=st.integers(0, 100_000),
    ),
    max_size=8,
)
_BOXES = st.lists(
    st.builds(
        Box,
        id=st.integers(1, 10**6),
        length_mm=_MEASURE,
        width_mm=_MEASURE,
        height_mm=_MEASURE,
        weight_grams=st.integers(0, 500),
        max_weight_grams=st.sampled_from((0, 1_000, 5_000, 30_000)),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda box: box.id,
)


def units_of(parcels: list[Parcel]) -> Counter[int]:
    units: Counter[int] = Counter()
    for parcel in parcels:
        for index, number in parcel.contents:
            units[index] += number * parcel.count
    return units


def content_grams(items: list[ParcelItem], parcel: Parcel) -> int:
    return sum(items[index].weight_grams * number for index, number in parcel.contents)


def fits(item: ParcelItem, box: Box) -> bool:
    return all(measure <= room for measure, room in zip(sorted(item.size), sorted(box.size), strict=True))


@given(_ITEMS, _BOXES)
def test_every_unit_is_in_exactly_one_parcel(items, boxes):
    parcels = make_parcels(items, boxes)
    assert units_of(parcels) == Counter({index: item.quantity for index, item in enumerate(items) if item.quantity})
    worth = sum(item.quantity * item.price_cents for item in items)
    assert sum(parcel.value_cents * parcel.count for parcel in parcels) == worth


@given(_ITEMS, _BOXES)
def test_no_box_holds_more_weight_or_volume_than_it_can_nor_anything_too_large_for_it(items, boxes):
    by_id = {box.id: box for box in boxes}
    for parcel in make_parcels(items, boxes):
        grams = content_grams(items, parcel)
        if parcel.box_id is None:
            assert [number for _, number in parcel.contents] == [1], parcel
            assert parcel.weight_grams == grams, parcel
            continue
        box = by_id[parcel.box_id]
        assert parcel.weight_grams == grams + box.weight_grams, parcel
        assert not box.max_weight_grams or grams <= box.max_weight_grams, parcel
        assert sum(prod(items[index].size) * number for index, number in parcel.contents) <= box.volume, parcel
        assert all(fits(items[index], box) for index, _ in parcel.contents), parcel


@given(_ITEMS, _BOXES)
def test_only_what_no_box_takes_is_sent_without_one(items, boxes):
    for parcel in make_parcels(items, boxes):
        if parcel.box_id is None:
            [(index, _)] = parcel.contents
            item = items[index]
            assert not any(fits(item, box) and box.carries(item.weight_grams) for box in boxes), parcel
            assert (parcel.length_mm, parcel.width_mm, parcel.height_mm) == item.size, parcel


@given(_ITEMS, _BOXES, st.randoms(use_true_random=False))
def test_the_same_items_give_the_same_parcels_whatever_the_order_of_the_boxes(items, boxes, random):
    shuffled = random.sample(boxes, k=len(boxes))
    assert make_parcels(items, shuffled) == make_parcels(items, boxes)


def test_units_of_a_line_fill_the_box_as_a_grid():
    cubes = ParcelItem(quantity=20, weight_grams=100, length_mm=100, width_mm=100, height_mm=100, price_cents=500)
    box = Box(7, 250, 350, 199, weight_grams=80)
    assert make_parcels([cubes], [box]) == [
        # Two by three, one layer: the volume would hold 17, the box holds 6.
        Parcel(3, 250, 350, 199, 680, 3_000, ((0, 6),), 7),
        Parcel(1, 250, 350, 199, 280, 1_000, ((0, 2),), 7),
    ]


def test_the_smallest_box_that_takes_all_is_used():
    boxes = [Box(1, 400, 400, 400), Box(2, 200, 200, 200), Box(3, 100, 100, 100)]
    mug = ParcelItem(quantity=1, weight_grams=300, length_mm=90, width_mm=90, height_mm=100)
    book = ParcelItem(quantity=1, weight_grams=500, length_mm=190, width_mm=130, height_mm=30)
    assert [parcel.box_id for parcel in make_parcels([mug], boxes)] == [3]
    assert [parcel.box_id for parcel in make_parcels([mug, book], boxes)] == [2]
    assert make_parcels([mug, book], boxes)[0].contents == ((0, 1), (1, 1))


def test_a_heavy_line_is_divided_by_weight():
    iron = ParcelItem(quantity=5, weight_grams=4_000, length_mm=50, width_mm=50, height_mm=50)
    assert [parcel.contents for parcel in make_parcels([iron], [Box(1, 500, 500, 500, max_weight_grams=9_000)])] == [
        ((0, 2),), ((0, 1),)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(ParcelItem(3, 100, length_mm=501, width_mm=10, height_mm=10), id="too long"),
        pytest.param(ParcelItem(3, 2_001, length_mm=10, width_mm=10, height_mm=10), id="too heavy"),
    ],
)
def test_what_no_box_takes_is_a_parcel_of_its_own(item):
    [parcel] = make_parcels([item], [Box(1, 500, 500, 500, max_weight_grams=2_000)])
    assert (parcel.count, parcel.contents, parcel.box_id) == (3, ((0, 1),), None)


def test_unknown_sizes_are_those_of_the_smallest_parcel_and_a_store_without_boxes_has_those_of_correios():
    [parcel] = make_parcels([ParcelItem(quantity=2, weight_grams=350)], [Box(1, 300, 300, 0)])
    assert ParcelItem(1, 0).size == DEFAULT_SIZE
    assert ParcelItem(1, 0, length_mm=300).size == (300, *DEFAULT_SIZE[1:])
    assert (parcel.length_mm, parcel.width_mm, parcel.height_mm) == DEFAULT_BOXES[0].size
    assert (parcel.box_id, parcel.weight_grams) == (None, 700)


def test_the_time_depends_on_lines_and_not_on_units():
    items = [
        ParcelItem(10**12 - index, 37 + index, length_mm=31 + index, width_mm=17 + 2 * index, height_mm=9 + index)
        for index in range(100)
    ]
    started = time.process_time()
    parcels = make_parcels(items)
    assert time.process_time() - started < 2
    assert units_of(parcels) == Counter({index: item.quantity for index, item in enumerate(items)})


def test_units_that_come_in_boxes_leave_in_full_ones_and_the_rest_in_one_or_singly() -> None:
    carton = ParcelItem(13, 500, 400, 300, 200, price_cents=100, box_min=3, box_max=5)
    book = ParcelItem(1, 300, 200, 150, 20)

    def packed(item: ParcelItem, *others: ParcelItem) -> list[tuple[int, tuple[int, ...], int, int, dict[int, int]]]:
        return [
            (
                parcel.count,
                (parcel.length_mm, parcel.width_mm, parcel.height_mm),
                parcel.weight_grams,
                parcel.value_cents,
                dict(parcel.contents),
            )
            for parcel in make_parcels([item, *others])
        ]

    full = (2, (400, 300, 200), 2_500, 500, {0: 5})
    assert packed(carton) == [full, (1, (400, 300, 200), 1_500, 300, {0: 3})]
    [first, *rest] = packed(replace(carton, quantity=12), book)
    assert first == full
    # Two units of a fifth of the box each, with the book.
    assert [(count, contents) for count, _, _, _, contents in rest] == [(1, {0: 2, 1: 1})]
    assert packed(replace(carton, quantity=0)) == []
    assert packed(replace(carton, box_min=0, quantity=1)) == [(1, (400, 300, 200), 500, 100, {0: 1})]


_BOXED = st.builds(
    ParcelItem, st.integers(0, 60), st.integers(0, 900), box_min=st.integers(0, 9), box_max=st.integers(0, 7)
)


@given(st.lists(_BOXED, max_size=5))
def test_every_unit_of_boxed_products_is_in_one_parcel(items: list[ParcelItem]) -> None:
    packed: Counter[int] = Counter()
    for parcel in make_parcels(items):
        for index, units in parcel.contents:
            packed[index] += units * parcel.count
    assert packed == Counter({index: item.quantity for index, item in enumerate(items) if item.quantity})
