"""Replace the lines of an order that changes: lines that stay keep their ids, prices and options as they were agreed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from domain.orders.locked import LockedOrder
from domain.purchase.draft import DraftLine, parse_lines
from domain.purchase.lines import (
    Offer,
    PricedLine,
    load_offers,
    price_lines,
    sell_in_advance,
    with_default_options,
)
from domain.purchase.option_selection import SelectedFile, file_options, options_key, selection_input, selection_key
from domain.purchase.order_rows import line_rows
from domain.purchase.references import reject_unsaleable
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import InputValues
from kernel.ids import parse_reference
from kernel.scope import STAFF, ActorKind, Scope
from kernel.text import repr_value
from models.connection.database import fetch, fetchval
from models.numbers import take_numbers
from models.references import NOT_FOUND, PRODUCT, reject_missing
from models.rows import insert_rows

_DELETE_LINES = """
WITH removed AS (
    DELETE FROM order_lines WHERE tenant_id = $1 AND order_id = $2 RETURNING id, public_id, product_id, position, options::text
)
SELECT id, public_id, product_id, options FROM removed ORDER BY position, id
"""


async def edited_lines(
    scope: Scope, locked: LockedOrder, values: Sequence[InputValues], current: Sequence[PricedLine]
) -> list[PricedLine]:
    """Return the lines of an input: those named by id as they are, others at the prices agreed for their product, else at current ones."""
    drafts = parse_lines(values, may_stay=True)
    if not drafts:
        raise ValidationFailed("items is required", field="lines", code="required")
    stay = _staying(drafts, current)
    others = [draft for draft in drafts if draft.stays is None]
    priced = iter(await _priced_lines(scope, locked, others, current, list(stay.values())))
    lines = [next(priced) if draft.stays is None else stay[draft.stays] for draft in drafts]
    # Of a product in several lines the limits count that were read now.
    ordered = sorted(lines, key=lambda line: line.line_id is None)
    reject_unsaleable(ordered, existing=[line.offer.id for line in current if line.offer.id])
    return lines


def _staying(drafts: Sequence[DraftLine], current: Sequence[PricedLine]) -> dict[object, PricedLine]:
    """Return the lines that stay as they are, by what names them; the offer of a line in the order has the line's id."""
    lines = {reference: line for line in current for reference in (line.line_id, line.offer.public_id)}
    stay: dict[object, PricedLine] = {}
    for draft in drafts:
        if draft.stays is None:
            continue
        reference = parse_reference(draft.stays)
        line = lines.get(reference) if reference is not None else None
        if line is None:
            raise ValidationFailed(f"order line {repr_value(draft.stays)} not found", field="id", code=NOT_FOUND)
        del lines[line.line_id], lines[line.offer.public_id]
        if draft.quantity != line.quantity or draft.price_cents not in (None, line.price_cents):
            raise ValidationFailed("a line named by id stays as it is; name its product_id", field="id", code="invalid")
        stay[draft.stays] = line
    return stay


async def _priced_lines(
    scope: Scope,
    locked: LockedOrder,
    drafts: Sequence[DraftLine],
    current: Sequence[PricedLine],
    staying: Sequence[PricedLine],
) -> list[PricedLine]:
    # For a product that is both bought and a gift, the first line's price counts: gifts come last.
    agreed = {
        (line.offer.id, selection_key(line.selection)): line.price_cents for line in reversed(current) if line.offer.id
    }
    offers = await _load_offers(scope, list(dict.fromkeys(draft.product for draft in drafts)))
    # So does the rate at which the order was placed, for all lines of a vendor.
    rates = {line.offer.vendor_id: line.offer.rate for line in current if line.offer.vendor_id is not None}
    offers = {
        product: replace(offer, **rates[offer.vendor_id]._asdict()) if offer.vendor_id in rates else offer
        for product, offer in offers.items()
    }
    stay = {line.line_id for line in staying}
    replaced = [line for line in current if line.line_id not in stay]
    drafts = _with_files(drafts, offers, replaced)
    if scope.family == "legacy" and not locked.imported:
        drafts = _with_present_options(drafts, offers, current)
    lines = price_lines(
        drafts, offers, trusted=scope.actor.kind in STAFF, imported=locked.imported, agreed_prices=agreed
    )
    return sell_in_advance(lines, reserved=[line for line in replaced if line.offer.id])


async def _load_offers(scope: Scope, products: Sequence[object]) -> dict[object, Offer]:
    """Load the products, to a vendor its own; raises ValidationFailed naming the others."""
    offers = await load_offers(scope, products, skip_missing=True)
    if scope.actor.kind is ActorKind.VENDOR:
        offers = {product: offer for product, offer in offers.items() if offer.vendor_id == scope.actor.vendor_id}
    reject_missing(PRODUCT, [product for product in products if product not in offers], field="product")
    return offers


def _with_files(
    drafts: Sequence[DraftLine], offers: Mapping[object, Offer], current: Sequence[PricedLine]
) -> list[DraftLine]:
    """Return the lines with the order's files in place of their ids and names, by which lines are sent back."""
    present = [
        (line.offer.id, option)
        for line in current
        for option in (line.selection.options if line.selection is not None else ())
        if option.get("file")
    ]
    completed = []
    for draft in drafts:
        offer, options = offers[draft.product], dict(draft.options)
        for name, option in file_options(offer, draft.options) if present else ():
            same = [
                (product, each)
                for product, each in present
                if (product, each["option_id"]) == (offer.id, str(option.public_id))
                and options[name] in (each["file"]["id"], each["value"])
            ]
            if same:
                options[name] = SelectedFile(same[0][1]["value"], same[0][1]["file"])
            if len(same) > 1:  # files with one name, each in its turn
                present.remove(same[0])
        completed.append(replace(draft, options=options))
    return completed


def _with_present_options(
    drafts: Sequence[DraftLine], offers: Mapping[object, Offer], current: Sequence[PricedLine]
) -> list[DraftLine]:
    """Complete lines without options by those of the product's line in the order, new ones by the first combination."""
    present = {line.offer.id: line.selection.options if line.selection else () for line in reversed(current)}
    completed = []
    for draft in drafts:
        offer = offers[draft.product]
        if draft.options or offer.id not in present:
            completed += with_default_options([draft], offers)
        else:
            completed.append(replace(draft, options=selection_input(present[offer.id])))
    return completed


async def replace_lines(scope: Scope, locked: LockedOrder, lines: Sequence[PricedLine]) -> None:
    """Replace the rows of the lines; raises RuleViolation for an order with a shipment."""
    shipped = await fetchval(
        "SELECT EXISTS (SELECT 1 FROM shipments WHERE tenant_id = $1 AND order_id = $2)", scope.store.id, locked.id
    )
    if shipped:
        raise RuleViolation("the lines of an order with a shipment can't change", reason="order_not_editable")
    # A line that stays keeps its ids, which shipments and other programs refer to; the offer of one named by its id has it.
    rows_by_id = {row["public_id"]: row for row in await fetch(_DELETE_LINES, scope.store.id, locked.id)}
    named = [rows_by_id.pop(line.offer.public_id, None) for line in lines]
    removed: defaultdict[tuple[int | None, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows_by_id.values():
        removed[row["product_id"], options_key(orjson.loads(row["options"]))].append(row)
    same = [removed[line.offer.id, selection_key(line.selection)] for line in lines]
    kept = [row or (rows.pop(0) if rows else None) for row, rows in zip(named, same, strict=True)]
    numbers = iter((await take_numbers(scope, {"order_lines": kept.count(None)}))["order_lines"])
    rows = line_rows(locked.id, lines, [next(numbers) if row is None else row["id"] for row in kept])
    for written, row in zip(rows, kept, strict=True):
        if row is not None:
            written["public_id"] = str(row["public_id"])
    await insert_rows(scope, "order_lines", rows)


def stored_lines(lines: Sequence[PricedLine]) -> list[tuple[Any, ...]]:
    """Return what an order stores of its lines, to compare."""
    return [
        (line.offer.id, line.quantity, line.price_cents, line.combination_id, selection_key(line.selection), line.extra)
        for line in lines
    ]
