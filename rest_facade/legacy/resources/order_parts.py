"""Render and parse the nested parts of an order: lines, addresses, payment and shipping methods, status history."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from kernel import clock
from kernel.clock import TimeRange
from kernel.errors import ValidationFailed
from kernel.json_schema import (
    FREE_OBJECT,
    INTEGER,
    STRING,
    array,
    described,
    map_of,
    named,
    nullable,
    object_schema,
    one_of,
    optional_members,
)
from kernel.money import format_cents
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from rest_facade.legacy import value_types as types
from rest_facade.legacy.record_schemas import rows_type, selected_record
from rest_facade.legacy.reshape import is_cscart, record_renderer
from rest_facade.legacy.resource import IN_CSCART, Record, RecordField, selection_of
from rest_facade.legacy.resources.images import PAIR, render_pair
from rest_facade.legacy.resources.taxes import TAX_RATE
from rest_facade.legacy.round_trip import canonical
from rest_facade.legacy.value_schemas import EMPTY_OR_NUMBER, rows_of
from rest_facade.openapi import SelectedRecord

# --- Lines -------------------------------------------------------------------------------------------------------------------

_LINE = (
    RecordField("item_id", types.ID, source="number"),
    RecordField("product_id", types.ID),
    RecordField("product", types.TEXT, source="name"),
    RecordField("product_code", types.TEXT, source="sku"),
    RecordField("amount", types.BIGINT, source="quantity"),
    RecordField("price", types.MONEY, source="price_cents"),
    RecordField("base_price", types.MONEY, source="base_price_cents"),
    RecordField("subtotal", types.MONEY, source="total_cents"),
    RecordField("company_id", types.ID, source="vendor_number"),
    RecordField("extra", types.OBJECT),
    # What programs that ship orders read: how many units have been shipped, and how many have not.
    RecordField("shipped_amount", types.BIGINT, source="shipped_quantity", permission=IN_CSCART),
    RecordField("shipment_amount", types.BIGINT, source="quantity", permission=IN_CSCART),
    RecordField("original_price", types.MONEY, source="base_price_cents", permission=IN_CSCART),
)
LINES_SOURCE = f"items {selection_of(_LINE, 'position custom_files')}"
_render_line = record_renderer(_LINE)


def _render_lines(lines: list[Record]) -> Record:
    """Render the lines keyed by position, from 1."""
    return {str(line.pop("position")): _render_line(_with_custom_files(line)) for line in lines}


def _with_custom_files(line: Record) -> Record:
    """Add the files of the shopper to `extra`, where CS-Cart has them."""
    files = line.pop("custom_files")
    return line if files is None else {**line, "extra": {**(line["extra"] or {}), "custom_files": json.loads(files)}}


def _render_lines_by_id(lines: list[Record]) -> Record:
    """Render the lines keyed by their id, as CS-Cart does."""
    for line in lines:
        if "shipped_amount" in line:
            line["shipment_amount"] -= line["shipped_amount"]
    rendered = _render_lines(lines)
    return {line["item_id"]: line for line in rendered.values()}


def _parse_lines(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse lines: a list, a map of any key to `{product_id, amount, price?}`, or of product ids to `{amount, price?}`."""
    if isinstance(value, Mapping):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = [(None, entry) for entry in value]
    else:
        raise types.unexpected(label, value, "an array or an object")
    return [_parse_line(key, entry, label) for key, entry in entries]


@dataclass(frozen=True, slots=True)
class StayingLine:
    """A line of a body that says no more than the order's line with this `item_id` and quantity."""

    item_id: str
    quantity: int


def _parse_line(key: str | None, entry: Any, label: str) -> dict[str, Any]:
    if isinstance(entry, StayingLine):
        return {"id": entry.item_id, "quantity": entry.quantity}
    line = _parse_facts(key, entry, label)
    if line["product_id"] is None or line["product_id"] is types.ABSENT:
        raise InvalidValue(f"{label}: product_id is required")
    return line


def _parse_facts(key: str | None, entry: Any, label: str) -> dict[str, Any]:
    """Parse a line, of no product too."""
    if not isinstance(entry, Mapping):
        raise types.unexpected(label, entry, "objects such as {product_id, amount}", verb="holds")
    product = types.parse_id(entry.get("product_id", key), f"{label}: product_id")
    if entry.get("amount") in (None, ""):
        raise InvalidValue(f"{label}: amount is required")
    line: dict[str, Any] = {"product_id": product, "quantity": types.parse_integer(entry["amount"], f"{label}: amount")}
    if entry.get("price") not in (None, ""):
        assert types.MONEY.parse is not None
        line["price_cents"] = types.MONEY.parse(entry["price"], f"{label}: price")
    if entry.get("extra"):
        line["extra"] = types.parse_object(entry["extra"], f"{label}: extra")
    options = entry.get("product_options", line.get("extra", {}).get("product_options"))
    if options:
        line["options"] = types.parse_object(options, f"{label}: product_options")
    return line


def with_staying_lines(lines: Any, current: Mapping[str, Record]) -> Any:
    """Return the lines of a body, with a `StayingLine` for each that says no more about product, amount, price and options than a line of
    the order: one that stays isn't sold again, whatever its product is now.
    """
    unnamed = {line["item_id"]: _parse_facts(None, line, "products") for line in current.values()}
    items_by_product: defaultdict[Any, list[str]] = defaultdict(list)
    for item, existing in unnamed.items():
        items_by_product[existing["product_id"]].append(item)

    def mark(key: str | None, line: Any) -> Any:
        try:
            wanted = _parse_facts(key, line, "products")
        except InvalidValue:  # raised again where the body is parsed
            return line
        # Of equal lines the one that is named, so that each keeps its place.
        candidates = [str(line.get("item_id", key)), *items_by_product[wanted["product_id"]]]
        item = next((each for each in candidates if each in unnamed and _says_the_same(wanted, unnamed[each])), None)
        return line if item is None else StayingLine(item, unnamed.pop(item)["quantity"])

    if isinstance(lines, Mapping):
        return {key: mark(key, line) for key, line in lines.items()}
    return [mark(None, line) for line in lines] if isinstance(lines, list) else lines


def are_current_lines(lines: Any, current: Mapping[str, Record]) -> bool:
    """Return whether the lines, with the staying ones, are all of the order's."""
    entries = list(lines.values() if isinstance(lines, Mapping) else lines) if isinstance(lines, Mapping | list) else []
    return len(entries) == len(current) and all(isinstance(line, StayingLine) for line in entries)


def _says_the_same(line: Record, existing: Record) -> bool:
    said = ("product_id", "quantity", *(name for name in ("price_cents", "extra") if name in line))
    return all(canonical(line.get(name)) == canonical(existing.get(name)) for name in (*said, "options"))


_LINE_RECORD = selected_record("OrderLine", _LINE)
_LINE_INPUT = named(
    "OrderLineBody",
    optional_members(
        item_id=types.ID.body_schema,
        product_id=described(types.ID.body_schema, "Required unless the key of the line names the product."),
        amount=types.INTEGER.body_schema,
        price=described(types.MONEY.body_schema, "By default the product's."),
        extra=FREE_OBJECT,
        product_options=map_of(one_of(STRING, INTEGER)),
    ),
)
LINES = types.rendered_by(
    _render_lines,
    _parse_lines,
    schema=described(map_of(_LINE_RECORD), "By position from 1, in CS-Cart's dialect by `item_id`."),
    body_schema=rows_of(_LINE_INPUT),
)
LINES_BY_ID = replace(LINES, render=_render_lines_by_id)

# --- Addresses ---------------------------------------------------------------------------------------------------------------

# CS-Cart has two address lines for the platform's street, number, complement and district. A written line sets the street (or
# complement) and clears the number (or district), so that it is read back unchanged.
_LINE_1 = ("street", "number")
_LINE_2 = ("complement", "district")
_MEMBERS = ("firstname", "lastname", "city", "state", "country", "zipcode", "phone")
ADDRESS = f"{{ {' '.join((*_MEMBERS, *_LINE_1, *_LINE_2))} }}"
GROUP_IMAGES = "group_lines: items { number picture }"
ADDRESSES = f"{GROUP_IMAGES} billing_address {ADDRESS} shipping_address {ADDRESS}"


def _address_line(members: tuple[str, str]) -> types.ValueType:
    def parse(value: Any, label: str) -> dict[str, Any]:
        return {members[0]: types.parse_text(value, label) or "", members[1]: ""}

    return types.ValueType(parse=parse, parse_filter=str, schema=STRING, body_schema=nullable(STRING))


def address_fields(
    prefix: str, kind: str, parent_object: str | None = None, path: str = "", *, filterable: bool = True
) -> tuple[RecordField, ...]:
    """Describe the fields of the billing or shipping address: `b_firstname`, …; `path` is that of the input."""
    path = path or f"{kind}_address"
    return (
        *(
            RecordField(
                f"{prefix}_{name}",
                replace(types.TEXT, schema=STRING),
                f"{path}.{name}",
                f"{kind}_{name}" if filterable else None,
                parent_object=parent_object,
                source=None,
            )
            for name in _MEMBERS
        ),
        *(
            RecordField(
                f"{prefix}_{name}",
                _address_line(members),
                path,
                f"{kind}_{filter_name}" if filterable else None,
                parent_object=parent_object,
                source=None,
            )
            for name, members, filter_name in (("address", _LINE_1, "line_1"), ("address_2", _LINE_2, "line_2"))
        ),
    )


def flatten_address(record: Record, prefix: str, address: Mapping[str, str] | None) -> None:
    """Add the fields of an address to a record; empty ones without it."""
    members = address or dict.fromkeys((*_MEMBERS, *_LINE_1, *_LINE_2), "")
    for name in _MEMBERS:
        record[f"{prefix}_{name}"] = members[name]
    record[f"{prefix}_address"] = _join(members, _LINE_1)
    record[f"{prefix}_address_2"] = _join(members, _LINE_2)


def _join(address: Mapping[str, str], members: tuple[str, str]) -> str:
    return ", ".join(address[name] for name in members if address[name])


# --- Payment and shipping methods --------------------------------------------------------------------------------------------

_PAYMENT_METHOD = (
    RecordField("payment_id", types.ID, source="number"),
    RecordField("payment", types.TEXT, source="name"),
    RecordField("description", types.TEXT),
    RecordField("instructions", types.TEXT),
    RecordField("status", types.RAW),
    RecordField("position", types.BIGINT),
    RecordField("a_surcharge", types.MONEY, source="surcharge_cents"),
    RecordField("p_surcharge", types.MONEY, source="surcharge_percent"),
    RecordField("processor_type", types.TEXT, source="processor", permission="sees_processors"),
)
PAYMENT_SOURCE = f"payment_method {selection_of(_PAYMENT_METHOD)}"
SHIPPING_SOURCE = "shipping_method { shipping_id: number shipping: name }"
_render_payment_method = record_renderer(_PAYMENT_METHOD)


_METHOD_RECORD = selected_record("OrderPaymentMethod", _PAYMENT_METHOD)
PAYMENT_SCHEMA = replace(_METHOD_RECORD, optional=tuple(_METHOD_RECORD.members))
_SHIPPING_RECORD = SelectedRecord(
    "OrderShipping",
    {
        "shipping_id": types.ID.schema,
        "shipping": None,
        "delivery_time": STRING,
        "rate": types.MONEY.schema,
        "group_key": STRING,
    },
)
SHIPPING = types.added(array(_SHIPPING_RECORD))


def render_payment(method: Record | None) -> Record:
    """Render the payment method of an order; `{}` when there is none."""
    return {} if method is None else _render_payment_method(method)


def _render_shipping(method: Record | None, delivery_time: str, cost: str) -> list[Record]:
    """Render the shipping method of an order, the delivery time quoted for it, and its cost."""
    if method is None:
        return []
    return [
        {
            "shipping_id": str(method["shipping_id"]),
            "shipping": method["shipping"],
            "delivery_time": delivery_time,
            "rate": cost,
            "group_key": "0",
        }
    ]


def _parse_first_id(value: Any, label: str) -> Any:
    """Parse a number, a text with commas, an array or a map such as `{"0": "8"}`; the first id counts."""
    ids = types.parse_ids(value, label)
    return ids if ids is types.ABSENT else next(iter(ids), None)


FIRST_ID = types.ValueType(
    render=lambda number: str(number) if number else "",
    parse=_parse_first_id,
    parse_filter=str,
    schema=described(EMPTY_OR_NUMBER, "A number; empty for none."),
    body_schema=described(types.IDS.body_schema, "The first one counts."),
)
"""One id where CS-Cart allows several."""

_PAYMENT = (
    RecordField("kind", types.RAW, source="received_kind"),
    RecordField("installments", types.BIGINT),
    RecordField("amount", types.MONEY, source="paid_cents"),
)
PAYMENTS_SOURCE = f"received_payments {selection_of(_PAYMENT)}"
_render_received = record_renderer(_PAYMENT)


_RECEIVED_RECORD = selected_record("OrderPayment", _PAYMENT)
PAYMENT_INFO_SCHEMA = replace(_RECEIVED_RECORD, optional=tuple(_RECEIVED_RECORD.members))


def render_payment_info(payments: list[Record]) -> Record:
    """Render the latest payment received; `{}` when there is none."""
    return _render_received(payments[-1]) if payments else {}


_TAX = (
    RecordField("description", types.RAW, source="name"),
    RecordField("rate_type", types.RAW),
    RecordField("rate_value", TAX_RATE),
    RecordField("price_includes_tax", types.FLAG, source="included"),
    RecordField("tax_subtotal", types.MONEY, source="amount_cents"),
    RecordField("tax_id", types.ID, source="tax_number"),
)
TAXES_SOURCE = f"taxes {selection_of(_TAX)}"
_render_tax = record_renderer(_TAX)


TAXES_SCHEMA = map_of(selected_record("OrderTax", _TAX))


def render_taxes(taxes: list[Record]) -> Record:
    """Render the taxes of an order by their id; one deleted since is keyed by its position, negative."""
    rows = [_render_tax(tax) for tax in taxes]
    return {
        row["tax_id"] if row["tax_id"] != "0" else str(-position): row for position, row in enumerate(rows, start=1)
    }


# --- History -----------------------------------------------------------------------------------------------------------------

_STEP = (
    RecordField("timestamp", types.UNIX_TIME, source="at_unix"),
    RecordField("status_from", types.rendered_by(lambda code: code or "", schema=STRING), source="from_status"),
    RecordField("status", types.RAW, source="to_status"),
    RecordField("forced", types.FLAG),
    RecordField("reason", types.RAW),
    RecordField("actor", types.RAW, source="actor_kind"),
    RecordField(
        "user_id", types.rendered_by(lambda number: str(number or 0), schema=types.ID.schema), permission="is_staff"
    ),
)
HISTORY_SOURCE = f"history {selection_of(_STEP)}"
HISTORY = rows_type("OrderStatusChange", _STEP)
"""The status history, oldest first."""


SHIPMENT_IDS = replace(types.IDS, render=lambda rows: [str(row["number"]) for row in rows])
"""The shipments that the caller may see: a vendor those with lines of its own."""


# --- The whole record --------------------------------------------------------------------------------------------------------


POINTS_SOURCE = "points_earned points_spent points_cents"
POINTS_SCHEMA = named("OrderPoints", object_schema(reward=STRING, in_use=object_schema(points=STRING, cost=STRING)))


def _render_points(record: Record) -> Record:
    """Render the reward points that the order earns and spends, as CS-Cart does."""
    spent, cents = record.pop("points_spent"), record.pop("points_cents")
    return {"reward": str(record.pop("points_earned")), "in_use": {"points": str(spent), "cost": format_cents(cents)}}


_GROUP_LINE = named(
    "OrderGroupLine", {"allOf": [{"$ref": "#/components/schemas/OrderLine"}, optional_members(main_pair=PAIR)]}
)
PRODUCT_GROUPS = types.added(
    array(
        named(
            "OrderProductGroup",
            object_schema(
                company_id=types.ID.schema,
                products=map_of(_GROUP_LINE),
                chosen_shippings=array({"$ref": "#/components/schemas/OrderShipping"}),
            ),
        )
    )
)


def complete_order(record: Record) -> None:
    """Flatten the addresses and group the lines by vendor into CS-Cart's product groups."""
    flatten_address(record, "b", record.pop("billing_address"))
    flatten_address(record, "s", record.pop("shipping_address"))
    record["shipping"] = _render_shipping(record["shipping"], record.pop("delivery_time"), record["shipping_cost"])
    record["product_groups"] = _groups(record, record.pop("group_lines"))
    record["points_info"] = _render_points(record)


def complete_cscart_order(record: Record) -> None:
    """Complete an order in CS-Cart's dialect, where a line without an image has no `main_pair`."""
    complete_order(record)
    for group in record["product_groups"]:
        for line in group["products"].values():
            if not line["main_pair"]:
                del line["main_pair"]


def _groups(record: Record, images: list[Record]) -> list[Record]:
    pairs = {str(line["number"]): render_pair(line["picture"]) for line in images}
    groups: dict[str, Record] = {}
    for position, line in record["products"].items():
        group = groups.setdefault(
            line["company_id"],
            {"company_id": line["company_id"], "products": {}, "chosen_shippings": record["shipping"]},
        )
        group["products"][position] = {**line, "main_pair": pairs.get(line["item_id"], {})}
    return list(groups.values())


# --- Filters -----------------------------------------------------------------------------------------------------------------

_CUSTOM = "custom"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DAY = timedelta(hours=23, minutes=59, seconds=59)


def parse_period(parameters: Mapping[str, list[str]], scope: Scope) -> dict[str, Any]:
    """Parse `period` and, alone or with `custom`, `time_from` and `time_to`; raises ValidationFailed for an unreadable one."""
    takes_dates = is_cscart(scope)
    begin, end = (_time_bound(parameters, name, takes_dates=takes_dates) for name in ("time_from", "time_to"))
    period = parameters.get("period", [_CUSTOM])[-1]
    span: TimeRange | None = clock.period_range(period, scope.now, begin, end)
    if span is None:
        raise ValidationFailed(f"period is {repr_value(period)}; expected one of A, D, W, M, Y, …", field="period")
    bounds = zip(("created_from", "created_before"), span, strict=True)
    return {name: bound.isoformat() for name, bound in bounds if bound is not None}


def _time_bound(parameters: Mapping[str, list[str]], name: str, *, takes_dates: bool) -> datetime | None:
    if name not in parameters:
        return None
    text = parameters[name][-1]
    try:
        if takes_dates and not text.strip().isdecimal():
            moment = types.iso_datetime(text)
            # A day is included whole.
            return moment + _DAY if name == "time_to" and _DATE.fullmatch(text.strip()) else moment
        return types.unix_datetime(text)
    except InvalidValue as error:
        expected = "Unix seconds or ISO 8601" if takes_dates else "Unix seconds"
        raise ValidationFailed(f"{name} is {repr_value(text)}; expected {expected}", field=name) from error
